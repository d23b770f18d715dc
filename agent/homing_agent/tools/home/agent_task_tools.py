"""The tools of an agent task: each call is written down before and after, as for jobs themselves.

What a call gave is replayed when the task is taken up again. A call that may not be made twice and
is found begun without an outcome stops the task: a person must say whether it happened.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from homing_core.canonical import sha256_json
from homing_core.errors import HomingError
from homing_core.jobs import JobProgress
from homing_core.provenance import Trust
from homing_core.tools import EffectClass

from homing_agent.tool import OutputFile, ToolOutput, UnknownOutcomeError
from homing_agent.tools.home.agent_task_forms import (
    cut,
    error_to_json,
    output_from_json,
    output_to_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.tools import ToolSpec

    from homing_agent.tool import Notebook, Tool, ToolContext

SETTLED_NOTE: Final = "settled"
"""What a person says of the one call of which nobody knows: `happened` or `run_again`. Whoever runs
the task writes it into the notebook; the task takes it out."""
_BEGUN: Final = "begun"
_HINT: Final = "Say whether it happened."


class _Prefixed:
    """A part of a notebook.

    Args:
        notebook: the whole.
        prefix: what its names begin with.
    """

    def __init__(self, notebook: Notebook, prefix: str) -> None:
        """Keep them."""
        self._notebook = notebook
        self._prefix = prefix

    def get(self, name: str) -> JsonValue:
        """As in `Notebook`."""
        return self._notebook.get(self._prefix + name)

    async def put(self, name: str, value: JsonValue) -> None:
        """As in `Notebook`."""
        await self._notebook.put(self._prefix + name, value)


@dataclass(slots=True)
class TaskRun:
    """One attempt at a task, as its tools see it.

    Attributes:
        context: the task's own.
        most_chars: characters of one result that the model gets.
        step: number of the step that is being taken.
        running: inner calls that are under way; a tool that is cancelled must really stop.
        unknown: the call that stopped the task, if one did.
        files: what was made.
    """

    context: ToolContext
    most_chars: int
    step: int
    running: set[asyncio.Task[ToolOutput]]
    unknown: UnknownOutcomeError | None
    files: dict[str, OutputFile]

    def take(self, files: Iterable[OutputFile]) -> None:
        """Keep files for the task's own result, each under a name of its own."""
        for file in files:
            name, number = file.name, 2
            while name in self.files:
                name, number = f"{number} {file.name}", number + 1
            self.files[name] = replace(file, name=name)

    def fresh_folder(self) -> Path | None:
        """An empty folder for what one call makes; None where there is none for the task."""
        if self.context.folder is None:
            return None
        folder = self.context.folder / f"step-{self.step}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder


class TaskTool:
    """A tool within an agent task.

    Args:
        tool: what it is.
        run: the attempt.
    """

    def __init__(self, tool: Tool, run: TaskRun) -> None:
        """Keep them."""
        self._tool = tool
        self._run = run

    @property
    def spec(self) -> ToolSpec:
        """As in `Tool`."""
        return self._tool.spec

    def unavailable(self) -> str | None:
        """As in `Tool`."""
        return self._tool.unavailable()

    def preview(self, arguments: JsonObject) -> str:
        """As in `Tool`."""
        return self._tool.preview(arguments)

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """As in `Tool`: what an earlier attempt has done is not done again."""
        run, spec = self._run, self._tool.spec
        run.step += 1
        call = f"call {context.call_id}"
        once = spec.effect is not EffectClass.READ and not spec.idempotent
        effect = _effect_note(spec, arguments) if once else ""
        kept = run.context.notebook.get(call)
        if kept is None and once:
            kept = await self._earlier(effect)
        if isinstance(kept, Mapping):
            output = output_from_json(kept, run.context.folder)
            if output is not None:
                run.take(output.files)
                return output
        return await self._now(arguments, context, call, effect)

    async def _now(
        self, arguments: JsonObject, context: ToolContext, call: str, effect: str
    ) -> ToolOutput:
        """Make the call between its records; `effect` is empty if it may be made twice."""
        run, spec, notebook = self._run, self._tool.spec, self._run.context.notebook
        if effect:
            await notebook.put(effect, {_BEGUN: call})
        self._report("")
        try:
            output = await self._really(arguments, context)
        except UnknownOutcomeError as error:
            run.unknown = run.unknown or (error if effect else None)
            raise
        except HomingError as error:
            # It did not happen: the same call of a later step may be made.
            await notebook.put(call, error_to_json(error))
            raise
        output = cut(output, run.most_chars)
        form = output_to_json(output, spec, run.context.folder)
        if effect:
            await notebook.put(effect, form)
        await notebook.put(call, form)
        run.take(output.files)
        return output

    async def _earlier(self, effect: str) -> JsonValue:
        """What came of the same effect in this task; None if it has not happened.

        Raises:
            UnknownOutcomeError: it was begun, and nobody has said whether it happened.
        """
        notebook = self._run.context.notebook
        kept = notebook.get(effect)
        if not isinstance(kept, Mapping) or _BEGUN not in kept:
            return kept
        if notebook.get(str(kept[_BEGUN])) is not None:
            return None
        return await self._settled(effect)

    async def _really(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        outer = self._run.context
        inner = replace(
            outer,
            call_id=context.call_id,
            report=self._inner_report,
            notebook=_Prefixed(outer.notebook, f"in {context.call_id}: "),
            offered=(),
            folder=self._run.fresh_folder(),
        )
        task = asyncio.ensure_future(self._tool.run(arguments, inner))
        self._run.running.add(task)
        try:
            return await task
        finally:
            self._run.running.discard(task)

    async def _settled(self, note: str) -> JsonValue:
        """What a person said of a call that was begun; raises `UnknownOutcomeError` if nothing."""
        run, spec = self._run, self._tool.spec
        said = run.context.notebook.get(SETTLED_NOTE)
        if said not in {"happened", "run_again"}:
            what = f"the node stopped during {spec.name}, and nobody knows whether it happened"
            run.unknown = UnknownOutcomeError(what, _HINT)
            raise run.unknown
        found: JsonValue = None
        if said == "happened":
            words = f"{spec.name} happened, as a person says; what it gave is not known."
            found = output_to_json(ToolOutput(words, trust=Trust.TRUSTED), spec, None)
        # Taken out first: if the node stops here, the person is asked again, and that is all.
        await run.context.notebook.put(SETTLED_NOTE, None)
        await run.context.notebook.put(note, found)
        return found

    def _inner_report(self, progress: JobProgress) -> None:
        words = progress.note
        if progress.total > 0:
            unit = f" {progress.unit}" if progress.unit else ""
            words = f"{progress.done:g} of {progress.total:g}{unit}"
        self._report(words)

    def _report(self, words: str) -> None:
        run = self._run
        more = f", {words}" if words else ""
        note = f"step {run.step}: {self._tool.spec.name}{more}"
        run.context.report(JobProgress(run.step - 1, 0, "steps", note))


def _effect_note(spec: ToolSpec, arguments: JsonObject) -> str:
    """The same effect has the same name, whichever call of the task it is."""
    return f"effect {sha256_json([spec.server, spec.schema_hash, arguments])}"
