"""What tests of engines share: requests, and events as they come."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from homing_core.generation import (
    Done,
    Failed,
    GenerateRequest,
    Priority,
    Sampling,
    TextDelta,
    Thinking,
    TokenLogprob,
    TokenLogprobs,
    ToolCallEvent,
    Usage,
)
from homing_core.ids import new_generation_id
from homing_core.messages import system, user
from homing_core.tools import ToolSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from homing_core.generation import GenerationEvent
    from homing_inference.engine import Engine

LONGEST_GAP = 0.3
"""Between the two likeliest tokens' log-probabilities: below it their order may depend on what else
is in the batch. What was seen of a Q4_K_M model; see the facts on batching."""
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


def tokens_of(events: Sequence[GenerationEvent]) -> list[TokenLogprob]:
    """Its tokens and their log-probabilities."""
    return [token for event in events if isinstance(event, TokenLogprobs) for token in event.tokens]


def agree(one: Sequence[GenerationEvent], other: Sequence[GenerationEvent]) -> bool:
    """Whether two greedy answers are the same, or part where two tokens were as good as equal.

    Both need at least two alternatives for each token.
    """
    if text_of(one) == text_of(other):
        return True
    for mine, theirs in zip(tokens_of(one), tokens_of(other), strict=False):
        if mine.text != theirs.text:
            (_, best), (_, second), *_ = mine.top
            return best - second < LONGEST_GAP
    return False


@asynccontextmanager
async def running(engine: Engine, asked: GenerateRequest) -> AsyncGenerator[GenerationEvent]:
    """A generation that is being written; it is cancelled at the end. Gives its first event."""
    async with aclosing(engine.generate(asked)) as events:
        async with asyncio.timeout(BOUND_S):
            first = await anext(events)
        yield first


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
