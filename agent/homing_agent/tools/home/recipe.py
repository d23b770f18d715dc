"""A command that the node's operator has written down, as a tool."""

from __future__ import annotations

import mimetypes
import os
import re
import shlex
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homing_core.errors import UnavailableError
from homing_core.jobs import JobProgress
from homing_core.labels import clean_label
from homing_core.provenance import Trust
from homing_core.tools import Place, ToolSpec
from homing_crypto.result_names import plain_names

from homing_agent.tool import OutputFile, ToolOutput
from homing_agent.tools.home.recipe_parameter import ParameterKind
from homing_agent.tools.home.recipe_run import Program, run_program
from homing_agent.tools.home.recipe_spec import OUT_FOLDER
from homing_agent.tools.home.recipe_values import HeldArgument, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from homing_core.canonical import JsonObject, JsonValue

    from homing_agent.tool import ToolContext
    from homing_agent.tools.home.recipe_parameter import Parameter
    from homing_agent.tools.home.recipe_run import Ended
    from homing_agent.tools.home.recipe_spec import Recipe

SERVER: Final = "recipe"
"""The group that recipes belong to."""
_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_PART: Final = "it may have done part of its work"
_MOST_FILES: Final = 64
_MOST_SEEN: Final = 10_000
_NOTE: Final = 120
_PERCENT: Final = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d{1,6})?)\s?%")
_X_OF_Y: Final = re.compile(r"(?<![\d./])(\d{1,12})\s?(?:/|of)\s?(\d{1,12})(?![\d./])")


class RecipeTool:
    """Runs a recipe.

    Args:
        recipe: what is to run.
    """

    def __init__(self, recipe: Recipe) -> None:
        """Describe it."""
        self._recipe = recipe
        self._spec = ToolSpec(
            name=recipe.name,
            description=recipe.description,
            parameters=_schema(recipe.parameters),
            effect=recipe.effect,
            place=Place.HOME,
            server=SERVER,
            idempotent=recipe.idempotent,
            output_trust=Trust.UNTRUSTED,
        )

    @property
    def spec(self) -> ToolSpec:
        """As in `Tool`."""
        return self._spec

    def unavailable(self) -> str | None:
        """Why it cannot run now: the program or a folder is not there."""
        if self._program() is None:
            return f"the program {clean_label(self._recipe.command[0], 80)} is not there"
        folders = [self._recipe.cwd, *(one.folder for one in self._recipe.parameters.values())]
        missing = next((one for one in folders if one is not None and not one.is_dir()), None)
        return None if missing is None else f"the folder {missing} is not there"

    def preview(self, arguments: JsonObject) -> str:
        """The command that would run, as a shell would be given it."""
        with filled(self._recipe, arguments, Path(f"{{{OUT_FOLDER}}}")) as parts:
            shown = [
                part if isinstance(part, str) else f"{part.before}{part.held.path}"
                for part in parts
            ]
        return f"runs {shlex.join([self._recipe.command[0], *shown])}"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`."""
        recipe, path = self._recipe, self._program()
        if path is None:
            msg = f"the program of {recipe.name} is not there"
            raise UnavailableError(msg, "Its owner may have to install it.")
        with ExitStack() as stack:
            scratch = Path(
                stack.enter_context(
                    tempfile.TemporaryDirectory(
                        prefix="homing-",
                        # With a job's own things, which are tidied even if this is killed.
                        dir=context.folder.parent if context.folder else None,
                        ignore_cleanup_errors=True,
                    )
                )
            )
            work, links = scratch / "work", scratch / "in"
            for folder in (work, links):
                folder.mkdir(mode=0o700)
            parts = stack.enter_context(filled(recipe, arguments, context.folder))
            program = Program(
                path=path,
                arguments=parts,
                cwd=recipe.cwd or work,
                links=links,
                env=_environment(recipe, work),
                timeout_s=recipe.timeout_s,
                memory_mib=recipe.memory_mib,
                file_mib=recipe.file_mib,
                silence_s=context.silence_s,
            )
            ended = await run_program(program, _teller(context.report))
            kept = [] if context.folder is None else [str(context.folder)]
            secret = [str(scratch), *kept, *_held_paths(parts)]
        if not ended.started:
            msg = f"the program of {recipe.name} cannot be started"
            raise UnavailableError(msg, "Its owner should look at it on the node.")
        return self._output(ended, secret, context)

    def _output(self, ended: Ended, scratch: list[str], context: ToolContext) -> ToolOutput:
        files, left = _files(context.folder)
        head = f"exit status {ended.status}"
        if ended.too_slow:
            head = f"ended after {self._recipe.timeout_s:g} s; {_PART}"
        elif ended.forsaken:
            head = f"ended, for its node stood still for {context.silence_s:g} s or more; {_PART}"
        text = ended.output.strip()
        for place in scratch:
            text = text.replace(place, "")
        more = "".join(f"\nfile: {file.name}" for file in files)
        if left:
            more += f"\n{left:,} more files were left out"
        return ToolOutput(
            f"{head}{more}\n\n{text}" if text else f"{head}{more}",
            trust=Trust.UNTRUSTED,
            source=self._recipe.name,
            files=files,
            is_error=ended.too_slow or ended.status != 0,
        )

    def _program(self) -> str | None:
        search = self._recipe.env.get("PATH") or os.environ.get("PATH") or _PATH
        return shutil.which(self._recipe.command[0], path=search)


def _held_paths(parts: tuple[str | HeldArgument, ...]) -> list[str]:
    """What stands before names in the home's own folders, which is nobody's business."""
    return [f"{one.held.path.parent}/" for one in parts if isinstance(one, HeldArgument)]


def _environment(recipe: Recipe, work: Path) -> Mapping[str, str]:
    return {
        "PATH": os.environ.get("PATH") or _PATH,
        "LANG": "C.UTF-8",
        "HOME": str(work),
        "TMPDIR": str(work),
        **recipe.env,
    }


def _teller(report: Callable[[JobProgress], None]) -> Callable[[str], None]:
    """Reads progress out of what a program prints."""

    def tell(line: str) -> None:
        note = clean_label(line, _NOTE, "")
        percent = _PERCENT.search(line)
        counted = _X_OF_Y.search(line)
        if percent is not None and float(percent.group(1)) <= 100:  # noqa: PLR2004  # percent
            report(JobProgress(float(percent.group(1)), 100, "%", note))
        elif counted is not None and 0 < int(counted.group(2)) >= int(counted.group(1)):
            report(JobProgress(int(counted.group(1)), int(counted.group(2)), "", note))

    return tell


def _files(folder: Path | None) -> tuple[tuple[OutputFile, ...], int]:
    """Plain files that the program has left for the result, and how many others there are.

    A file in a folder of its own gets that in its name, `a/b.txt` as `a-b.txt`, for a result holds
    names only. Links, pipes and the like are not taken.
    """
    if folder is None:
        return (), 0
    found: list[Path] = []
    left = 0
    for at, _, names in os.walk(folder):  # which follows no links
        for path in (Path(at, name) for name in names):
            plain = not path.is_symlink() and path.is_file() and len(found) < _MOST_SEEN
            if plain:
                found.append(path)
            else:
                left += 1
    taken = sorted(found, key=lambda path: (len(path.parts), path))[:_MOST_FILES]
    within = ("-".join(path.relative_to(folder).parts) for path in taken)
    files = tuple(
        OutputFile(path, name, mimetypes.guess_type(name)[0] or "")
        for path, name in zip(taken, plain_names(within), strict=True)
    )
    return files, left + len(found) - len(taken)


def _schema(parameters: Mapping[str, Parameter]) -> JsonObject:
    properties: dict[str, JsonValue] = {
        name: _property(parameter) for name, parameter in parameters.items()
    }
    required: list[JsonValue] = [
        name for name, one in parameters.items() if one.required and one.default is None
    ]
    return {"type": "object", "properties": properties, "required": required}


def _property(parameter: Parameter) -> JsonObject:
    found: dict[str, JsonValue] = {"type": _TYPES[parameter.kind]}
    words = [parameter.description.strip()] if parameter.description.strip() else []
    if parameter.choices:
        found["enum"] = list(parameter.choices)
    bounds = {"minimum": parameter.low, "maximum": parameter.high}
    found |= {key: bound for key, bound in bounds.items() if bound is not None}
    if parameter.kind in {ParameterKind.STRING, ParameterKind.PATH}:
        found |= {"minLength": 1, "maxLength": parameter.most_chars}
    if parameter.folder is not None:
        state = "an existing path" if parameter.exists else "a path that does not exist yet"
        words.append(f"({state} within the folder {parameter.folder.name!r})")
    if parameter.pattern:
        words.append(f"(must match {parameter.pattern})")
    if words:
        found["description"] = " ".join(words)
    if parameter.default is not None:
        found["default"] = parameter.default
    return found


_TYPES: Final = {
    ParameterKind.STRING: "string",
    ParameterKind.INTEGER: "integer",
    ParameterKind.NUMBER: "number",
    ParameterKind.BOOLEAN: "boolean",
    ParameterKind.CHOICE: "string",
    ParameterKind.PATH: "string",
}
