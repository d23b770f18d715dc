"""Limits: what a pattern allows, and what is the tighter of two."""

from __future__ import annotations

import pytest
from homing_core.access import Limits
from homing_core.errors import UsageError
from homing_core.limits import (
    MAX_PATTERNS,
    checked_limits,
    matches,
    may_start_job,
    may_use_model,
    may_use_tool,
    stricter,
)
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.text("ab.", max_size=4)
PATTERNS = st.lists(st.text("ab.*?", min_size=1, max_size=4), max_size=4).map(tuple)


def test_no_pattern_allows_everything_and_none_allows_nothing() -> None:
    assert may_use_model(Limits(), "anything")
    assert not may_use_model(Limits(models=("none",)), "anything", "none")


def test_patterns_are_matched_as_a_shell_does_with_regard_to_case() -> None:
    limits = Limits(tools=("notes.*", "clock.now"))
    assert may_use_tool(limits, "add", "notes")
    assert may_use_tool(limits, "now", "clock")
    assert not may_use_tool(limits, "add", "Notes")
    assert not may_use_tool(limits, "nowhere", "clock")
    assert not may_use_tool(limits, "notes.add", "clock")


def test_a_model_is_allowed_by_any_of_its_names() -> None:
    limits = Limits(models=("botpsy-*",))
    assert may_use_model(limits, "botpsy-0.8b", "/models/file.gguf")
    assert not may_use_model(limits, "other", "/models/file.gguf")


def test_jobs_are_counted() -> None:
    assert may_start_job(Limits(), 10_000)
    assert may_start_job(Limits(jobs=2), 1)
    assert not may_start_job(Limits(jobs=2), 2)


@given(PATTERNS, PATTERNS, NAMES)
def test_the_tighter_of_two_lists_is_exact(
    one: tuple[str, ...], two: tuple[str, ...], name: str
) -> None:
    both = stricter(Limits(tools=one), Limits(tools=two)).tools
    assert matches(both, (name,)) == (matches(one, (name,)) and matches(two, (name,)))


@given(PATTERNS, PATTERNS, PATTERNS, NAMES)
def test_so_is_that_of_three(
    one: tuple[str, ...], two: tuple[str, ...], three: tuple[str, ...], name: str
) -> None:
    both = stricter(stricter(Limits(models=one), Limits(models=two)), Limits(models=three))
    each = (matches(patterns, (name,)) for patterns in (one, two, three))
    assert may_use_model(both, name) == all(each)


@given(st.integers(0, 5), st.integers(0, 5))
def test_of_two_numbers_the_lower_counts_and_0_is_none(one: int, two: int) -> None:
    both = stricter(Limits(one, one, one), Limits(two, two, two))
    expected = min((number for number in (one, two) if number), default=0)
    assert (both.tokens_per_day, both.concurrent_streams, both.jobs) == (expected,) * 3


def test_hours_and_ends_are_the_tighter_ones_too() -> None:
    both = stricter(
        Limits(hours="08:00-22:00", expires_at=20), Limits(hours="20:00-09:00", expires_at=10)
    )
    assert both.hours == "08:00-09:00,20:00-22:00"
    assert both.expires_at == 10
    assert stricter(Limits(hours="08:00-09:00"), Limits(hours="10:00-11:00")).hours == "none"


def test_limits_are_tidied() -> None:
    tidy = checked_limits(Limits(models=(" a ", "a"), hours=" 08:00-10:00, 09:00-12:00 "))
    assert tidy == Limits(models=("a",), hours="08:00-12:00")


@pytest.mark.parametrize(
    "limits",
    [
        Limits(tokens_per_day=-1),
        Limits(concurrent_streams=1 << 32),
        Limits(jobs=-1),
        Limits(expires_at=1 << 52),
        Limits(hours="noon"),
        Limits(models=("",)),
        Limits(models=("x" * 257,)),
        Limits(models=("none", "a")),
        Limits(tools=tuple(f"t{number}" for number in range(MAX_PATTERNS + 1))),
    ],
)
def test_what_cannot_be_a_limit_is_refused(limits: Limits) -> None:
    with pytest.raises(UsageError):
        checked_limits(limits)
