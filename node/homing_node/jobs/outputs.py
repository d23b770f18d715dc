"""What a tool gave back, taken as what anybody may have written: checked, and its files held."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_agent.tool import OutputFile, ToolOutput
from homing_core.errors import HomingError, InternalError, InvalidDataError, TooLongError
from homing_core.jobs import JobResult, ResultFile
from homing_core.provenance import Sensitivity, Trust, strictest
from homing_crypto.result_form import MAX_FILES
from homing_crypto.result_names import plain_media_type, plain_names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from homing_core.jobs import JobProgress

    from homing_node.jobs.store import JobRow

RESULT_FILES: Final = "files"
"""Folder of a job's own for what its result is made of; what else lies there may be removed."""
_SOURCE_CHARS: Final = 200
_MOST_TOLD: Final = 20
_MINUTE_S: Final = 60.0
_HOUR_S: Final = 3600.0


def result_of(  # noqa: PLR0913  # each is a part of its own
    row: JobRow,
    output: object,
    folder: Path,
    *,
    trust: Trust,
    most_bytes: int,
    kept: Path,
) -> tuple[JobResult, dict[str, Path]]:
    """The result that a tool's output makes; its files are moved to `kept`.

    A file that cannot be part of it costs that file, not the result: the tool has done its work.

    Args:
        row: the job.
        output: from the tool.
        folder: where its files must lie.
        trust: the tool's own class, where the output says nothing.
        most_bytes: text and files together.
        kept: folder for the files.

    Raises:
        InvalidDataError: it is no output.
        TooLongError: its text alone is too large.
    """
    if not isinstance(output, ToolOutput) or not _typed(output):
        msg = f"the tool {row.tool.name} gave back something that is no result"
        raise InvalidDataError(msg, "Tell whoever made it.")
    content, say = _in_utf8(output.content), _in_utf8(output.say)
    room = most_bytes - len(content.encode()) - len(say.encode())
    if room < 0:
        msg = f"the result of {row.tool.name} is larger than this node keeps"
        raise TooLongError(msg, "Ask for less, or ask the node's owner to allow more.")
    files: list[ResultFile] = []
    paths: dict[str, Path] = {}
    left_out: list[str] = []
    names = plain_names(file.name for file in output.files)
    for name, file in zip(names, output.files, strict=True):
        try:
            path, length = _checked(file, folder)
            if length > room or len(files) >= MAX_FILES:
                msg = "with it the result would be larger than this node keeps"
                raise TooLongError(msg)
            kept.mkdir(mode=0o700, exist_ok=True)
            paths[name] = kept / str(len(files))
            shutil.move(path, paths[name])
        except (HomingError, OSError) as error:
            paths.pop(name, None)
            why = error.what if isinstance(error, HomingError) else "it cannot be kept here"
            left_out.append(f"{name}: {why}")
        else:
            room -= length
            files.append(ResultFile(name, plain_media_type(file.media_type), length))
    made = JobResult(
        row.key.id,
        content=content,
        say=say,
        is_error=output.is_error,
        trust=output.trust or trust,
        sensitivity=strictest((output.sensitivity, row.sensitivity)),
        source=_in_utf8(output.source[:_SOURCE_CHARS]),
        files=tuple(files),
    )
    return without(made, left_out), paths


def without(result: JobResult, left_out: Sequence[str]) -> JobResult:
    """A result that says which files are no part of it, each with the reason."""
    if not left_out:
        return result
    more = f"\n… and {len(left_out) - _MOST_TOLD:,} more" if len(left_out) > _MOST_TOLD else ""
    told = "".join(f"\nleft out: {one}" for one in left_out[:_MOST_TOLD]) + more
    say = f"{result.say}{told}" if result.say else ""
    return replace(result, content=f"{result.content}{told}", say=say)


def kept_files(result: JobResult, kept: Path) -> dict[str, Path]:
    """Where the files of an earlier attempt's result lie."""
    return {file.name: kept / str(number) for number, file in enumerate(result.files)}


def failure_of(name: str, error: BaseException) -> HomingError:
    """What is said of whatever a tool raised."""
    if isinstance(error, HomingError):
        return error
    msg = f"the tool {name} failed ({type(error).__name__})"
    return InternalError(msg, "See the node's log, or tell whoever made the tool.")


def summary_of(word: str, seconds: float, progress: JobProgress | None, files: int) -> str:
    """One line on how a job went, with nothing of what it was about."""
    counted = ""
    if files:
        counted = f"{files} file{'s' if files > 1 else ''} made"
    elif progress is not None and progress.done and progress.unit.isalpha():
        counted = f"{progress.done:g} {progress.unit}"
    return f"{word} in {_length(seconds)}" + (f": {counted}" if counted else "")


def _length(seconds: float) -> str:
    if seconds < 1:
        return "under a second"
    if seconds < _MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < _HOUR_S:
        return f"{seconds // _MINUTE_S:.0f} min {seconds % _MINUTE_S:.0f} s"
    return f"{seconds // _HOUR_S:.0f} h {seconds % _HOUR_S // _MINUTE_S:.0f} min"


def _typed(output: ToolOutput) -> bool:
    """Whether its fields are what they should be: nothing has checked a tool of somebody else's."""
    return (
        all(is_a(text, str) for text in (output.content, output.say, output.source))
        and is_a(output.trust, Trust, type(None))
        and is_a(output.sensitivity, Sensitivity)
        and is_a(output.is_error, bool)
        and is_a(output.files, tuple)
        and all(
            is_a(file, OutputFile) and is_a(file.name, str) and is_a(file.media_type, str)
            for file in output.files
        )
    )


def _in_utf8(text: str) -> str:
    """Text without what UTF-8 has no form for."""
    return text.encode("utf-8", "replace").decode()


def is_a(value: object, *kinds: type) -> bool:
    """Whether a value is what its annotation says."""
    return isinstance(value, kinds)


def _checked(file: OutputFile, folder: Path) -> tuple[Path, int]:
    """A file of a tool's own, within its folder, and no link out of it."""
    try:
        path = file.path if file.path.is_absolute() else folder / file.path
        inside = path.parent.resolve(strict=True).is_relative_to(folder.resolve(strict=True))
        facts = os.lstat(path)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        msg = "a file of the result is not there"
        raise InvalidDataError(msg, "Tell whoever made the tool.") from error
    if not inside or not stat.S_ISREG(facts.st_mode):
        msg = "a file of the result is none of the tool's own"
        raise InvalidDataError(msg, "Tell whoever made the tool.")
    return path, facts.st_size
