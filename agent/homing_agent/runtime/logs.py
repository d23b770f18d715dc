"""Logs: one JSON object a line, to standard error or a file, without prompts or secrets.

Three rules keep what people say out of a log, whatever a caller does:

- the text of an entry from our own packages is ours, and only keys in `SAFE_KEYS` pass; other keys
  are named under `dropped`, without their values;
- an exception is its type and the places in the code; its text appears only if it is a
  `HomingError`, which never holds a prompt or a secret;
- of other libraries' entries only the logger, the place and the exception's type are kept.

`HOMING_DEBUG=1` lifts the last two for whoever hunts a bug in their own process.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING, cast

import structlog
from homing_core.errors import HomingError, UsageError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from pathlib import Path

    from structlog.typing import EventDict, WrappedLogger

OWN_LOGGERS = (
    "homing_core",
    "homing_proto",
    "homing_crypto",
    "homing_discovery",
    "homing_inference",
    "homing_agent",
    "homing_node",
    "homing_client",
)
DEBUG_VARIABLE = "HOMING_DEBUG"
LEVELS = ("debug", "info", "warning", "error")

SAFE_KEYS = frozenset(
    {
        "address",
        "addresses",
        "bytes",
        "code",
        "count",
        "data_dir",
        "device",
        "dropped",
        "error_type",
        "event",
        "exception",
        "generation",
        "hint",
        "host",
        "interfaces",
        "job",
        "left",
        "level",
        "limit",
        "logger",
        "method",
        "model",
        "models",
        "ms",
        "name",
        "node",
        "percent",
        "pid",
        "port",
        "program",
        "reason",
        "request_id",
        "role",
        "running",
        "scopes",
        "seconds",
        "seq",
        "serving",
        "signal",
        "socket",
        "stand_in",
        "state",
        "status",
        "timestamp",
        "tokens",
        "tool",
        "total",
        "version",
        "waiting",
        "what",
        "where",
    }
)
_MOST_CHARS = 300
_MOST_FRAMES = 12
_MOST_FILE_BYTES = 5 << 20
_OLD_FILES = 2


def debugging() -> bool:
    """Whether the user asked for everything with `HOMING_DEBUG=1`."""
    return os.environ.get(DEBUG_VARIABLE, "") not in {"", "0"}


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A module's logger; `name` is its `__name__`. Entries are called like `pairing.opened`."""
    logger: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(name)
    return logger


def configure_logging(level: str = "info", file: Path | None = None) -> None:
    """Send every log of this process to `file`, or to standard error.

    Args:
        level: one of `LEVELS`; other libraries speak from `warning` on.
        file: created for this user alone, turned over at 5 MiB, two old ones kept.

    Raises:
        UsageError: the file cannot be opened.
    """
    handler: logging.Handler
    if file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        try:
            os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            handler = RotatingFileHandler(
                file, maxBytes=_MOST_FILE_BYTES, backupCount=_OLD_FILES, encoding="utf-8"
            )
        except OSError as error:
            msg = f"the log {file} cannot be opened: {error.strerror or 'the system refused it'}"
            raise UsageError(msg, "Check the data directory's owner and mode.") from error
    _install(handler, level)


def silence_logging() -> None:
    """Drop every log of this process: a command that only prints its result needs none."""
    _install(logging.NullHandler(), "error")


def _install(handler: logging.Handler, level: str) -> None:
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, _reduce_foreign],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _reduce_exception,
                keep_safe_keys,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
        )
    )
    root = logging.getLogger()
    for old in tuple(root.handlers):
        if getattr(old, "homing", False):
            root.removeHandler(old)
            old.close()
    handler.homing = True  # type: ignore[attr-defined]  # ours, so that a second call replaces it
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for own in OWN_LOGGERS:
        logging.getLogger(own).setLevel(getattr(logging, level.upper()))


def keep_safe_keys(_logger: WrappedLogger, _method: str, entry: EventDict) -> EventDict:
    """Drop what is not known to be harmless, and cap what is."""
    kept: dict[str, object] = {}
    dropped: list[str] = []
    for key, value in entry.items():
        if key in SAFE_KEYS:
            kept[key] = _capped(value)
        else:
            dropped.append(clean_label(key))
    if dropped:
        kept["dropped"] = sorted(dropped)
    return kept


def _capped(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        items = cast("list[object] | tuple[object, ...]", value)
        return [_capped(item) for item in items[:_MOST_FRAMES]]
    return clean_label(str(value), _MOST_CHARS, "")


def _reduce_foreign(_logger: WrappedLogger, _method: str, entry: EventDict) -> EventDict:
    record = entry["_record"]
    if record.name.partition(".")[0] in OWN_LOGGERS:
        return entry
    entry["where"] = f"{record.module}:{record.lineno}"
    if not debugging():
        entry["event"] = "a library's entry"
    return entry


def _reduce_exception(_logger: WrappedLogger, _method: str, entry: EventDict) -> EventDict:
    info: object = entry.pop("exc_info", None)
    if info is True:
        info = sys.exc_info()
    error = cast("tuple[object, ...]", info)[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        entry["exception"] = describe_exception(error)
    entry.pop("stack_info", None)
    return entry


def describe_exception(error: BaseException) -> list[str]:
    """An exception as lines that hold no data: types, places, and our own errors' texts."""
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES + 2 :]
    lines = [f"{_short(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
    says = debugging() or isinstance(error, HomingError)
    lines.append(f"{type(error).__name__}: {error}" if says else type(error).__name__)
    if error.__cause__ is not None:
        lines.append(f"caused by {type(error.__cause__).__name__}")
    return lines


def _short(filename: str) -> str:
    """Package and module of a source file; the rest is about somebody's machine."""
    return "/".join(filename.split("/")[-2:])
