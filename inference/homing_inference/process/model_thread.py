"""The thread of a child process that owns the model: takes commands, steps the scheduler, reports.

Commands wait in an inbox that is emptied between steps, so that a cancelled request is gone before
the next token is computed.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import structlog
from homing_core.errors import HomingError, InvalidDataError
from homing_core.generation import Failed
from homing_proto.codec.engine import (
    CancelGeneration,
    EmbedFailed,
    EmbedTexts,
    EngineBusy,
    EngineReport,
    ForgetOwner,
    GenerationReport,
    LoadModel,
    PrefixWarmed,
    ScoreFailed,
    ScoreTools,
    StartGeneration,
    TextsEmbedded,
    ToolsScored,
    WarmFailed,
    WarmPrefix,
)

from homing_inference.machine.resident_memory import resident_bytes
from homing_inference.process.busy_reports import BusyReports

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec
    from homing_proto.codec.engine import EngineCommand

    from homing_inference.engine import EngineState, WarmedPrefix

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

T = TypeVar("T")

_STALLED_S: Final = 0.05
"""How long to wait where something is asked but nothing can be done, as with a full machine."""


class Steps(Protocol):
    """Of a scheduler, what its thread needs; see `Scheduler`. No method raises `HomingError`."""

    @property
    def state(self) -> EngineState:
        """How busy it is."""
        ...

    def submit(
        self,
        request: GenerateRequest,
        sink: Callable[[GenerationEvent], None],
        *,
        taken_at: float | None = None,
    ) -> None:
        """Take a request."""
        ...

    def warm(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        thinking: Thinking,
        done: Callable[[WarmedPrefix | HomingError], None],
    ) -> None:
        """Take a prefix to pin."""
        ...

    def score(
        self, request: ScoreRequest, done: Callable[[ToolScores | HomingError], None]
    ) -> None:
        """Take tools to score."""
        ...

    def embed(
        self,
        texts: Sequence[str],
        done: Callable[[tuple[tuple[float, ...], ...] | HomingError], None],
    ) -> None:
        """Take texts to embed."""
        ...

    def cancel(self, id: GenerationId) -> None:  # noqa: A002  # as everywhere
        """End a generation."""
        ...

    def forget(self, owner: str) -> None:
        """Drop the states of conversations that this owner left."""
        ...

    def step(self) -> bool:
        """Do the next thing; False if there was none."""
        ...

    def close(self) -> None:
        """End everything."""
        ...


class ModelThread:
    """The inbox, and the loop that serves it.

    Args:
        send: takes reports to the daemon; raises `InvalidDataError` for what cannot be sent.
        clock: monotonic seconds.
    """

    def __init__(
        self, send: Callable[[EngineReport], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Nothing is asked yet."""
        self._send = send
        self._clock = clock
        self._inbox: queue.SimpleQueue[tuple[EngineCommand | None, float]] = queue.SimpleQueue()
        self._reports = BusyReports()
        self._serving = False
        self._stopped = False
        self._ended = threading.Event()

    def take(self, command: EngineCommand) -> None:
        """A command came; safe from any thread."""
        self._inbox.put((command, self._clock()))

    def stop(self, patience_s: float) -> None:
        """Nothing more will be asked: end what runs, finish what is being written to disk.

        Returns as soon as that is done, or nothing was served yet, or after `patience_s` seconds.
        """
        self._inbox.put((None, self._clock()))
        if self._serving:
            self._ended.wait(patience_s)

    def serve(self, scheduler: Steps) -> None:
        """Do what is asked until `stop`; belongs to the thread that owns the model."""
        self._serving = True
        while not self._stopped:
            self.turn(scheduler)
        scheduler.close()
        self._ended.set()

    def turn(self, scheduler: Steps) -> None:
        """Take what came, do one thing, and wait if there was nothing to do."""
        while not self._inbox.empty():
            self._obey(scheduler, *self._inbox.get())
        if self._stopped:
            return
        worked = scheduler.step()
        patience_s = self._report(scheduler.state)
        if not worked:
            with contextlib.suppress(queue.Empty):
                self._obey(scheduler, *self._inbox.get(timeout=patience_s))

    def _report(self, state: EngineState) -> float | None:
        """Say how busy it is if that is due; how long to wait if there is nothing to do."""
        now = self._clock()
        if self._reports.wait_s(state, now) == 0:
            self._send(_busy(state))
            self._reports.said(state, now)
        return _STALLED_S if state.running or state.waiting else self._reports.wait_s(state, now)

    def _obey(self, scheduler: Steps, command: EngineCommand | None, taken_at: float) -> None:
        match command:
            case None:
                self._stopped = True
            case StartGeneration():
                sink = self._sink(command.request.id)
                scheduler.submit(command.request, sink, taken_at=taken_at)
            case CancelGeneration():
                scheduler.cancel(command.id)
            case WarmPrefix():
                done = self._end_of(command.ticket, _warmed, WarmFailed)
                scheduler.warm(command.messages, command.tools, command.thinking, done)
            case ScoreTools():
                scheduler.score(
                    command.request, self._end_of(command.ticket, ToolsScored, ScoreFailed)
                )
            case EmbedTexts():
                scheduler.embed(
                    command.texts, self._end_of(command.ticket, TextsEmbedded, EmbedFailed)
                )
            case ForgetOwner():
                scheduler.forget(command.owner)
            case LoadModel():
                _log.warning("engine.loaded_already")

    def _sink(self, identity: GenerationId) -> Callable[[GenerationEvent], None]:
        """Sends a generation's events; after one that has no form on the wire, nothing more."""
        ended = False

        def take(event: GenerationEvent) -> None:
            nonlocal ended
            if ended:
                return
            try:
                self._send(GenerationReport(identity, event))
            except InvalidDataError as error:
                ended = True
                self._send(GenerationReport(identity, Failed.from_error(error)))
                self.take(CancelGeneration(identity))  # not now: the scheduler is in the middle

        return take

    def _end_of(
        self,
        ticket: int,
        success: Callable[[int, T], EngineReport],
        failure: Callable[[int, Failed], EngineReport],
    ) -> Callable[[T | HomingError], None]:
        """Sends what came of a ticket."""

        def done(outcome: T | HomingError) -> None:
            try:
                if not isinstance(outcome, HomingError):
                    self._send(success(ticket, outcome))
                    return
                error = outcome
            except InvalidDataError as unsendable:
                error = unsendable
            self._send(failure(ticket, Failed.from_error(error)))

        return done


def _warmed(ticket: int, prefix: WarmedPrefix) -> PrefixWarmed:
    return PrefixWarmed(ticket, prefix.tokens, prefix.sha256)


def _busy(state: EngineState) -> EngineBusy:
    return EngineBusy(
        running=state.running,
        waiting=state.waiting,
        decode_tokens_per_second=state.decode_tokens_per_second,
        prefill_tokens_per_second=state.prefill_tokens_per_second,
        memory_bytes=resident_bytes(),
        warm=tuple((prefix.tokens, prefix.sha256) for prefix in state.warm),
    )
