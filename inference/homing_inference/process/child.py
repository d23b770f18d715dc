"""One life of an engine's child process, seen from the daemon: questions in, answers out."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, TypeVar

import structlog
from homing_core.errors import HomingError, InvalidDataError, UnavailableError
from homing_core.generation import Done, Failed
from homing_core.scoring import ToolScores
from homing_proto.codec.engine import (
    CancelGeneration,
    EmbedTexts,
    EngineBusy,
    ForgetOwner,
    GenerationReport,
    LoadFailed,
    ModelLoading,
    ModelReady,
    ScoreTools,
    StartGeneration,
    TextsEmbedded,
    WarmPrefix,
    decode_engine_command,
    decode_engine_report,
    encode_engine_command,
)

from homing_inference.engine import EngineState, WarmedPrefix
from homing_inference.process.child_process import ChildProcess
from homing_inference.process.endings import closed, stopped
from homing_inference.process.in_flight import InFlight
from homing_inference.process.outcomes import outcome_of, state_of
from homing_inference.process.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest
    from homing_core.tools import ToolSpec
    from homing_proto.codec.engine import EngineCommand, EngineReport, LoadModel

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")
STEP_SILENCE_S: Final = 60.0
"""Seconds without a word, while something is in flight, after which a child counts as hung."""
_STOP_SECONDS: Final = 5.0
_MISFIT: Final = "the engine answered something else than it was asked"


class EngineChild:
    """A running child with its model loaded. Made by `start`; belongs to one event loop."""

    def __init__(
        self, process: ChildProcess, on_death: Callable[[EngineChild], None], step_silence_s: float
    ) -> None:
        """Begin to listen; use `start` instead."""
        self._process = process
        self._on_death = on_death
        self._alive = True
        self._farewell = stopped()  # what those who wait are told when it is gone
        self._loading: asyncio.Queue[ModelLoading | ModelReady | HomingError] = asyncio.Queue()
        self._in_flight = InFlight()
        self._state = EngineState()
        self._watchdog = Watchdog(step_silence_s, lambda: bool(self._in_flight), self._give_up)
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(
        cls,
        load: LoadModel,
        on_death: Callable[[EngineChild], None],
        *,
        silence_s: float,
        on_progress: Callable[[float], None],
        step_silence_s: float = STEP_SILENCE_S,
    ) -> tuple[EngineChild, ModelReady]:
        """Start a process and let it load a model.

        Args:
            load: what to load.
            on_death: called once, when the child is gone without having been told to.
            silence_s: seconds without progress after which loading counts as hung.
            on_progress: called with a share in [0, 1].
            step_silence_s: the same while something is in flight; then it is killed.

        Raises:
            HomingError: the model cannot be loaded; see `LoadedModel`.
            UnavailableError: the child stopped or fell silent while loading.
        """
        child = cls(await ChildProcess.spawn(), on_death, step_silence_s)
        try:
            return child, await child._load(load, silence_s, on_progress)
        except BaseException:
            await child.stop()
            raise

    @property
    def pid(self) -> int:
        """Process number."""
        return self._process.pid

    @property
    def state(self) -> EngineState:
        """How busy it is, as last heard; idle and empty once it is gone."""
        return self._state

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """The events of one generation; closing the generator cancels it."""
        await self._in_flight.ended(request.id)
        try:
            self._in_flight.check_free(request.id)
            self._ask(StartGeneration(request))
        except HomingError as error:
            yield Failed.from_error(error)
            return
        events = self._in_flight.stream(request.id)
        try:
            while True:
                event = await events.get()
                yield event
                if isinstance(event, Done | Failed):
                    return
        finally:
            if self._in_flight.leave(request.id):
                with contextlib.suppress(HomingError):
                    self._send(CancelGeneration(request.id))

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """See `Engine.warm`."""
        system, offered = tuple(messages), tuple(tools)
        return await self._outcome(
            WarmedPrefix, lambda ticket: WarmPrefix(ticket, system, offered, thinking)
        )

    async def score(self, request: ScoreRequest) -> ToolScores:
        """See `Engine.score`."""
        return await self._outcome(ToolScores, lambda ticket: ScoreTools(ticket, request))

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """See `Engine.embed`."""
        asked = tuple(texts)
        return (
            await self._outcome(TextsEmbedded, lambda ticket: EmbedTexts(ticket, asked))
        ).vectors

    def forget(self, owner: str) -> None:
        """See `Engine.forget`."""
        with contextlib.suppress(HomingError):  # where it is gone, so is what it held
            self._send(ForgetOwner(owner))

    async def stop(self) -> None:
        """End the process and wait until it is gone; harmless when repeated."""
        if self._alive:
            self._farewell = closed()
        was_alive, self._alive = self._alive, False
        await self._process.stop(_STOP_SECONDS if was_alive else 0)
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _load(
        self, load: LoadModel, silence_s: float, on_progress: Callable[[float], None]
    ) -> ModelReady:
        self._send(load)
        while True:
            try:
                async with asyncio.timeout(silence_s):
                    news = await self._loading.get()
            except TimeoutError:
                msg = f"loading the model {load.name} made no progress for {silence_s:.0f} s"
                raise UnavailableError(msg, "Try again, or use a smaller model.") from None
            match news:
                case ModelReady():
                    return news
                case HomingError():
                    raise news
                case ModelLoading():
                    on_progress(news.progress)

    async def _outcome(self, kind: type[T], command: Callable[[int], EngineCommand]) -> T:
        ticket = self._in_flight.number()
        self._ask(command(ticket))
        outcome = await self._in_flight.outcome(ticket)
        if not isinstance(outcome, kind):
            raise InvalidDataError(_MISFIT)
        return outcome

    def _ask(self, command: EngineCommand) -> None:
        """As `_send`, of something that the child must answer."""
        self._watchdog.asked()
        self._send(command)

    def _send(self, command: EngineCommand) -> None:
        """Queue a command.

        Raises:
            UnavailableError: the child is gone.
            InvalidDataError: it has no form on the wire, or the child would not take it.
        """
        content = encode_engine_command(command)
        # A child ends itself on a command that it cannot read; one odd request must not do that.
        decode_engine_command(content)
        if not self._alive:
            raise self._farewell
        self._process.send(content)

    async def _listen(self) -> None:
        try:
            async for contents in self._process.contents():
                self._watchdog.heard()
                for content in contents:
                    self._take(decode_engine_report(content))
        except InvalidDataError as error:
            _log.warning("engine.malformed_report", what=error.what)
        finally:
            self._die()

    def _take(self, report: EngineReport) -> None:
        match report:
            case ModelLoading() | ModelReady():
                self._loading.put_nowait(report)
            case LoadFailed():
                self._alive = False  # it leaves now, which is no crash
                self._loading.put_nowait(report.error.to_error())
            case GenerationReport():
                self._in_flight.event(report.id, report.event)
            case EngineBusy():
                self._state = state_of(report)
            case _:
                self._in_flight.answer(report.ticket, outcome_of(report))

    def _die(self) -> None:
        """The pipe is closed or useless."""
        was_alive, self._alive = self._alive, False
        msg = "the engine stopped while it loaded the model"
        hint = "The file may be damaged, or the memory too small; the log says more."
        self._loading.put_nowait(UnavailableError(msg, hint))
        self._state = EngineState()
        self._watchdog.stop()
        self._in_flight.fail(self._farewell)
        if was_alive:  # who was told to leave finishes what it writes to disk
            self._process.kill()
            self._process.crashed = True
            self._on_death(self)

    def _give_up(self) -> None:
        """It is hung: its death is then like any other."""
        _log.warning("engine.silent", pid=self.pid)
        self._process.kill()
