"""How many errors may be seen so that a promise holds. Pure.

Bounds are Clopper and Pearson's (Biometrika 26, 1934): exact for independent cases, never too
small. Thresholds are tested from the strictest on, each at the full level, until one fails
(fixed-sequence testing, as in "Learn then Test", arXiv:2110.01052): then the chance that any of
those that passed is worse than promised is at most delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DELTA: Final = 0.05
"""Chance that a promise does not hold."""
GRID: Final = tuple(round(1.0 - step / 200, 3) for step in range(1, 200))
"""Thresholds that are tried, in this order: 0.995 down to 0.005."""
_ERRORS: Final = 2
"""Errors that the first test shall bear."""
_FURTHER: Final = 10
"""Cases that a threshold has to keep beyond the last one."""
_STEPS: Final = 60
"""Halvings of an interval: more than a float tells apart."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A case: how sure the rule was, and whether the phone was right."""

    score: float
    right: bool


@dataclass(frozen=True, slots=True)
class Tested:
    """A threshold, and what was seen at it.

    Attributes:
        threshold: a step is kept if its score is at least this; above 1 keeps nothing.
        kept: cases at or above it.
        wrong: of these, how many were wrong.
        bound: upper bound of the error rate among such cases; 1 if nothing is kept.
        cases: how many there were in all.
    """

    threshold: float
    kept: int
    wrong: int
    bound: float
    cases: int

    @property
    def share(self) -> float:
        """Of the cases that are kept."""
        return self.kept / self.cases if self.cases else 0.0


NOTHING: Final = 2.0
"""A threshold that nothing reaches."""


def upper_bound(wrong: int, cases: int, delta: float = DELTA) -> float:
    """Highest error rate at which so few errors still have a chance of `delta`.

    Args:
        wrong: errors seen.
        cases: independent cases, at least as many.
        delta: chance of being wrong, in (0, 1).
    """
    if wrong >= cases:
        return 1.0
    low, high = wrong / cases, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if at_most(wrong, cases, middle) > delta:
            low = middle
        else:
            high = middle
    return high


def lower_bound(wrong: int, cases: int, delta: float = DELTA) -> float:
    """Lowest error rate at which so many errors still have a chance of `delta`."""
    return 1.0 - upper_bound(cases - wrong, cases, delta) if wrong else 0.0


def at_most(wrong: int, cases: int, rate: float) -> float:
    """Chance of at most `wrong` errors in `cases`, each with this rate (binomial)."""
    if rate <= 0.0 or wrong >= cases:
        return 1.0
    if rate >= 1.0:
        return 0.0
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    whole = math.lgamma(cases + 1)
    return math.fsum(
        math.exp(
            whole
            - math.lgamma(errors + 1)
            - math.lgamma(cases - errors + 1)
            + errors * log_rate
            + (cases - errors) * log_rest
        )
        for errors in range(wrong + 1)
    )


def fewest_cases(wish: float, delta: float = DELTA, wrong: int = 0) -> int:
    """Cases that must be kept before a promise can be made although so many of them are wrong."""
    cases = max(wrong + 1, math.ceil(math.log(delta) / math.log1p(-wish)))
    while upper_bound(wrong, cases, delta) > wish:
        cases += 1
    return cases


def least_escalated(error: float, wish: float) -> float:
    """Share of cases that must leave the phone whatever the rule: (error - wish) / (1 - wish).

    Args:
        error: how often the phone is wrong if it keeps everything.
        wish: how often it may be.
    """
    return max(0.0, (error - wish) / (1.0 - wish))


def choose(
    cases: Sequence[Scored],
    wish: float,
    delta: float = DELTA,
    grid: Iterable[float] = GRID,
) -> Tested:
    """The laxest threshold whose promise holds.

    Two kinds of thresholds are passed over. Where so few cases are left that one or two errors
    would end the search, a test says little; if there are not enough for more, it begins with the
    first at which any promise can be made. And a threshold that keeps hardly more cases than the
    last one only adds another chance to fail. Which these are, the scores alone say, and not who
    was right, so the level holds.

    Args:
        cases: none of which the rule was fitted on.
        wish: how often the phone may be wrong among what it keeps, in (0, 1).
        delta: chance that the promise does not hold.
        grid: thresholds, strictest first, chosen without looking at these cases.
    """
    found = Tested(NOTHING, 0, 0, 1.0, len(cases))
    most = sum(case.score >= 0 for case in cases)
    fewest = fewest_cases(wish, delta, _ERRORS)
    if most < fewest:
        fewest = fewest_cases(wish, delta)
    for threshold in grid:
        tested = seen_at(cases, threshold, delta)
        if tested.kept < fewest:
            continue
        if tested.bound > wish:
            break
        found, fewest = tested, tested.kept + _FURTHER
    return found


def seen_at(cases: Sequence[Scored], threshold: float, delta: float = DELTA) -> Tested:
    """What is seen at one threshold."""
    kept = [case for case in cases if case.score >= threshold]
    wrong = sum(not case.right for case in kept)
    bound = upper_bound(wrong, len(kept), delta) if kept else 1.0
    return Tested(threshold, len(kept), wrong, bound, len(cases))
