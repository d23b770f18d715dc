from __future__ import annotations

import pytest
from homing_agent.trim import trim
from homing_core.ids import new_tool_call_id
from homing_core.tools import ToolCall, ToolSpec

TOLD = "what the user wants to know; leave it out for a summary"
SPEC = ToolSpec(
    "summarise",
    "Summarise a folder.",
    {
        "type": "object",
        "properties": {
            "folder": {"type": "string", "description": "name of the folder to read"},
            "question": {"type": "string", "description": TOLD},
            "most": {"type": "integer"},
        },
        "required": ["folder"],
    },
)


def trimmed(said: str, **arguments: str | int) -> dict[str, object]:
    call = ToolCall(new_tool_call_id(), "summarise", arguments)
    return dict(trim(call, SPEC, [said]).arguments)


@pytest.mark.parametrize(
    "question", ["What the user wants to know; leave it out for a summary", "leave it out", TOLD]
)
def test_a_description_is_no_value(question: str) -> None:
    said = "leave what you know out and summarise the letters"
    assert trimmed(said, folder="letters", question=question) == {"folder": "letters"}


def test_what_was_said_stays_even_if_some_of_it_stands_in_the_description() -> None:
    found = trimmed("what does Anna want?", folder="letters", question="what does Anna want")
    assert found["question"] == "what does Anna want"
    assert trimmed("a summary", folder="x", question="summary")["question"] == "summary"


def test_what_the_tool_needs_stays_for_its_own_check() -> None:
    echo = "name of the folder to read"
    assert trimmed(f"the {echo}", folder=echo, most=3)["folder"] == echo


def test_what_nobody_said_and_what_the_tool_does_not_have_goes() -> None:
    assert trimmed("summarise letters", folder="letters", most=7, colour="red") == {
        "folder": "letters"
    }


@pytest.mark.parametrize(
    ("said", "question", "stays"),
    [
        ("summarise the folder letters", "summarise folder letters", False),
        ("summarise the letters folder please", "please summarise the letters", False),
        ("summarise letters about the roof", "letters about the roof", True),
    ],
)
def test_what_only_repeats_the_rest_goes(said: str, question: str, *, stays: bool) -> None:
    assert ("question" in trimmed(said, folder="letters", question=question)) is stays
