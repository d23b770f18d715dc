"""One life of an engine's child process, seen from the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import socket
import sys
from collections import deque
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import ConflictError, HomingError, InvalidDataError, UnavailableError
from homing_core.generation import Done, Failed
from homing_proto.codec.engine import (
    CancelGeneration,
    GenerationReport,
    LoadFailed,
    ModelLoading,
    ModelReady,
    PrefixWarmed,
    StartGeneration,
    WarmFailed,
    WarmPrefix,
    decode_engine_command,
    decode_engine_report,
    encode_engine_command,
)
from homing_proto.frames import FrameReader, frame

from homing_inference.engine import WarmedPrefix

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Callable, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec
    from homing_proto.codec.engine import EngineCommand, EngineReport, LoadModel

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

_READ_BYTES: Final = 1 << 16
_STOP_SECONDS: Final = 5.0
_MAX_LINE: Final = 2000
_KEPT_LINES: Final = 3


def _stopped() -> UnavailableError:
    return UnavailableError("the engine stopped; it is being restarted", "Ask again.")


def _closed() -> UnavailableError:
    return UnavailableError("the engine was closed", "Start it again.")


class EngineChild:
    """A running child with its model loaded. Made by `start`; belongs to one event loop."""

    def __init__(
        self,
        process: Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_death: Callable[[EngineChild], None],
    ) -> None:
        """Begin to listen; use `start` instead."""
        self._process = process
        self._reader = reader
        self._writer = writer
        self._on_death = on_death
        self._alive = True
        self._died = False
        self._farewell = _stopped()
        """What those who wait are told when it is gone."""
        self._loading: asyncio.Queue[float | ModelReady | HomingError] = asyncio.Queue()
        self._streams: dict[GenerationId, asyncio.Queue[GenerationEvent]] = {}
        self._ending: dict[GenerationId, asyncio.Event] = {}
        """Generations that nobody reads any more but whose last event has not come."""
        self._tickets = itertools.count(1)
        self._warming: dict[int, asyncio.Future[WarmedPrefix]] = {}
        self._listening = asyncio.create_task(self._listen())
        self._logging = asyncio.create_task(self._pass_on_output())

    @classmethod
    async def start(
        cls,
        load: LoadModel,
        on_death: Callable[[EngineChild], None],
        *,
        silence_s: float,
        on_progress: Callable[[float], None],
    ) -> tuple[EngineChild, ModelReady]:
        """Start a process and let it load a model.

        Args:
            load: what to load.
            on_death: called once, when the child is gone without having been told to.
            silence_s: seconds without progress after which loading counts as hung.
            on_progress: called with a share in [0, 1].

        Raises:
            HomingError: the model cannot be loaded; see `LoadedModel`.
            UnavailableError: the child stopped or fell silent while loading.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            ours.setblocking(False)  # noqa: FBT003  # the method takes nothing else
            reader, writer = await asyncio.open_connection(sock=ours)
            try:
                process = await spawn_worker(theirs.fileno())
            except OSError as error:
                writer.close()
                msg = "the system does not let an engine's process start"
                raise UnavailableError(msg, "Close other programs and try again.") from error
        child = cls(process, reader, writer, on_death)
        try:
            ready = await child._load(load, silence_s, on_progress)
        except BaseException:
            await child.stop()
            raise
        return child, ready

    @property
    def pid(self) -> int:
        """Process number."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._alive

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """The events of one generation; closing the generator cancels it."""
        while request.id in self._ending:
            await self._ending[request.id].wait()
        if request.id in self._streams:
            msg = "a generation with this id is already running"
            yield Failed.from_error(ConflictError(msg, "Use a fresh id."))
            return
        events: asyncio.Queue[GenerationEvent] = asyncio.Queue()
        try:
            self._send(StartGeneration(request))
        except HomingError as error:
            yield Failed.from_error(error)
            return
        self._streams[request.id] = events
        try:
            while True:
                event = await events.get()
                yield event
                if isinstance(event, Done | Failed):
                    return
        finally:
            if self._streams.pop(request.id, None) is not None:
                self._ending[request.id] = asyncio.Event()
                with contextlib.suppress(HomingError):
                    self._send(CancelGeneration(request.id))

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """See `Engine.warm`."""
        ticket = next(self._tickets)
        self._send(WarmPrefix(ticket, tuple(messages), tuple(tools), thinking))
        future: asyncio.Future[WarmedPrefix] = asyncio.get_running_loop().create_future()
        self._warming[ticket] = future
        try:
            return await future
        finally:
            self._warming.pop(ticket, None)

    async def stop(self) -> None:
        """End the process and wait until it is gone; harmless when repeated."""
        if self._alive:
            self._farewell = _closed()
        was_alive, self._alive = self._alive, False
        self._writer.close()  # the child leaves when it sees that
        try:
            async with asyncio.timeout(_STOP_SECONDS if was_alive else 0):
                await self._process.wait()
        except TimeoutError:
            self._kill()
            await self._process.wait()
        await asyncio.gather(self._listening, self._logging, return_exceptions=True)
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

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
                case _:
                    on_progress(news)

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
        self._writer.write(frame(content))

    async def _listen(self) -> None:
        frames = FrameReader()
        try:
            while data := await self._reader.read(_READ_BYTES):
                for content in frames.feed(data):
                    self._take(decode_engine_report(content))
        except InvalidDataError as error:
            _log.warning("engine.malformed_report", what=error.what)
        except OSError:
            pass  # it is gone, as below
        finally:
            self._die()

    def _take(self, report: EngineReport) -> None:
        match report:
            case ModelLoading():
                self._loading.put_nowait(report.progress)
            case ModelReady():
                self._loading.put_nowait(report)
            case LoadFailed():
                self._alive = False  # it leaves now, which is no crash
                self._loading.put_nowait(report.error.to_error())
            case GenerationReport():
                self._take_event(report.id, report.event)
            case PrefixWarmed():
                self._answer(report.ticket, WarmedPrefix(report.tokens, report.sha256))
            case WarmFailed():
                self._answer(report.ticket, report.error.to_error())

    def _take_event(self, identity: GenerationId, event: GenerationEvent) -> None:
        last = isinstance(event, Done | Failed)
        events = self._streams.get(identity)
        if events is not None:
            events.put_nowait(event)
            if last:
                del self._streams[identity]
        elif last and identity in self._ending:
            self._ending.pop(identity).set()

    def _answer(self, ticket: int, outcome: WarmedPrefix | HomingError) -> None:
        future = self._warming.pop(ticket, None)
        if future is None or future.done():
            return
        if isinstance(outcome, HomingError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def _die(self) -> None:
        """The pipe is closed or useless: end whatever waits for it."""
        was_alive, self._alive = self._alive, False
        self._kill()
        loading = UnavailableError(
            "the engine stopped while it loaded the model",
            "The file may be damaged, or the memory too small; the log says more.",
        )
        self._loading.put_nowait(loading)
        for identity in tuple(self._streams):
            self._take_event(identity, Failed.from_error(self._farewell))
        for ended in self._ending.values():
            ended.set()
        self._ending.clear()
        for ticket in tuple(self._warming):
            self._answer(ticket, self._farewell)
        if was_alive:
            self._died = True
            self._on_death(self)

    def _kill(self) -> None:
        # Not `Process.kill`: it looks first whether the process is gone, and so takes its exit
        # status away from the event loop, which waits for it in a thread.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    async def _pass_on_output(self) -> None:
        """What the child and native code print goes to the log, never to a terminal."""
        output = self._process.stdout
        if output is None:
            return
        last: deque[str] = deque(maxlen=_KEPT_LINES)
        rest = b""
        while data := await output.read(_READ_BYTES):
            *lines, rest = (rest + data).split(b"\n")
            rest = rest[-_MAX_LINE:]
            for line in lines:
                last.append(line[:_MAX_LINE].decode("utf-8", "replace"))
                _log.debug("engine.output", pid=self.pid, what=last[-1])
        status = await self._process.wait()
        entry = _log.warning if self._died else _log.debug
        entry("engine.ended", pid=self.pid, status=status, what=" | ".join(last))


async def spawn_worker(descriptor: int) -> Process:
    """Start the process that speaks on an inherited socket; raises `OSError`."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "homing_inference.worker", str(descriptor)),
        pass_fds=(descriptor,),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # Its own session: Ctrl-C in a terminal reaches the daemon, which ends the child.
        start_new_session=True,
    )
