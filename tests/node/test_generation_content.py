from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import InvalidDataError
from homing_core.generation import (
    CallGrammar,
    GenerateRequest,
    Priority,
    Sampling,
    Thinking,
    ToolChoice,
)
from homing_core.ids import new_generation_id
from homing_core.messages import Message, Part, Role, TextPart, ThinkingPart, assistant, user
from homing_core.provenance import PERSON
from homing_core.tools import ToolSpec, Topic
from homing_node.generations.content import content_digest
from hypothesis import given
from support import strategies

if TYPE_CHECKING:
    from collections.abc import Callable

BASE = GenerateRequest(new_generation_id(), (user("hello"),))


@given(strategies.generate_requests())
def test_decoded_twice_is_the_same_content(request: GenerateRequest) -> None:
    copy = replace(request, id=new_generation_id(), deadline_ms=5, priority=Priority.JOB)
    assert content_digest(replace(copy, owner="a" * 64)) == content_digest(request)
    assert content_digest(copy) == content_digest(request)


CHANGES: list[Callable[[GenerateRequest], GenerateRequest]] = [
    lambda r: replace(r, messages=(user("hello "),)),
    lambda r: replace(r, messages=(assistant("hello"),)),
    lambda r: replace(r, model="other"),
    lambda r: replace(r, thinking=Thinking.ON),
    lambda r: replace(r, sampling=Sampling(seed=1)),
    lambda r: replace(r, continue_last=True),
    lambda r: replace(r, max_context_tokens=7),
    lambda r: replace(r, tools=(ToolSpec("t", "", {}),)),
    lambda r: replace(r, samples=2),
    lambda r: replace(r, thinking_budget=9),
    lambda r: replace(r, tool_choice=ToolChoice.REQUIRED),
    lambda r: replace(r, call_grammar=CallGrammar.OFF),
    lambda r: replace(r, logprobs=1),
    lambda r: replace(r, adapter="kitchen"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_any_other_request_is_other_content(
    change: Callable[[GenerateRequest], GenerateRequest],
) -> None:
    assert content_digest(change(BASE)) != content_digest(BASE)


def test_kind_of_part_and_topics_count() -> None:
    def asking(part: Part) -> GenerateRequest:
        return replace(BASE, messages=(Message(Role.ASSISTANT, (part,)),))

    text, thought = TextPart("x", PERSON), ThinkingPart("x", PERSON)
    assert content_digest(asking(text)) != content_digest(asking(thought))

    def offering(*topics: Topic) -> GenerateRequest:
        return replace(BASE, tools=(ToolSpec("t", "", {}, topics=frozenset(topics)),))

    both = content_digest(offering(Topic.MONEY, Topic.HEALTH))
    assert both == content_digest(offering(Topic.HEALTH, Topic.MONEY))
    assert both != content_digest(offering(Topic.MONEY))


def test_what_has_no_canonical_form_is_refused() -> None:
    with pytest.raises(InvalidDataError):
        content_digest(replace(BASE, sampling=Sampling(temperature=float("nan"))))
