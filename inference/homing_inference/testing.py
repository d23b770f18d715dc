"""Fakes for this package's boundaries. They ship with it."""

from __future__ import annotations

import asyncio
import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, TooLongError, UnavailableError, UsageError
from homing_core.generation import Done, Failed
from homing_core.messages import Role
from homing_core.scoring import NameScore, ToolScores

from homing_inference.engine import EngineInfo, EngineState, WarmedPrefix
from homing_inference.process.endings import closed
from homing_inference.script import play
from homing_inference.slots import Slots

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest
    from homing_core.tools import ToolSpec

    from homing_inference.script import Played, Step

SCRIPTED: Final = EngineInfo(
    model="scripted",
    quantization="BF16",
    context_tokens=4096,
    chat_format="plain",
    can_think=False,
    max_sequences=8,
)
_MAX_WAITING: Final = 64
_CHARACTERS_A_TOKEN: Final = 4


@dataclass
class _Script:
    steps: tuple[Step, ...]
    when: Callable[[GenerateRequest], bool] | None
    left: int | None


class ScriptedEngine:
    """An `Engine` that plays scripts and remembers what it was asked.

    Several run at once, as many as `info` says; others wait, persons before jobs. A script without
    a last event gets one, and a `Usage` before it: tokens are counted as a quarter of the
    characters, and those of a warmed prefix as cached. Each of several answers to one prompt plays
    a script of its own while there are any, and then the last one again.

    Attributes:
        requests: every request in the order in which they were taken up.
        scored: every request to score.
        embedded: every text to embed.
        warmed: what every `warm` was given.
        cancelled: ids of generations whose generator was closed before its last event.
        forgotten: every owner that `forget` was given.
        closed: whether `close` was called.
    """

    def __init__(
        self,
        *answers: Sequence[Step] | str,
        info: EngineInfo = SCRIPTED,
        max_waiting: int = _MAX_WAITING,
    ) -> None:
        """Play each of `answers` once, in order; at most `max_waiting` requests wait."""
        self._info = info
        self._scripts: list[_Script] = []
        self._scores: ToolScores | HomingError | None = None
        self._slots = Slots(info.max_sequences, max_waiting)
        self._prefixes: dict[str, WarmedPrefix] = {}
        self.requests: list[GenerateRequest] = []
        self.scored: list[ScoreRequest] = []
        self.embedded: list[str] = []
        self.warmed: list[tuple[tuple[Message, ...], tuple[ToolSpec, ...], Thinking]] = []
        self.cancelled: list[GenerationId] = []
        self.closed = False
        self.forgotten: list[str] = []
        for answer in answers:
            self.answer(*((answer,) if isinstance(answer, str) else answer))

    @property
    def info(self) -> EngineInfo:
        """What it claims to serve."""
        return self._info

    @property
    def state(self) -> EngineState:
        """How many run and wait, and what is warm."""
        warm = tuple(self._prefixes.values())
        return EngineState(self._slots.running, self._slots.waiting, warm=warm)

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

    def score_as(self, scores: ToolScores | HomingError) -> None:
        """Answer every `score` with this; an error is raised."""
        self._scores = scores

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """The next fitting script; see `Engine.generate`."""
        ended = False
        try:
            await self._slots.enter(request.priority, request.deadline_ms)
        except HomingError as error:
            yield Failed.from_error(error)
            return
        except asyncio.CancelledError:
            self.cancelled.append(request.id)
            raise
        try:
            self.requests.append(request)
            for step in self._play(request):
                if isinstance(step, asyncio.Event):
                    await step.wait()
                    continue
                await asyncio.sleep(0)  # others get a turn, as with a real engine
                ended = isinstance(step, Done | Failed)
                yield step
        finally:
            self._slots.leave()
            if not ended:
                self.cancelled.append(request.id)

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """Remember the prefix; see `Engine.warm`."""
        self._check_open()
        prefix = _system(messages), tuple(tools), thinking
        tokens = _tokens(*prefix[:2])
        self._check_room(tokens)
        self.warmed.append(prefix)
        warmed = WarmedPrefix(tokens, hashlib.sha256(repr(prefix).encode()).hexdigest())
        self._prefixes[warmed.sha256] = warmed
        return warmed

    async def score(self, request: ScoreRequest) -> ToolScores:
        """What `score_as` said; else every tool, and writing no call, is equally likely."""
        self._check_open()
        if not request.tools:
            msg = "there is no tool to score"
            raise UsageError(msg, "Name at least one.")
        tokens = _tokens(request.messages, request.tools)
        self._check_room(tokens)
        self.scored.append(request)
        if isinstance(self._scores, HomingError):
            raise self._scores
        even = -math.log(len(request.tools))
        names = tuple(NameScore(tool.name, even, even) for tool in request.tools)
        half = math.log(0.5)
        cached = self._cached(request)
        return self._scores or ToolScores(names, half, half, tokens, cached, len(names))

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """Vectors of eight numbers that depend on nothing but the text; see `Engine.embed`."""
        self._check_open()
        for text in texts:
            self._check_room(len(text) // _CHARACTERS_A_TOKEN)
        self.embedded.extend(texts)
        return tuple(_vector(text) for text in texts)

    def forget(self, owner: str) -> None:
        """Remember whom."""
        self.forgotten.append(owner)

    async def close(self) -> None:
        """Remember that it was closed; later requests fail."""
        self.closed = True

    def _check_open(self) -> None:
        if self.closed:
            raise closed()

    def _check_room(self, tokens: int, limit: int = 0) -> None:
        most = min(self._info.context_tokens, limit or tokens + 1)
        if tokens >= most:
            msg = f"the request would take {tokens} tokens, but the model holds {most}, "
            raise TooLongError(msg + "answer included", "Shorten it.")

    def _play(self, request: GenerateRequest) -> list[Played]:
        try:
            self._check_open()
            tokens = _tokens(request.messages, request.tools)
            self._check_room(tokens, request.max_context_tokens)
            answers = self._answers(request)
        except HomingError as error:
            return [Failed.from_error(error)]
        return play(answers, request, tokens, self._cached(request))

    def _answers(self, request: GenerateRequest) -> list[tuple[Step, ...]]:
        answers: list[tuple[Step, ...]] = []
        for _ in range(max(request.samples, 1)):
            script = self._fitting(request)
            if script is None:
                break
            if script.left is not None:
                script.left -= 1
            answers.append(script.steps)
        if not answers:
            msg = "no answer is scripted for this request"
            raise UnavailableError(msg)
        return answers + answers[-1:] * (request.samples - len(answers))

    def _fitting(self, request: GenerateRequest) -> _Script | None:
        for script in self._scripts:
            if script.left != 0 and (script.when is None or script.when(request)):
                return script
        return None

    def _cached(self, request: GenerateRequest | ScoreRequest) -> int:
        prefix = _system(request.messages), request.tools, request.thinking
        return _tokens(*prefix[:2]) if prefix in self.warmed else 0


def _system(messages: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(message for message in messages if message.role is Role.SYSTEM)


def _tokens(messages: Sequence[Message], tools: Sequence[ToolSpec]) -> int:
    written = sum(len(message.text) for message in messages)
    described = sum(len(tool.name) + len(tool.description) for tool in tools)
    return (written + described) // _CHARACTERS_A_TOKEN


def _vector(text: str) -> tuple[float, ...]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]
    numbers = [byte - 127.5 for byte in digest]
    return tuple(number / math.hypot(*numbers) for number in numbers)
