"""States of conversations stay with their owner and within their room."""

from __future__ import annotations

import pytest
from homing_inference.states.checkpoints import Checkpoint, Checkpoints
from hypothesis import given
from hypothesis import strategies as st

_TOKENS = st.lists(st.integers(0, 2), min_size=1, max_size=6).map(tuple)
_OWNERS = st.sampled_from(["ann", "bob", ""])
_ADAPTERS = st.sampled_from(["", "french"])


def _best(
    kept: Checkpoints, tokens: tuple[int, ...], *, owner: str = "ann", can_cut: bool = False
) -> int:
    found = kept.best(tokens, owner=owner, adapter="", can_cut=can_cut)
    return 0 if found is None else found[1]


def _put(kept: Checkpoints, *tokens: int, owner: str = "ann", size: int = 100) -> None:
    kept.put(Checkpoint(tokens, bytes(size)), owner=owner, adapter="")


def test_the_longest_beginning_is_found() -> None:
    kept = Checkpoints(10_000)
    _put(kept, 1, 2)
    _put(kept, 1, 2, 3)
    _put(kept, 1, 2, 3, 4, 5)
    assert _best(kept, (1, 2, 3, 4)) == 3
    assert _best(kept, (2, 1)) == 0
    assert _best(kept, (1, 2, 3, 4), can_cut=True) == 4


def test_numbers_are_not_taken_for_parts_of_others() -> None:
    kept = Checkpoints(10_000)
    _put(kept, 1, 256)
    assert _best(kept, (1, 257), can_cut=True) == 1
    assert _best(kept, (1,), can_cut=False) == 0


def test_the_least_recently_used_goes_first() -> None:
    kept = Checkpoints(350)
    for token in (1, 2, 3):
        _put(kept, token)
    assert _best(kept, (1, 9)) == 1
    _put(kept, 4)
    assert [_best(kept, (token, 9)) for token in (1, 2, 3, 4)] == [1, 0, 1, 1]
    assert kept.used_bytes <= 350


def test_what_is_larger_than_all_the_room_is_not_kept() -> None:
    kept = Checkpoints(350)
    _put(kept, 1)
    _put(kept, 2, size=400)
    assert (_best(kept, (1, 9)), _best(kept, (2, 9))) == (1, 0)
    nothing = Checkpoints(0)
    _put(nothing, 1, size=0)
    assert len(nothing) == 0


def test_a_longer_state_supersedes_its_beginnings_where_tails_can_be_dropped() -> None:
    kept = Checkpoints(10_000)
    _put(kept, 1)
    _put(kept, 1, 2, owner="bob")
    _put(kept, 2)
    longer = Checkpoint((1, 2, 3), b"")
    kept.put(longer, owner="ann", adapter="", supersede=True)
    assert len(kept) == 3
    assert kept.best((1, 7), owner="ann", adapter="", can_cut=True) == (longer, 1)


@pytest.mark.attack
@given(
    kept=st.lists(st.tuples(_OWNERS, _ADAPTERS, _TOKENS)),
    asked=st.tuples(_OWNERS, _ADAPTERS, _TOKENS),
    can_cut=st.booleans(),
)
def test_only_ones_own_states_are_found(
    kept: list[tuple[str, str, tuple[int, ...]]],
    asked: tuple[str, str, tuple[int, ...]],
    can_cut: bool,  # noqa: FBT001  # given by name
) -> None:
    """An owner learns nothing of another's words, not even that they were said."""
    checkpoints = Checkpoints(100_000)
    for owner, adapter, tokens in kept:
        state = f"{owner}/{adapter}".encode()
        checkpoints.put(Checkpoint(tokens, state), owner=owner, adapter=adapter)
    owner, adapter, tokens = asked
    found = checkpoints.best(tokens, owner=owner, adapter=adapter, can_cut=can_cut)
    mine = [held for who, how, held in kept if (who, how) == (owner, adapter)]
    if found is None:
        assert all(tokens[: len(held)] != held for held in mine)
        return
    checkpoint, common = found
    assert checkpoint.state == f"{owner}/{adapter}".encode()
    assert checkpoint.tokens in mine
    assert checkpoint.tokens[:common] == tokens[:common]
    assert can_cut or common == len(checkpoint.tokens)


def test_an_owner_can_be_forgotten() -> None:
    kept = Checkpoints(10_000)
    _put(kept, 1)
    _put(kept, 1, owner="bob")
    kept.forget("ann")
    assert (_best(kept, (1,)), _best(kept, (1,), owner="bob")) == (0, 1)
    kept.clear()
    assert (len(kept), kept.used_bytes) == (0, 0)
