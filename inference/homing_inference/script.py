"""What a scripted answer comes to once a request's wishes are applied to it. Pure."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, TypeAlias

from homing_core.errors import HomingError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerationEvent,
    Sampled,
    TextDelta,
    ThinkingDelta,
    TokenLogprob,
    TokenLogprobs,
    ToolCallEvent,
    ToolChoice,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from homing_core.generation import GenerateRequest

Step: TypeAlias = "GenerationEvent | asyncio.Event | HomingError | str"
"""An event; a gate, at which the answer waits until it is set; an error, which ends the answer; or
a text, short for a `TextDelta`."""
Played: TypeAlias = "GenerationEvent | asyncio.Event"
"""What is left of a step when it is played."""


def play(
    answers: Sequence[Sequence[Step]], request: GenerateRequest, prompt: int, cached: int
) -> list[Played]:
    """The whole generation, with a last event and, if that is a `Done`, counts before it.

    Args:
        answers: one script for each answer that is asked for. A script with `Sampled` events is the
            whole generation.
        request: what was asked.
        prompt: tokens of the prompt.
        cached: of these, how many count as not computed again.
    """
    played = [list(_answer(steps, request)) for steps in answers]
    whole = next((one for one in played if _is_whole(one)), None)
    if whole is None and len(played) == 1:
        whole = played[0]
    if whole is None:
        rounds = itertools.zip_longest(*(_numbered(*pair) for pair in enumerate(played, 1)))
        whole = [event for each in rounds for event in each if event is not None]
    if not whole or not isinstance(whole[-1], Done | Failed):
        whole.append(Done(FinishReason.STOP))
    if isinstance(whole[-1], Done) and not any(isinstance(event, Usage) for event in whole):
        events = [event.event if isinstance(event, Sampled) else event for event in whole]
        written = sum(isinstance(event, TextDelta | ThinkingDelta) for event in events)
        whole.insert(len(whole) - 1, Usage(prompt, cached, written, 0.0, 0.0))
    return whole


def _is_whole(played: Sequence[Played]) -> bool:
    return any(isinstance(event, Sampled) for event in played)


def _numbered(sample: int, played: Sequence[Played]) -> Iterator[Played]:
    for event in played:
        if isinstance(event, asyncio.Event):
            yield event
        elif not isinstance(event, Usage | Sampled):
            yield Sampled(sample, event)


def _answer(steps: Iterable[Step], request: GenerateRequest) -> Iterator[Played]:
    """One answer's events, with an end unless it is the whole of several answers."""
    given = [_event(step) for step in steps]
    says_logprobs = any(isinstance(event, TokenLogprobs) for event in given)
    thought = 0
    last: Played | None = None
    for event in given:
        if isinstance(event, ToolCallEvent) and request.tool_choice is ToolChoice.NONE:
            continue
        if isinstance(event, ThinkingDelta):
            thought += 1
            if 0 < request.thinking_budget < thought:
                continue
        last = event
        yield event
        if request.logprobs and not says_logprobs and isinstance(event, TextDelta):
            yield TokenLogprobs((TokenLogprob(event.text, 0.0, ((event.text, 0.0),)),))
    if not isinstance(last, Done | Failed) and not _is_whole(given):
        calls = any(isinstance(event, ToolCallEvent) for event in given)
        called = calls and request.tool_choice is not ToolChoice.NONE
        yield Done(FinishReason.TOOL_CALLS if called else FinishReason.STOP)


def _event(step: Step) -> Played:
    if isinstance(step, HomingError):
        return Failed.from_error(step)
    return TextDelta(step) if isinstance(step, str) else step
