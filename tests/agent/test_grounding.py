from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_agent.routing.grounding import ground
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
