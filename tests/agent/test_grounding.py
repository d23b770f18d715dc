from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_agent.routing.grounding import ground, unused_numbers
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue


@pytest.mark.parametrize(
    ("said", "arguments", "share"),
    [
        ("Remind me to call mom at 9am", {"text": "Call mom", "when": "9am"}, 1.0),
        ("Remind me to call mom in twenty minutes", {"when": "20 minutes"}, 1.0),
        ("Set it for 5 pm", {"when": "5:00 pm"}, 1.0),
        ("A room from 4th April 2023", {"when": "2023-04-04"}, 1.0),
        ("A room on Dec 13, 2019", {"when": "2019-12-13"}, 1.0),
        ("May I have a room?", {"nights": 5}, 0.0),
        ("Hello!", {"text": "Call the office", "when": "10:00"}, 0.0),
        ("What is 17 times 23?", {"text": "17 times 23", "when": "17:30"}, 0.0),
        ("Save Bob", {"name": "Bob", "tags": ["Bob", {"x": "friend"}]}, 0.5),
        ("Anything", {"flag": True, "nothing": None}, 1.0),
    ],
)
def test_share_of_the_weakest_required_argument(
    said: str, arguments: dict[str, JsonValue], share: float
) -> None:
    assert ground(arguments, arguments, [said]).lowest_share == share


def test_an_optional_argument_nobody_said_is_named() -> None:
    found = ground(
        {"name": "Bob", "phone": "555-1234", "email": "bob.smith@example.com", "note": "x y"},
        ["name"],
        ["Save Bob's number 555-1234"],
    )
    assert found.unsaid_optional == ("note",)
    assert found.lowest_share == 1.0


def test_earlier_turns_count() -> None:
    assert ground({"when": "friday"}, ["when"], ["on friday", "yes, do it"]).lowest_share == 1.0


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), json_values), st.lists(st.text()), st.lists(st.text()))
def test_any_arguments_give_a_share(
    arguments: dict[str, JsonValue], required: list[str], said: list[str]
) -> None:
    found = ground(arguments, required, said)
    assert 0.0 <= found.lowest_share <= 1.0
    assert set(found.unsaid_optional) <= set(arguments)


@pytest.mark.parametrize(
    ("text", "number", "request_text", "said"),
    [
        ("Make a note", "", "Make a note, please", False),
        ("note", "", "note", False),
        ("buy bread", "", "make a note to buy bread", True),
        ("Text 0151 424242 for me", "0151 424242", "Text 0151 424242 for me", False),
        ("call 0151 424242 back", "0151 424242", "note to call 0151 424242 back", True),
    ],
)
def test_a_text_that_only_names_the_tool_says_nothing(
    text: str, number: str, request_text: str, *, said: bool
) -> None:
    arguments = {"text": text, **({"number": number} if number else {})}
    own = "save note Write down a note or a text for the user."
    found = ground(arguments, tuple(arguments), [request_text], own)
    assert (dict(found.shares)["text"] > 0) is said


def test_a_time_within_a_longer_text_is_said() -> None:
    arguments = {"text": "call mom tomorrow at 9", "when": "tomorrow at 9"}
    request_text = "remind me to call mom tomorrow at 9"
    found = ground(arguments, ("text", "when"), [request_text], "remind Remind the user at a time.")
    assert found.below(0.5) == ()
    assert found.shares == (("text", 1.0), ("when", 1.0))


@pytest.mark.parametrize(
    ("percent", "words"),
    [(100, "alarm at full volume"), (50, "ringtone at half"), (25, "media down to a quarter")],
)
def test_numbers_that_people_say_in_other_words(percent: int, words: str) -> None:
    assert ground({"percent": percent}, ("percent",), [words]).lowest_share == 1.0
    assert ground({"percent": percent}, ("percent",), ["louder"]).lowest_share == 0.0


def test_numbers_that_a_call_leaves_out_are_counted() -> None:
    assert unused_numbers({"duration": "30 min"}, "start a timer 1 our 30 min") == 1
    assert unused_numbers({"duration": "half an hour"}, "a timer, half an hour") == 0
    assert unused_numbers({"when": "at 9"}, "remind me at nine") == 0
    assert unused_numbers({"percent": 40}, "call volume to 40 and the alarm to 100") == 1
