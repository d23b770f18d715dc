"""The second opinion: a classifier of a request's words."""

from __future__ import annotations

import json

import pytest
from homing_agent.calibration.opinions import learn_opinion, opinions_of_others
from homing_agent.evaluation.cases import Case, decode_case
from homing_agent.evaluation.data import Part, part_file, read_cases
from homing_agent.routing.opinion import (
    ANSWER,
    ASK,
    BUCKETS,
    HOME,
    NO_OPINION,
    buckets,
    opinion_numbers,
)
from hypothesis import given
from hypothesis import strategies as st

FITTING = read_cases(part_file(Part.FIT))


def case(number: int, request: str, **accept: object) -> Case:
    made = {"id": str(number), "request": request, "kind": "plain", "lang": "en"}
    return decode_case(json.dumps({**made, "accept": [accept]}))


CASES = tuple(
    made
    for number in range(40)
    for made in (
        case(4 * number, f"set a timer for {number} minutes", call="set_timer", arguments={}),
        case(4 * number + 1, f"why is {number} an even number", answer={}),
        case(4 * number + 2, f"summarise folder {number}", home=True),
        case(4 * number + 3, f"remind me of it, number {number}", ask=["when"]),
    )
)


def test_it_learns_what_is_right_to_do_first() -> None:
    opinion = learn_opinion(CASES)
    for request, action in (
        ("please set a timer for 99 minutes", "set_timer"),
        ("why is the sea salty", ANSWER),
        ("summarise that folder", HOME),
        ("remind me of it", ASK),
    ):
        chances = opinion.chances(request)
        assert max(chances, key=chances.__getitem__) == action
        assert sum(chances.values()) == pytest.approx(1)


def test_what_is_fitted_on_is_judged_by_who_has_not_seen_it() -> None:
    seen = learn_opinion(FITTING)
    unseen = opinions_of_others(FITTING)
    assert unseen.keys() == {one.id for one in FITTING}

    def right(chances: dict[str, float], one: Case) -> bool:
        best = max(chances, key=chances.__getitem__)
        return any(getattr(action, "tool", "") == best for action in one.accepted)

    by_heart = sum(right(seen.chances(one.request), one) for one in FITTING)
    honestly = sum(right(dict(unseen[one.id]), one) for one in FITTING)
    assert by_heart > honestly > 100


def test_numbers_are_about_the_action_that_would_be_taken() -> None:
    chances = {"set_timer": 0.6, "save_note": 0.2, ANSWER: 0.1, HOME: 0.1}
    own = opinion_numbers(chances, "set_timer")
    assert own["opinion_lead"] == pytest.approx(0.4)
    assert own["opinion_home"] == 0.1
    assert opinion_numbers(chances, "save_note")["opinion_lead"] == pytest.approx(-0.4)
    assert opinion_numbers(chances, ANSWER)["opinion_lead"] == pytest.approx(-0.5)
    assert opinion_numbers(chances, "unheard_of") == {}
    assert opinion_numbers({}, ANSWER) == {}


@given(st.text(max_size=200))
def test_any_text_has_places_and_chances(request_text: str) -> None:
    assert all(0 <= place < BUCKETS for place in buckets(request_text))
    assert NO_OPINION.chances(request_text) == {}


def test_case_accents_and_digits_make_no_difference() -> None:
    assert buckets("Émile, 15 min") == buckets("emile 27 MIN")
