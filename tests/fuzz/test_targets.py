"""Every parser of outside data, a few hundred hostile inputs each; `make fuzz` tries far more."""

from __future__ import annotations

import time

import pytest
from fuzz.found import readers
from fuzz.inputs import mutated
from fuzz.targets import all_targets
from fuzz.worker import SLOW_S
from homing_core.errors import HomingError
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

_BATCH = 30

# A hostile certificate may have a serial number of which the library warns, once.
pytestmark = pytest.mark.filterwarnings("ignore:Parsed a serial number")


@pytest.mark.attack
@pytest.mark.parametrize("name", all_targets())
def test_garbage_is_refused_in_our_words(name: str) -> None:
    target = all_targets()[name]
    corpus = list(target.seeds())
    for seed in corpus:
        target.attempt(seed)

    @settings(max_examples=max(target.quick // _BATCH, 1), database=None)
    @given(st.integers(0, (1 << 64) - 1))
    def batch(seed: int) -> None:
        for data in mutated(seed, corpus, _BATCH):
            begun = time.monotonic()
            try:
                target.attempt(data)
            except Exception as error:
                error.add_note(f"{name} was given {data!r}")
                raise
            assert time.monotonic() - begun < SLOW_S, f"{name} takes long for {data!r}"

    with capture_logs():
        batch()


@pytest.mark.parametrize(
    "name", [name for name, one in all_targets().items() if one.structured is not None]
)
def test_the_right_form_with_any_content_is_read_or_refused(name: str) -> None:
    target = all_targets()[name]
    assert target.structured is not None

    @settings(max_examples=25, database=None)
    @given(target.structured)
    def one(data: bytes) -> None:
        target.attempt(data)

    one()


def test_no_parser_is_forgotten() -> None:
    covered = {function for target in all_targets().values() for function in target.covers}
    found = {reader.full for reader in readers()}
    assert len(found) > 50
    assert found - covered == set()


def test_what_targets_say_they_cover_is_there() -> None:
    covered = {function for target in all_targets().values() for function in target.covers}
    assert covered - {reader.full for reader in readers()} == set()


def test_valid_inputs_are_valid() -> None:
    """Otherwise only the first check of a parser would ever be tried."""
    refused: list[str] = []
    for name, target in all_targets().items():
        seeds = list(target.seeds())
        problems: list[Exception] = []
        for seed in seeds:
            try:
                target.run(seed)
            except target.allowed as error:
                problems.append(error)
        if seeds and len(problems) == len(seeds):
            refused.append(f"{name}: {problems[0]}")
    assert refused == []


def test_the_same_seed_gives_the_same_inputs() -> None:
    assert list(mutated(5, [b"abc"], 50)) == list(mutated(5, [b"abc"], 50))
    assert len(set(mutated(5, [b"abc"], 50))) > 20


def test_a_finding_is_a_finding() -> None:
    target = all_targets()["wire.json"]
    target.attempt(b"{")
    broken = type(target)("broken", lambda data: data[100])
    with pytest.raises(IndexError):
        broken.attempt(b"")
    assert issubclass(HomingError, target.allowed)
