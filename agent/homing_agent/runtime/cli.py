"""The edge of a command line: errors become one line and an exit status.

    0 done   1 failed   2 wrong usage   3 refused by policy   130 interrupted

A person reads the line on standard error. With `--json`, standard output gets the same as an object
(`event: "error"`). A stack trace appears only under `HOMING_DEBUG=1`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from typing import TYPE_CHECKING

import typer
from homing_core.errors import HomingError, InternalError, InvalidDataError, UsageError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

INTERRUPTED = 130
_MOST_CHARS = 2000
_PLAIN = (
    (re.compile(r"Input should be less than or equal to (\S+)"), r"it is at most \1"),
    (re.compile(r"Input should be less than (\S+)"), r"it is below \1"),
    (re.compile(r"Input should be greater than or equal to (\S+)"), r"it is at least \1"),
    (re.compile(r"Input should be greater than (\S+)"), r"it is above \1"),
    (re.compile(r"Input should be a valid integer[^.]*"), "it is a whole number"),
    (re.compile(r"Input should be a valid number[^.]*"), "it is a number"),
    (re.compile(r"Input should be a valid boolean[^.]*"), "it is yes or no"),
    (re.compile(r"Value error, "), ""),
)
"""What the library that reads options says, and how it reads better."""
_log_file: list[Path] = []


def quiet_libraries() -> None:
    """Keep C libraries from writing into the terminal; call it before gRPC is imported."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    os.environ.setdefault("GLOG_minloglevel", "3")
    # We only ever start children by exec, for which gRPC's fork handlers do harm and no good.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


def name_log_file(path: Path) -> None:
    """Say where the details of an unexpected error go from here on."""
    _log_file[:] = [path]


def run_app(app: typer.Typer, program: str, arguments: Sequence[str] | None = None) -> int:
    """Run a command line and give its exit status.

    Args:
        app: the commands.
        program: what it is called.
        arguments: what was typed; None takes the process's own.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    quiet_libraries()
    try:
        result = typer.main.get_command(app).main(given, program, standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except typer.TyperException as error:
        return _report_usage(error, program, given)
    except HomingError as error:
        report_error(error, program, as_json=wants_json(given))
        return error.exit_status
    except Exception as error:  # noqa: BLE001  # the last line of defence, logged below
        return _report_bug(error, program, given)
    return result if isinstance(result, int) else 0


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether `--json` was typed, even if the rest could not be read."""
    return (
        "--json" in arguments[: arguments.index("--")]
        if "--" in arguments
        else ("--json" in arguments)
    )


def report_error(error: HomingError, program: str, *, as_json: bool) -> None:
    """Print one line on standard error, and with `as_json` an object on standard output."""
    if as_json:
        print_json(
            {
                "event": "error",
                "code": error.code.value,
                "what": error.what,
                "hint": error.hint,
                "retryable": error.retryable,
                "exit_status": error.exit_status,
            }
        )
    text = str(error)
    line = text if text.startswith(f"{program} ") else f"{program}: {text}"
    typer.echo(clean_label(line, _MOST_CHARS), err=True)


@contextlib.contextmanager
def as_usage() -> Generator[None]:
    """What was typed and cannot be read is wrong usage, not damaged data.

    Raises:
        UsageError: in place of `InvalidDataError`.
    """
    try:
        yield
    except InvalidDataError as error:
        raise UsageError(error.what, error.hint) from error


def print_json(value: object) -> None:
    """Print one JSON object as one line, at once."""
    typer.echo(json.dumps(value, ensure_ascii=True))


def _report_usage(error: typer.TyperException, program: str, given: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    if not given or type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), err=True)
        return error.exit_code
    path = getattr(context, "command_path", program)
    what = clean_label(error.format_message(), _MOST_CHARS).rstrip(".")
    for library, ours in _PLAIN:
        what = library.sub(ours, what)
    what, asks, near = what.partition(". Did you mean ")
    hint = f"Did you mean {near.rstrip('?')}? See: {path} --help" if asks else f"See: {path} --help"
    report_error(UsageError(what, hint), program, as_json=wants_json(given))
    return UsageError.exit_status


def _report_bug(error: Exception, program: str, given: Sequence[str]) -> int:
    from homing_agent.runtime import logs  # noqa: PLC0415  # slow to import, and rarely needed

    if logs.debugging():
        import traceback  # noqa: PLC0415  # as above

        traceback.print_exception(error)
    hint = f"Set {logs.DEBUG_VARIABLE}=1 to see the details."
    if _log_file and _log_file[0].parent.is_dir():
        try:
            logs.configure_logging(file=_log_file[0])
            logs.get_logger(__name__).error("cli.unexpected", exc_info=error)
            hint = f"The details are in {_log_file[0]}"
        except HomingError:
            pass
    report_error(
        InternalError("something went wrong inside Homing", hint),
        program,
        as_json=wants_json(given),
    )
    return InternalError.exit_status
