"""Fakes for this package's boundaries. They ship with it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from homing_core.errors import HomingError, TooLongError, UnavailableError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    TextDelta,
    ThinkingDelta,
    ToolCallEvent,
    Usage,
)
from homing_core.messages import Role

from homing_inference.engine import EngineInfo, WarmedPrefix

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec

Step: TypeAlias = "GenerationEvent | asyncio.Event | HomingError | str"
"""An event; a gate, at which the answer waits until it is set; an error, which ends the answer; or
a text, short for a `TextDelta`."""

SCRIPTED: EngineInfo = EngineInfo(
    model="scripted", quantization="BF16", context_tokens=4096, chat_format="plain", can_think=False
)
_CHARACTERS_A_TOKEN = 4


@dataclass
class _Script:
    steps: tuple[Step, ...]
    when: Callable[[GenerateRequest], bool] | None
    left: int | None


class ScriptedEngine:
    """An `Engine` that plays scripts and remembers what it was asked. Runs one at a time.

    A script without a last event gets one, and a `Usage` before it: tokens are counted as a quarter
    of the characters, and those of a warmed prefix as cached.

    Attributes:
        requests: every request in the order in which they were taken up.
        warmed: what every `warm` was given.
        cancelled: ids of generations whose generator was closed before its last event.
        closed: whether `close` was called.
    """

    def __init__(self, *answers: Sequence[Step] | str, info: EngineInfo = SCRIPTED) -> None:
        """Play each of `answers` once, in order."""
        self._info = info
        self._scripts: list[_Script] = []
        self._turn = asyncio.Lock()
        self.requests: list[GenerateRequest] = []
        self.warmed: list[tuple[tuple[Message, ...], tuple[ToolSpec, ...], Thinking]] = []
        self.cancelled: list[GenerationId] = []
        self.closed = False
        for answer in answers:
            self.answer(*((answer,) if isinstance(answer, str) else answer))

    @property
    def info(self) -> EngineInfo:
        """What it claims to serve."""
        return self._info

    def answer(
        self,
        *steps: Step,
        when: Callable[[GenerateRequest], bool] | None = None,
        times: int | None = 1,
    ) -> None:
        """Add a script; the first one that fits a request and is not used up is played.

        Args:
            steps: what to play.
            when: which requests it is for; None takes any.
            times: how often it is played; None has no end.
        """
        self._scripts.append(_Script(steps, when, times))

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """The next fitting script; see `Engine.generate`."""
        ended = False
        try:
            async with self._turn:
                self.requests.append(request)
                for step in self._play(request):
                    if isinstance(step, asyncio.Event):
                        await step.wait()
                        continue
                    await asyncio.sleep(0)  # others get a turn, as with a real engine
                    ended = isinstance(step, Done | Failed)
                    yield step
        finally:
            if not ended:
                self.cancelled.append(request.id)

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """Remember the prefix; see `Engine.warm`."""
        if self.closed:
            raise _closed()
        prefix = _system(messages), tuple(tools), thinking
        tokens = _tokens(*prefix[:2])
        if tokens >= self._info.context_tokens:
            raise _too_long(tokens, self._info.context_tokens)
        self.warmed.append(prefix)
        return WarmedPrefix(tokens, hashlib.sha256(repr(prefix).encode()).hexdigest())

    async def close(self) -> None:
        """Remember that it was closed; later requests fail."""
        self.closed = True

    def _play(self, request: GenerateRequest) -> list[GenerationEvent | asyncio.Event]:
        tokens = _tokens(request.messages, request.tools)
        limit = min(self._info.context_tokens, request.max_context_tokens or tokens + 1)
        script = self._fitting(request)
        error: HomingError | None = None
        if self.closed:
            error = _closed()
        elif tokens >= limit:
            error = _too_long(tokens, limit)
        elif script is None:
            error = UnavailableError("no answer is scripted for this request")
        if script is None or error is not None:
            return [Failed.from_error(error or _closed())]
        if script.left is not None:
            script.left -= 1
        return self._complete(request, tokens, script.steps)

    def _fitting(self, request: GenerateRequest) -> _Script | None:
        for script in self._scripts:
            if script.left != 0 and (script.when is None or script.when(request)):
                return script
        return None

    def _complete(
        self, request: GenerateRequest, tokens: int, steps: Sequence[Step]
    ) -> list[GenerationEvent | asyncio.Event]:
        played: list[GenerationEvent | asyncio.Event] = []
        for step in steps:
            if isinstance(step, HomingError):
                played.append(Failed.from_error(step))
            else:
                played.append(TextDelta(step) if isinstance(step, str) else step)
        if not played or not isinstance(played[-1], Done | Failed):
            calls = any(isinstance(step, ToolCallEvent) for step in played)
            played.append(Done(FinishReason.TOOL_CALLS if calls else FinishReason.STOP))
        if isinstance(played[-1], Done) and not any(isinstance(step, Usage) for step in played):
            prefix = _system(request.messages), request.tools, request.thinking
            cached = _tokens(*prefix[:2]) if prefix in self.warmed else 0
            written = sum(isinstance(step, TextDelta | ThinkingDelta) for step in played)
            played.insert(len(played) - 1, Usage(tokens, cached, written, 0.0, 0.0))
        return played


def _system(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(message for message in messages if message.role is Role.SYSTEM)


def _tokens(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
    written = sum(len(message.text) for message in messages)
    described = sum(len(tool.name) + len(tool.description) for tool in tools)
    return (written + described) // _CHARACTERS_A_TOKEN


def _too_long(count: int, limit: int) -> TooLongError:
    msg = f"the request would take {count} tokens, but the model holds {limit}, answer included"
    return TooLongError(msg, "Shorten it.")


def _closed() -> UnavailableError:
    return UnavailableError("the engine was closed", "Start it again.")
