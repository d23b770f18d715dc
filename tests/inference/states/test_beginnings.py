"""Where prompts begin, decided without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.errors import InternalError, OverloadedError
from homing_inference.states.beginnings import Beginnings
from homing_inference.states.prefixes import Pinned, Prefix
from support.cell_pool import CellPool

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX = tuple(range(100, 140))
TURN = (*PREFIX, *range(10))


class Shelf:
    """A disk that never fails."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, tuple[int, ...]], Prefix] = {}
        self.closed = False

    def load(self, tokens: Sequence[int], *, adapter: str) -> Prefix | None:
        return self.kept.get((adapter, tuple(tokens)))

    def keeps(self, tokens: Sequence[int], *, adapter: str) -> bool:
        return (adapter, tuple(tokens)) in self.kept

    def put(self, prefix: Prefix, *, adapter: str) -> None:
        self.kept[adapter, prefix.tokens] = prefix

    def drop(self, tokens: Sequence[int], *, adapter: str) -> None:
        del self.kept[adapter, tuple(tokens)]

    def close(self) -> None:
        self.closed = True


class Rig:
    """Beginnings, and the part of a scheduler that computes a prompt."""

    def __init__(
        self, pool: CellPool | None = None, *, shelf: Shelf | None = None, pins: int = 3
    ) -> None:
        self.pool = pool or CellPool()
        self.shelf = shelf
        self.beginnings = Beginnings(
            self.pool,
            can_rewind=self.pool.can_rewind,
            checkpoint_bytes=1 << 20,
            store=shelf,
            pins=pins,
        )
        self.computed: list[tuple[int, int]] = []
        """The batches of the last prompt: from where to where."""

    def prompt(  # noqa: PLR0913  # what a request says of itself
        self,
        tokens: Sequence[int],
        *,
        prefix: int = 0,
        cuts: Sequence[int] = (),
        owner: str = "ann",
        adapter: str = "",
        close: bool = True,
    ) -> int:
        """Compute a prompt; how many of its tokens were known."""
        self.pool.use_adapter(adapter)
        begun = self.beginnings.start(
            tokens, owner=owner, adapter=adapter, prefix_tokens=prefix, cuts=cuts
        )
        assert self.pool.tokens(begun.sequence) == tuple(tokens[: begun.cached])
        assert begun.cached < len(tokens)
        stops = self.beginnings.stops(cuts)
        self.computed = []
        done = begun.cached
        while done < len(tokens):
            ends = (done + self.pool.batch_tokens, len(tokens), prefix, *stops)
            end = min(place for place in ends if place > done)
            self.pool.grow(begun.sequence, tokens[done:end])
            self.computed.append((done, end))
            done = end
            if done == prefix:
                self.beginnings.pin(begun.sequence, adapter=adapter, sha256="ab")
            if done in stops:
                self.beginnings.keep(begun.sequence, owner=owner, adapter=adapter)
        if close:
            self.pool.close(begun.sequence)
        self.sequence = begun.sequence
        return begun.cached


@pytest.fixture(params=[False, True], ids=["hybrid", "rewindable"])
def rig(request: pytest.FixtureRequest) -> Rig:
    return Rig(CellPool(can_rewind=bool(request.param)))


def test_a_prefix_is_computed_once_for_everybody(rig: Rig) -> None:
    assert rig.prompt(TURN, prefix=40) == 0
    assert rig.beginnings.pinned == (Pinned(40, "ab"),)
    assert rig.prompt((*PREFIX, 7, 8, 9), prefix=40, owner="bob") == 40


def test_a_prefix_of_another_adapter_is_another_prefix(rig: Rig) -> None:
    rig.prompt(TURN, prefix=40)
    assert rig.prompt(TURN, prefix=40, adapter="french") == 0
    assert rig.prompt(TURN, prefix=40, adapter="french") == 40
    assert len(rig.beginnings.pinned) == 2


def test_a_second_turn_computes_what_is_new(rig: Rig) -> None:
    first = (*PREFIX, *range(50), 1, 1, 1)
    rig.prompt(first, prefix=40, cuts=(60, 90))
    second = (*first[:90], 2, 3, 4, 5, 6)
    assert rig.prompt(second, prefix=40, cuts=(92, 94)) == 90


def test_an_edited_question_begins_at_the_question_or_in_whole_batches_behind() -> None:
    first = (*PREFIX, *range(80))
    edited = (*first[:105], *range(50, 60))
    hybrid = Rig()
    hybrid.prompt(first, prefix=40, cuts=(60, 110))
    assert hybrid.prompt(edited, prefix=40, cuts=(60, 113)) == 60
    rewindable = Rig(CellPool(can_rewind=True))
    rewindable.prompt(first, prefix=40, cuts=(60, 110))
    assert rewindable.prompt(edited, prefix=40, cuts=(60, 113)) == 60 + 2 * 16


def test_a_repeated_request_is_computed_in_the_same_batches(rig: Rig) -> None:
    """Otherwise its scores, and so perhaps its answer, would differ a little."""
    first, second = (*PREFIX, *range(70)), (*PREFIX, *range(63), *range(200, 260))
    third = (*second[:155], *range(300, 310))
    turns = [(first, (50, 103)), (second, (120, 155)), (third, (158, 160))]
    known: list[int] = []
    computed: list[list[tuple[int, int]]] = []
    for tokens, cuts in turns:
        known.append(rig.prompt(tokens, prefix=40, cuts=cuts))
        computed.append(rig.computed)
    assert known == [0, 103, 155]
    for (tokens, cuts), begun, batches in zip(turns * 2, known * 2, computed * 2, strict=True):
        assert rig.prompt(tokens, prefix=40, cuts=cuts) == max(begun, 40)
        assert rig.computed == [batch for batch in batches if batch[0] >= 40]


def test_without_marks_whole_batches_are_taken_over() -> None:
    rig = Rig(CellPool(can_rewind=True))
    tokens = tuple(range(100))
    begun = rig.beginnings.start(tokens, owner="ann", adapter="")
    rig.pool.grow(begun.sequence, tokens)
    rig.beginnings.keep(begun.sequence, owner="ann", adapter="")
    for other, known in (((*tokens, 7), 100), ((*tokens[:50], 7, 7), 48), (tokens[:50], 48)):
        for _ in range(2):
            begun = rig.beginnings.start(other, owner="ann", adapter="")
            assert begun.cached == known
            rig.pool.close(begun.sequence)


@pytest.mark.attack
def test_two_owners_with_the_same_conversation_share_the_prefix_alone(rig: Rig) -> None:
    first = (*PREFIX, *range(50))
    second = (*first, 1, 2, 3)
    rig.prompt(first, prefix=40, cuts=(60, 80))
    assert rig.prompt(first, prefix=40, cuts=(60, 80), owner="bob") == 40
    assert rig.prompt(second, prefix=40, cuts=(60, 80)) == 80
    rig.beginnings.forget("ann")
    assert rig.prompt(second, prefix=40, cuts=(60, 80)) == 40
    assert rig.prompt(second, prefix=40, cuts=(60, 80), owner="bob") == 80


@pytest.mark.attack
def test_words_of_a_conversation_are_never_pinned() -> None:
    """Pins are shared with everybody and go to disk."""
    shelf = Shelf()
    rig = Rig(shelf=shelf)
    begun = rig.beginnings.start(TURN, owner="ann", adapter="", prefix_tokens=40)
    for more in (TURN[:30], TURN[30:50]):
        rig.pool.grow(begun.sequence, more)
        with pytest.raises(InternalError, match="can be pinned"):
            rig.beginnings.pin(begun.sequence, adapter="", sha256="ab")
    unknown = rig.beginnings.start(TURN, owner="ann", adapter="")
    rig.pool.grow(unknown.sequence, TURN)
    with pytest.raises(InternalError, match="can be pinned"):
        rig.beginnings.pin(unknown.sequence, adapter="", sha256="ab")
    assert (rig.beginnings.pinned, shelf.kept) == ((), {})


def test_the_least_recently_used_prefix_makes_room_for_a_new_one(rig: Rig) -> None:
    prompts = [(token, *TURN) for token in range(4)]
    for prompt in prompts[:3]:
        rig.prompt(prompt, prefix=41)
    assert rig.prompt(prompts[0], prefix=41) == 41
    rig.prompt(prompts[3], prefix=41)
    assert [rig.prompt(prompt, prefix=41) for prompt in (prompts[0], prompts[3])] == [41, 41]
    assert rig.prompt(prompts[1], prefix=41) == 0
    assert len(rig.beginnings.pinned) == 3


def test_pins_leave_half_of_the_memory_to_answers() -> None:
    rig = Rig(CellPool(cells=200))
    for token in range(3):
        rig.prompt((token, *TURN), prefix=41)
    assert len(rig.beginnings.pinned) == 2


def test_room_is_made_by_unpinning_what_nobody_uses() -> None:
    rig = Rig(CellPool(cells=200))
    rig.prompt((1, *TURN), prefix=41, close=False)
    rig.prompt((2, *TURN), prefix=41)
    assert rig.beginnings.make_room(60)
    assert len(rig.beginnings.pinned) == 2
    assert rig.beginnings.make_room(140)
    assert [pin.tokens for pin in rig.beginnings.pinned] == [41]
    assert not rig.beginnings.make_room(160), "the running answer holds its cells"
    assert len(rig.beginnings.pinned) == 1, "to unpin what it uses would free nothing"
    rig.pool.close(rig.sequence)


def test_when_every_sequence_is_in_use_answers_go_on_without_a_pin() -> None:
    rig = Rig(CellPool(sequences=1))
    assert rig.prompt(TURN, prefix=40, close=False) == 0
    assert rig.beginnings.pinned == ()
    with pytest.raises(OverloadedError):
        rig.beginnings.start(TURN, owner="ann", adapter="")


def test_after_a_failed_computation_nothing_stale_is_forked(rig: Rig) -> None:
    rig.prompt(TURN, prefix=40)
    rig.pool.fail()
    assert rig.prompt(TURN, prefix=40) == 0
    assert rig.prompt(TURN, prefix=40) == 40
    rig.pool.fail()
    assert rig.beginnings.make_room(rig.pool.cells)
    assert rig.beginnings.pinned == ()


def test_a_checkpoint_that_does_not_fit_gives_way_to_the_pin() -> None:
    rig = Rig(CellPool(cells=120))
    first = (*PREFIX, *range(20))
    rig.prompt(first, prefix=40, cuts=(45, 55))
    rig.prompt((*PREFIX, *range(30)), prefix=40, close=False, owner="bob")
    assert rig.prompt((*first, 1, 2), prefix=40, cuts=(45, 55)) == 40


def test_a_long_conversation_may_push_out_a_prefix_that_lies_on_disk() -> None:
    first = (*PREFIX, *range(50))
    with_disk, without = Rig(CellPool(cells=130), shelf=Shelf()), Rig(CellPool(cells=130))
    for rig, known in ((with_disk, 85), (without, 40)):
        rig.prompt(first, prefix=40, cuts=(45, 85))
        assert rig.prompt((*first, 1, 2), prefix=40, cuts=(45, 85)) == known
    assert with_disk.beginnings.pinned == ()
    assert with_disk.prompt((*PREFIX, 3), prefix=40, owner="bob") == 40


def test_the_adapter_in_use_is_the_same_after_a_restore(rig: Rig) -> None:
    first = (*PREFIX, *range(20))
    rig.prompt(first, prefix=40, cuts=(45, 55), adapter="french")
    rig.pool.use_adapter("german")
    begun = rig.beginnings.start((*first, 1), owner="ann", adapter="french", prefix_tokens=40)
    assert begun.cached >= 45
    assert rig.pool.adapter == "german"


def test_a_prefix_on_disk_is_pinned_instead_of_computed(rig: Rig) -> None:
    shelf = Shelf()
    before = Rig(shelf=shelf)
    before.prompt(TURN, prefix=40)
    assert list(shelf.kept) == [("", PREFIX)]
    after = Rig(CellPool(can_rewind=rig.pool.can_rewind), shelf=shelf)
    assert after.prompt(TURN, prefix=40) == 40
    assert after.beginnings.pinned == (Pinned(40, "ab"),)
    assert after.prompt(TURN, prefix=40, adapter="french") == 0
    warm = Rig(shelf=shelf)
    assert warm.beginnings.renew(PREFIX, adapter="")
    assert not warm.beginnings.renew(PREFIX[:-1], adapter="")
    assert warm.beginnings.renew(PREFIX, adapter="")
    assert warm.pool.restored == [40]
    warm.beginnings.close()
    assert shelf.closed
    assert warm.pool.used_cells == 0


def test_a_saved_prefix_is_written_once() -> None:
    rig = Rig(shelf=Shelf())
    rig.prompt(TURN, prefix=40)
    rig.beginnings.make_room(rig.pool.cells)
    rig.prompt(TURN, prefix=40)
    assert rig.pool.saved == 1


def test_a_prefix_on_disk_that_does_not_restore_is_computed_and_written_anew() -> None:
    shelf = Shelf()
    shelf.kept["", PREFIX] = Prefix(PREFIX, "ab", b"wrong")
    rig = Rig(shelf=shelf)
    assert rig.prompt(TURN, prefix=40) == 0
    assert shelf.kept["", PREFIX].state != b"wrong"


def test_without_room_for_pins_nothing_is_pinned() -> None:
    rig = Rig(pins=0)
    rig.prompt(TURN, prefix=40)
    assert rig.prompt(TURN, prefix=40) == 0
    assert rig.beginnings.pinned == ()


def test_a_state_that_cannot_be_saved_is_not_kept(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: int) -> bytes:
        msg = "no memory"
        raise InternalError(msg)

    monkeypatch.setattr(rig.pool, "save", fails)
    rig.prompt(TURN, prefix=40, cuts=(45,))
    assert rig.prompt((*TURN, 1), prefix=40, cuts=(45,)) == 40
    assert rig.beginnings.checkpoint_bytes == 0
