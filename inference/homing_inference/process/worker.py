"""The child process in which a model runs: `python -m homing_inference.process.worker FD`.

`FD` is one end of a socket pair that the daemon keeps the other end of. Frames of
`homing_proto.codec.engine` go both ways. The child leaves when the socket closes, which is what the
daemon's death looks like from here. Two threads: this one reads commands, the other owns
the model and does what was asked.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import HomingError
from homing_core.generation import Failed
from homing_proto.codec.engine import LoadFailed, LoadModel, ModelLoading, ModelReady

from homing_inference.formats.select import choose
from homing_inference.llama.model import LoadedModel
from homing_inference.process.model_thread import ModelThread
from homing_inference.process.pipe import Pipe, leave
from homing_inference.scheduler.opening import open_scheduler
from homing_inference.scheduler.settings import EngineSettings

if TYPE_CHECKING:
    from structlog.typing import EventDict

    from homing_inference.scheduler.scheduler import Scheduler

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

EXIT_CLOSED: Final = 0
"""The daemon hung up."""
EXIT_USAGE: Final = 2
EXIT_MALFORMED: Final = 65
"""The daemon sent what is not a command."""
EXIT_NOT_LOADED: Final = 66
"""The model could not be loaded; the report before said why."""
EXIT_BROKEN: Final = 70
"""A bug of ours; the log says where."""

_LEAVE_SECONDS: Final = 3.0
"""For finishing what is being written to disk."""
_PROGRESS_STEP: Final = 0.02
_PR_SET_PDEATHSIG: Final = 1


def run_model(pipe: Pipe, thread: ModelThread, load: LoadModel) -> None:
    """Load the model, then do what is asked until the end; the whole of the model's thread."""
    try:
        try:
            scheduler, ready = _open(pipe, load)
        except HomingError as error:
            pipe.send(LoadFailed(Failed.from_error(error)))
            leave(EXIT_NOT_LOADED)
        pipe.send(ready)
        thread.serve(scheduler)
    except BaseException:  # noqa: BLE001  # logged; without this thread the process is of no use
        _log.exception("engine.broken")
        leave(EXIT_BROKEN)


def _open(pipe: Pipe, load: LoadModel) -> tuple[Scheduler, ModelReady]:
    """Raises `HomingError` for what cannot be loaded."""
    reported = 0.0

    def progress(share: float) -> None:
        nonlocal reported
        if share - reported >= _PROGRESS_STEP:
            reported = share
            pipe.send(ModelLoading(share))

    model = LoadedModel(Path(load.path), gpu_layers=load.gpu_layers, on_progress=progress)
    facts = model.facts
    chat = choose(facts.template, facts.bos, facts.eos, facts.architecture)
    scheduler = open_scheduler(model, chat, _settings(load))
    ready = ModelReady(
        quantization=facts.quantization,
        context_tokens=scheduler.context_tokens,
        chat_format=chat.name,
        can_think=chat.can_think,
        architecture=facts.architecture,
        max_sequences=scheduler.max_sequences,
    )
    return scheduler, ready


def _settings(load: LoadModel) -> EngineSettings:
    return EngineSettings(
        context_tokens=load.context_tokens,
        threads=load.threads,
        max_sequences=load.max_sequences,
        cache_tokens=load.cache_tokens,
        file_sha256=load.file_sha256,
        state_folder=Path(load.state_folder) if load.state_folder else None,
        state_bytes=load.state_bytes,
        checkpoint_bytes=load.checkpoint_bytes,
        max_waiting=load.max_waiting,
        adapters=tuple((name, Path(path)) for name, path in load.adapters),
        cores=load.cores,
    )


def serve(connection: socket.socket) -> int:
    """Speak with the daemon until it hangs up; gives the exit status."""
    pipe = Pipe(connection)
    thread = ModelThread(pipe.send)
    loading = False
    try:
        for command in pipe.commands():
            if loading:
                thread.take(command)
            elif isinstance(command, LoadModel):
                loading = True
                threading.Thread(
                    target=run_model, args=(pipe, thread, command), daemon=True
                ).start()
            else:
                _log.error("engine.first_command_is_not_load")
                return EXIT_MALFORMED
    except HomingError as error:
        _log.error("engine.malformed_command", what=error.what)
        return EXIT_MALFORMED
    thread.stop(_LEAVE_SECONDS)
    return EXIT_CLOSED


def main() -> None:
    """Start from the command line."""
    _die_with_parent()
    _configure_logs()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the daemon, which then hangs up
    try:
        connection = socket.socket(fileno=int(sys.argv[1]))
    except (IndexError, ValueError, OSError):
        sys.stderr.write("an engine's process is started by a daemon, with a socket's number\n")
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
