"""The child process in which a model runs: `python -m homing_inference.worker FD`.

`FD` is one end of a socket pair that the daemon keeps the other end of. Frames of
`homing_proto.codec.engine` go both ways. The child leaves at once when the socket closes, which is
what the daemon's death looks like from here. Two threads: this one reads commands, the other owns
the model and runs what was asked, persons before jobs.
"""

from __future__ import annotations

import ctypes
import itertools
import logging
import os
import queue
import signal
import socket
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import structlog
from homing_core.errors import HomingError, InvalidDataError
from homing_core.generation import Failed, Priority
from homing_proto.codec.engine import (
    CancelGeneration,
    GenerationReport,
    LoadFailed,
    LoadModel,
    ModelLoading,
    ModelReady,
    PrefixWarmed,
    StartGeneration,
    WarmFailed,
    WarmPrefix,
    decode_engine_command,
    encode_engine_report,
)
from homing_proto.frames import FrameReader, frame

from homing_inference.formats.select import choose
from homing_inference.llama.model import LoadedModel
from homing_inference.llama.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_core.generation import GenerateRequest
    from homing_core.ids import GenerationId
    from homing_proto.codec.engine import EngineCommand, EngineReport
    from structlog.typing import EventDict

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

EXIT_CLOSED: Final = 0
EXIT_USAGE: Final = 2
EXIT_MALFORMED: Final = 65
"""The daemon sent what is not a command."""
EXIT_NOT_LOADED: Final = 66
"""The model could not be loaded; the report before said why."""
EXIT_BROKEN: Final = 70
"""A bug of ours; the log says where."""

_READ_BYTES: Final = 1 << 16
_PROGRESS_STEP: Final = 0.02
_PR_SET_PDEATHSIG: Final = 1
_RANK: Final = {Priority.INTERACTIVE: 0, Priority.JOB: 1}


class Pipe:
    """The socket to the daemon. Sending is safe from any thread."""

    def __init__(self, connection: socket.socket) -> None:
        """Take over `connection`."""
        self._connection = connection
        self._sending = threading.Lock()

    def send(self, report: EngineReport) -> None:
        """Send a report; leaves the process if nobody is there to read it."""
        content = frame(encode_engine_report(report))
        try:
            with self._sending:
                self._connection.sendall(content)
        except OSError:
            leave(EXIT_CLOSED)

    def commands(self) -> Iterator[EngineCommand]:
        """The commands, until the socket closes.

        Raises:
            InvalidDataError: what came is not a command.
        """
        reader = FrameReader()
        while True:
            try:
                data = self._connection.recv(_READ_BYTES)
            except OSError:
                return
            if not data:
                return
            for content in reader.feed(data):
                yield decode_engine_command(content)


@dataclass(order=True)
class _Job:
    """Something for the model's thread; the lowest rank and number first."""

    rank: int
    number: int
    command: StartGeneration | WarmPrefix = field(compare=False)
    taken_at: float = field(compare=False, default_factory=time.monotonic)


class Worker:
    """What both threads share.

    Args:
        pipe: to the daemon.
    """

    def __init__(self, pipe: Pipe) -> None:
        """Nothing is asked yet."""
        self._pipe = pipe
        self._jobs: queue.PriorityQueue[_Job] = queue.PriorityQueue()
        self._numbers = itertools.count()
        self._cancelled: set[GenerationId] = set()
        self._waiting: set[GenerationId] = set()

    def take(self, command: EngineCommand) -> None:
        """One command from the daemon."""
        match command:
            case StartGeneration():
                self._waiting.add(command.request.id)
                self._put(_RANK[command.request.priority], command)
            case WarmPrefix():
                self._put(_RANK[Priority.JOB], command)
            case CancelGeneration():
                if command.id in self._waiting:
                    self._cancelled.add(command.id)
            case LoadModel():
                _log.warning("engine.loaded_already")

    def run(self, load: LoadModel) -> None:
        """Load the model, then do what is asked, for ever; the model's thread."""
        try:
            self._run(load)
        except HomingError as error:
            self._pipe.send(LoadFailed(Failed.from_error(error)))
            leave(EXIT_NOT_LOADED)
        except BaseException:  # noqa: BLE001  # logged; without this thread the process is of no use
            _log.exception("engine.broken")
            leave(EXIT_BROKEN)

    def _run(self, load: LoadModel) -> None:
        scheduler = self._load(load)
        while True:
            job = self._jobs.get()
            match job.command:
                case StartGeneration():
                    self._generate(scheduler, job.command.request, job.taken_at)
                case WarmPrefix():
                    self._warm(scheduler, job.command)

    def _put(self, rank: int, command: StartGeneration | WarmPrefix) -> None:
        self._jobs.put(_Job(rank, next(self._numbers), command))

    def _load(self, load: LoadModel) -> Scheduler:
        reported = 0.0

        def progress(share: float) -> None:
            nonlocal reported
            if share - reported >= _PROGRESS_STEP:
                reported = share
                self._pipe.send(ModelLoading(share))

        model = LoadedModel(Path(load.path), gpu_layers=load.gpu_layers, on_progress=progress)
        facts = model.facts
        chat = choose(facts.template, facts.bos, facts.eos, facts.architecture)
        scheduler = Scheduler(model, chat, context_tokens=load.context_tokens, threads=load.threads)
        self._pipe.send(
            ModelReady(
                quantization=facts.quantization,
                context_tokens=scheduler.context_tokens,
                chat_format=chat.name,
                can_think=chat.can_think,
                architecture=facts.architecture,
            )
        )
        return scheduler

    def _generate(self, scheduler: Scheduler, request: GenerateRequest, taken_at: float) -> None:
        events = scheduler.generate(
            request, taken_at=taken_at, cancelled=lambda: request.id in self._cancelled
        )
        try:
            for event in events:
                self._pipe.send(GenerationReport(request.id, event))
        except InvalidDataError as error:  # an event that has no form on the wire
            self._pipe.send(GenerationReport(request.id, Failed.from_error(error)))
        self._waiting.discard(request.id)
        self._cancelled.discard(request.id)

    def _warm(self, scheduler: Scheduler, command: WarmPrefix) -> None:
        try:
            warmed = scheduler.warm(command.messages, command.tools, command.thinking)
        except HomingError as error:
            self._pipe.send(WarmFailed(command.ticket, Failed.from_error(error)))
        else:
            self._pipe.send(PrefixWarmed(command.ticket, warmed.tokens, warmed.sha256))


def leave(status: int) -> NoReturn:
    """End the process at once, whatever native code is doing in the other thread."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def serve(connection: socket.socket) -> int:
    """Speak with the daemon until it hangs up; gives the exit status."""
    pipe = Pipe(connection)
    worker = Worker(pipe)
    model_thread: threading.Thread | None = None
    try:
        for command in pipe.commands():
            if model_thread is not None:
                worker.take(command)
            elif isinstance(command, LoadModel):
                model_thread = threading.Thread(target=worker.run, args=(command,), daemon=True)
                model_thread.start()
            else:
                _log.error("engine.first_command_is_not_load")
                return EXIT_MALFORMED
    except HomingError as error:
        _log.error("engine.malformed_command", what=error.what)
        return EXIT_MALFORMED
    return EXIT_CLOSED


def main() -> None:
    """Start from the command line."""
    _die_with_parent()
    _configure_logs()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the daemon, which then hangs up
    try:
        connection = socket.socket(fileno=int(sys.argv[1]))
    except (IndexError, ValueError, OSError):
        sys.stderr.write("homing_inference.worker is started by a daemon, with a socket's number\n")
        leave(EXIT_USAGE)
    leave(serve(connection))


def _die_with_parent() -> None:
    """Ask Linux to end this process when the daemon's does, even while native code computes."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _configure_logs() -> None:
    """One JSON object a line to standard error, which the daemon reads."""
    level = logging.DEBUG if os.environ.get("HOMING_DEBUG", "") not in {"", "0"} else logging.INFO
    structlog.configure(
        processors=[
            structlog.stdlib.add_log_level,
            _describe_exception,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _describe_exception(_logger: object, _method: str, entry: EventDict) -> EventDict:
    """An exception as its type and places: its text could repeat a prompt."""
    if entry.pop("exc_info", None):
        kind, _, trace = sys.exc_info()
        places = [
            f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(trace)
        ]
        entry["what"] = " < ".join([kind.__name__ if kind else "", *reversed(places)])
    return entry


if __name__ == "__main__":
    main()
