"""When the events of an answer came."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.generation import (
    Failed,
    GenerateRequest,
    Sampling,
    TextDelta,
    ThinkingDelta,
    TokenLogprobs,
    ToolCallEvent,
    Usage,
)
from homing_core.ids import new_generation_id
from homing_core.messages import system, user

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from homing_core.generation import GenerationEvent
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec

SYSTEM = system("You are a helpful assistant on a phone. Answer briefly and use the tools.")
SUBJECTS = (
    "a library's catalogue",
    "a train timetable",
    "a chess clock",
    "a weather station",
    "a cookbook",
    "a parking garage",
    "a film archive",
    "a garden planner",
)


def task(number: int, salt: int = 0) -> str:
    """A request that is answered with hundreds of words; the salt makes it a new one."""
    return f"Program {salt}: write a long, complete Python module for {SUBJECTS[number]}."


def ask(
    words: str | Sequence[Message],
    *,
    tokens: int,
    tools: tuple[ToolSpec, ...] = (),
    with_system: bool = False,
    owner: str = "",
) -> GenerateRequest:
    """A greedy request."""
    messages = (user(words),) if isinstance(words, str) else tuple(words)
    return GenerateRequest(
        id=new_generation_id(),
        messages=(SYSTEM, *messages) if with_system else messages,
        tools=tools,
        sampling=Sampling(max_tokens=tokens),
        owner=owner or str(time.monotonic_ns()),  # nobody's states are used again unasked
    )


@dataclass
class Trace:
    """One answer. Times are `time.perf_counter` seconds.

    Attributes:
        started: when it was asked.
        times: of each event that shows something.
        token_times: of each token, where its probabilities were asked for.
        usage: what the engine counted.
        text: what was written.
    """

    started: float = field(default_factory=time.perf_counter)
    times: list[float] = field(default_factory=list[float])
    token_times: list[float] = field(default_factory=list[float])
    usage: Usage = field(default_factory=lambda: Usage(0, 0, 0, 0.0, 0.0))
    text: str = ""
    calls: int = 0

    def take(self, event: GenerationEvent) -> None:
        """One event, now."""
        match event:
            case TextDelta() | ThinkingDelta():
                self.times.append(time.perf_counter())
                self.text += event.text
            case TokenLogprobs():
                self.token_times += [time.perf_counter()] * len(event.tokens)
            case ToolCallEvent():
                self.times.append(time.perf_counter())
                self.calls += 1
            case Usage():
                self.usage = event
            case Failed():
                raise event.to_error()
            case _:
                pass

    @property
    def first_ms(self) -> float:
        """From the request to the first thing to show."""
        return 1000 * (self.times[0] - self.started)

    @property
    def decode_rate(self) -> float:
        """Tokens a second behind the first, by the engine's own clock."""
        return 1000 * (self.usage.completion_tokens - 1) / self.usage.decode_ms


async def follow(events: AsyncIterator[GenerationEvent]) -> Trace:
    """Read an answer to its end."""
    trace = Trace()
    async for event in events:
        trace.take(event)
    return trace


async def follow_all(answers: Iterable[AsyncIterator[GenerationEvent]]) -> list[Trace]:
    """Read several at once."""
    return list(await asyncio.gather(*map(follow, answers)))


def together(traces: Sequence[Trace]) -> float:
    """Tokens a second of all of them while all of them were writing."""
    start = max(trace.times[0] for trace in traces)
    end = min(trace.times[-1] for trace in traces)
    written = 0.0
    for trace in traces:
        # Not every token is an event of its own: some wait for the rest of a character.
        for_each = trace.usage.completion_tokens / len(trace.times)
        written += for_each * sum(start < moment <= end for moment in trace.times)
    return written / (end - start)
