"""What a call of an agent task gave, as it is kept in the task's notebook, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, error_from_code
from homing_core.provenance import Sensitivity, Trust

from homing_agent.tool import OutputFile, ToolOutput

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.tools import ToolSpec


def cut(output: ToolOutput, most: int) -> ToolOutput:
    """The output with at most so many characters for the model."""
    if len(output.content) <= most:
        return output
    return replace(output, content=f"{output.content[:most]}\n(cut after {most} characters)")


def output_to_json(output: ToolOutput, spec: ToolSpec, folder: Path | None) -> JsonObject:
    """An output; paths of files are kept within `folder`."""
    files = output.files if folder is not None else ()
    return {
        "content": output.content,
        "say": output.say,
        "untrusted": (output.trust or spec.output_trust) is not Trust.TRUSTED,
        "sensitivity": output.sensitivity.value,
        "source": output.source,
        "is_error": output.is_error,
        "files": [[_within(file.path, folder), file.name, file.media_type] for file in files],
    }


def _within(path: Path, folder: Path | None) -> str:
    inside = folder is not None and path.is_relative_to(folder)
    return str(path.relative_to(folder)) if folder is not None and inside else ""


def error_to_json(error: HomingError) -> JsonObject:
    """What a call raised."""
    return {"error": error.code.value, "what": error.what, "hint": error.hint}


def output_from_json(kept: JsonObject, folder: Path | None) -> ToolOutput | None:
    """What a call gave, or raise what it raised; None if that cannot be had any more."""
    match kept:
        case {"error": str(code), "what": str(what), "hint": str(hint)}:
            raise error_from_code(code, what, hint)
        case {"content": str(content), "sensitivity": str(sensitivity)}:
            files = _files_from_json(kept.get("files"), folder)
            lost = "" if files is not None else "\n(its files were lost when the node stopped)"
            return ToolOutput(
                content + lost,
                say=str(kept.get("say", "")),
                trust=Trust.TRUSTED if kept.get("untrusted") is False else Trust.UNTRUSTED,
                sensitivity=Sensitivity(sensitivity),
                source=str(kept.get("source", "")),
                files=files or (),
                is_error=kept.get("is_error") is True,
            )
        case _:
            return None


def _files_from_json(value: JsonValue, folder: Path | None) -> tuple[OutputFile, ...] | None:
    """Files of a call; None if they are not there any more."""
    found: list[OutputFile] = []
    for entry in value if isinstance(value, list | tuple) else ():
        match entry:
            case [str(path), str(name), str(media_type)]:
                if folder is None or not (folder / path).is_file():
                    return None
                found.append(OutputFile(folder / path, name, media_type))
            case _:
                return None
    return tuple(found)
