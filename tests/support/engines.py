"""What tests of engines share: requests, and events as they come."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.generation import (
    Done,
    Failed,
    GenerateRequest,
    Priority,
    Sampling,
    TextDelta,
    Thinking,
    ToolCallEvent,
    Usage,
)
from homing_core.ids import new_generation_id
from homing_core.messages import system, user
from homing_core.tools import ToolSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.generation import GenerationEvent
    from homing_inference.engine import Engine

BOUND_S = 60
"""No wait in these tests takes longer."""

SYSTEM = system("You are a helpful assistant on a phone. " * 12)
TOOLS = (
    ToolSpec(
        "set_timer",
        "Starts a countdown.",
        {"type": "object", "properties": {"minutes": {"type": "integer"}}},
    ),
)


def ask(  # noqa: PLR0913  # each is one independent property of a request
    words: str = "What is the capital of France?",
    *,
    tools: tuple[ToolSpec, ...] = (),
    thinking: Thinking = Thinking.OFF,
    priority: Priority = Priority.INTERACTIVE,
    deadline_ms: int = 0,
    max_context_tokens: int = 0,
    sampling: Sampling = Sampling(max_tokens=12),  # noqa: B008  # frozen
) -> GenerateRequest:
    """A request with a system message and one of the user's."""
    return GenerateRequest(
        new_generation_id(),
        (SYSTEM, user(words)),
        tools=tools,
        thinking=thinking,
        sampling=sampling,
        priority=priority,
        deadline_ms=deadline_ms,
        max_context_tokens=max_context_tokens,
    )


async def collect(engine: Engine, asked: GenerateRequest) -> list[GenerationEvent]:
    """All events of a generation."""
    async with asyncio.timeout(BOUND_S):
        return [event async for event in engine.generate(asked)]


def text_of(events: Sequence[GenerationEvent]) -> str:
    """The visible text."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def usage_of(events: Sequence[GenerationEvent]) -> Usage:
    """The counts."""
    (usage,) = [event for event in events if isinstance(event, Usage)]
    return usage


def failure_of(events: Sequence[GenerationEvent]) -> Failed:
    """The failure with which it ended."""
    last = events[-1]
    assert isinstance(last, Failed), last
    return last


def done_of(events: Sequence[GenerationEvent]) -> Done:
    """The end of one that ended well."""
    last = events[-1]
    assert isinstance(last, Done), last
    return last


def substance(events: Sequence[GenerationEvent]) -> list[object]:
    """What was said: without counts, durations and the fresh ids of calls."""
    return [
        (event.call.name, event.call.arguments, event.signals)
        if isinstance(event, ToolCallEvent)
        else event
        for event in events
        if not isinstance(event, Usage)
    ]
