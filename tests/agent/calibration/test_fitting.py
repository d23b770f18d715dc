"""The learned rule: it finds what is there, and says nothing of what is missing."""

from __future__ import annotations

import math
import random

import pytest
from homing_agent.calibration.fitting import fit
from homing_agent.routing.linear import Linear, Term
from homing_core.errors import InvalidDataError
from hypothesis import given
from hypothesis import strategies as st


def cases(count: int) -> list[tuple[dict[str, float], bool]]:
    """Right with a chance that grows with `good` and falls with `bad`; `noise` says nothing."""
    chance = random.Random(3)  # noqa: S311  # made-up data
    found: list[tuple[dict[str, float], bool]] = []
    for _ in range(count):
        good, bad, noise = (chance.gauss(0, 1) for _ in range(3))
        right = chance.random() < 1 / (1 + math.exp(-(0.5 + 2 * good - bad)))
        found.append(({"good": good, "bad": 10 * bad + 5, "noise": noise}, right))
    return found


def test_it_finds_the_rule_that_made_the_cases() -> None:
    rule = fit(cases(4000), ["good", "bad", "noise"])
    assert rule.terms["good"].weight == pytest.approx(2, abs=0.3)
    assert rule.terms["bad"].weight == pytest.approx(-1, abs=0.2)
    assert rule.terms["noise"].weight == pytest.approx(0, abs=0.15)
    assert rule.terms["bad"].mean == pytest.approx(5, abs=0.6)
    assert rule.against({"good": 1.0, "bad": 40.0}) == "bad"
    assert rule.against({"good": 3.0, "bad": 5.0 - 20}) == ""


def test_chances_are_what_they_say() -> None:
    rule = fit(cases(4000), ["good", "bad"])
    fresh = cases(4000)
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        some = [(rule.chance(one), right) for one, right in fresh if low <= rule.chance(one) < high]
        mean = sum(chance for chance, _ in some) / len(some)
        assert sum(right for _, right in some) / len(some) == pytest.approx(mean, abs=0.05)


def test_a_missing_feature_says_nothing() -> None:
    rule = fit([*cases(500), ({"good": 1.0}, True)], ["good", "bad", "never"])
    assert rule.chance({"good": 0.3}) == rule.chance({"good": 0.3, "bad": rule.terms["bad"].mean})
    assert rule.terms["never"].weight == 0.0
    assert rule.terms["never"].scale == 1.0


@pytest.mark.parametrize("right", [True, False])
def test_cases_of_one_kind_are_refused(right: bool) -> None:  # noqa: FBT001  # a parameter
    with pytest.raises(InvalidDataError, match="all right or all wrong"):
        fit([({"good": 1.0}, right)] * 5, ["good"])
    with pytest.raises(InvalidDataError):
        fit([], ["good"])


numbers = st.floats(-1e9, 1e9)


@given(
    numbers,
    st.dictionaries(
        st.sampled_from("abc"), st.builds(Term, numbers, st.floats(1e-9, 1e9), numbers)
    ),
    st.dictionaries(st.sampled_from("abcd"), numbers),
)
def test_a_chance_is_a_chance_whatever_comes(
    intercept: float, terms: dict[str, Term], features: dict[str, float]
) -> None:
    rule = Linear(intercept, terms)
    assert 0 < rule.chance(features) < 1
    assert rule.against(features) in {"", *terms}
