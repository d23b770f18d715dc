"""Bounds and thresholds: the arithmetic behind "at most 10% wrong on the phone"."""

from __future__ import annotations

import random

import pytest
from homing_agent.calibration.guarantee import (
    NOTHING,
    Scored,
    at_most,
    choose,
    fewest_cases,
    least_escalated,
    lower_bound,
    seen_at,
    upper_bound,
)
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("rate", "wrong", "cases"),
    [(0.05, 0, 60), (0.05, 8, 300), (0.05, 38, 1000), (0.02, 0, 150), (0.02, 4, 500)],
)
def test_published_numbers_of_allowed_errors(rate: float, wrong: int, cases: int) -> None:
    assert upper_bound(wrong, cases) <= rate
    assert upper_bound(wrong + 1, cases) > rate


@given(st.integers(1, 400), st.data(), st.floats(0.001, 0.4))
def test_a_bound_is_where_so_few_errors_become_unlikely(
    cases: int, data: st.DataObject, delta: float
) -> None:
    wrong = data.draw(st.integers(0, cases))
    high, low = upper_bound(wrong, cases, delta), lower_bound(wrong, cases, delta)
    assert low <= wrong / cases <= high
    if wrong < cases:
        assert at_most(wrong, cases, high) == pytest.approx(delta, rel=1e-6)
    if wrong:
        assert 1 - at_most(wrong - 1, cases, low) == pytest.approx(delta, rel=1e-6)


def test_fewest_cases_that_a_promise_needs() -> None:
    assert fewest_cases(0.05) == 59
    assert fewest_cases(0.1) == 29
    assert fewest_cases(0.1, wrong=2) == 61
    assert upper_bound(0, 29) <= 0.1 < upper_bound(0, 28)


def test_what_must_leave_whatever_the_rule() -> None:
    assert least_escalated(0.4, 0.1) == pytest.approx(1 / 3)
    assert least_escalated(0.05, 0.1) == 0.0


def test_the_laxest_threshold_that_keeps_the_promise_is_chosen() -> None:
    sure = [Scored(0.9, right=True)] * 60
    fair = [Scored(0.7, right=number % 20 != 0) for number in range(100)]
    poor = [Scored(0.3, right=number % 2 == 0) for number in range(100)]
    found = choose([*sure, *fair, *poor], 0.1)
    assert 0.3 < found.threshold <= 0.7
    assert (found.kept, found.wrong, found.cases) == (160, 5, 260)
    assert found.bound <= 0.1
    assert found.share == pytest.approx(160 / 260)
    assert seen_at([*sure, *fair, *poor], 0.2).bound > 0.1


def test_a_failed_threshold_ends_the_search() -> None:
    """A laxer one that happens to look good must not be taken: that is what the level is for."""
    bad = [Scored(0.9, right=number % 2 == 0) for number in range(70)]
    good = [Scored(0.5, right=True)] * 5000
    assert choose([*bad, *good], 0.1).threshold == NOTHING


def test_a_single_error_among_the_surest_does_not_end_the_search() -> None:
    first = [Scored(0.95, right=number != 0) for number in range(35)]
    rest = [Scored(0.8, right=number % 40 != 0) for number in range(80)]
    found = choose([*first, *rest], 0.1)
    assert (found.kept, found.wrong) == (115, 3)
    # With too few for more, every case counts: one error ends it, none does not.
    assert choose(first, 0.1).threshold == NOTHING
    assert choose([Scored(0.95, right=True)] * 35, 0.1).kept == 35


def test_nothing_is_promised_from_too_few_cases() -> None:
    found = choose([Scored(0.99, right=True)] * 28, 0.1)
    assert (found.threshold, found.kept, found.share) == (NOTHING, 0, 0.0)
    assert choose([], 0.1).bound == 1.0


def test_the_promise_holds_as_often_as_it_says() -> None:
    """Many calibrations on cases of a known error rate: few may end up worse than promised."""
    chance = random.Random(7)  # noqa: S311  # made-up data
    broken = 0
    for _ in range(300):
        cases = [
            Scored(score, right=chance.random() < score)
            for score in (chance.random() for _ in range(300))
        ]
        threshold = choose(cases, 0.2).threshold
        # Among scores that are even above the threshold, the true error rate is this.
        broken += threshold < 1 and (1 - threshold) / 2 > 0.2
    assert broken <= 300 * 0.05 + 10
