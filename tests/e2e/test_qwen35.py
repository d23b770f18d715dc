"""The product's own family: a `qwen35` model served by a real node to a real phone.

The model is random, so what counts is that its format goes all the way, whatever it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.household import Household
    from support.programs import Event


def said(events: list[Event]) -> list[str]:
    """What the model wrote, piece by piece: thoughts or text."""
    return [event["event"] for event in events if event["event"] in {"thinking", "text"}]


def test_without_thinking_it_answers_at_once(tiny: Household) -> None:
    *events, answer = tiny.phone.ask("--route", "home", "hello")
    assert said(events)[0] == "text"
    assert (answer["route"], answer["node"]) == ("home", tiny.node.folder.name)
    assert (answer["model"], answer["stand_in"]) == ("tiny", False)
    assert answer["text"] == "".join(e["text"] for e in events if e["event"] == "text")
    assert "<|im_end|>" not in answer["text"]


def test_with_thinking_it_thinks_first(tiny: Household) -> None:
    *events, answer = tiny.phone.ask("--route", "home", "--think", "hello")
    assert said(events)[0] == "thinking"
    assert answer["event"] == "answer"


def test_the_phone_runs_it_too(tiny: Household) -> None:
    *events, answer = tiny.phone.ask("--route", "phone", "hello")
    assert (answer["route"], answer["model"]) == ("phone", "tiny")
    assert "thinking" not in said(events)[:1]
    assert answer["event"] == "answer"
