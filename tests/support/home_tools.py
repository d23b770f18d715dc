"""Scripted home tools: what a node runs as jobs in tests.

Each is a whole `Tool`. Give them to a node with `FixedTools(tools=home_tools(folder))`, or one by
one. A test follows them through events of its own loop, or, where the node is another process,
through the files that they leave.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_agent.tool import OutputFile, ToolOutput
from homing_core.errors import InternalError, UnavailableError
from homing_core.jobs import JobProgress
from homing_core.provenance import Sensitivity, Trust
from homing_core.tools import EffectClass, Place, ToolSpec

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import Tool, ToolContext
    from homing_core.canonical import JsonObject

SERVER: Final = "scripted"
TEXT: Final[JsonObject] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}
"""The schema of tools that take one text."""


def spec(name: str, effect: EffectClass, *, idempotent: bool = False) -> ToolSpec:
    """What is known of a tool that takes one text."""
    return ToolSpec(
        name,
        f"Runs {name} for a test.",
        TEXT,
        effect=effect,
        place=Place.HOME,
        server=SERVER,
        idempotent=idempotent,
    )


def text_of(arguments: JsonObject) -> str:
    """The one argument."""
    text = arguments["text"]
    assert isinstance(text, str)
    return text


class ScriptedTool:
    """What the others have in common: it counts and says what it was called with.

    Args:
        about: what is known of it.

    Attributes:
        runs: arguments of each call, in order.
        contexts: what each was given.
    """

    def __init__(self, about: ToolSpec) -> None:
        self._spec = about
        self.runs: list[JsonObject] = []
        self.contexts: list[ToolContext] = []

    @property
    def spec(self) -> ToolSpec:
        """As in `Tool`."""
        return self._spec

    def change(self, description: str) -> None:
        """Describe it otherwise from now on: it is another tool then."""
        self._spec = replace(self._spec, description=description)

    def unavailable(self) -> str | None:
        """It can always act."""
        return None

    def preview(self, arguments: JsonObject) -> str:
        """One line."""
        return f"{self._spec.name}: {text_of(arguments)}"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Count, then do it."""
        self.runs.append(arguments)
        self.contexts.append(context)
        return await self.work(arguments, context)

    async def work(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """What it does: give the text back."""
        del context
        return ToolOutput(f"echo: {text_of(arguments)}", trust=Trust.UNTRUSTED)


class EchoTool(ScriptedTool):
    """READ: gives its text back."""

    def __init__(self, name: str = "echo", sensitivity: Sensitivity | None = None) -> None:
        super().__init__(spec(name, EffectClass.READ, idempotent=True))
        self._sensitivity = sensitivity or Sensitivity.HOME_ONLY

    async def work(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """The text, as private as the test says."""
        del context
        return ToolOutput(f"echo: {text_of(arguments)}", sensitivity=self._sensitivity)


class CountTool(ScriptedTool):
    """WRITE, not idempotent: each call adds a line to a file, on disk before it returns.

    Args:
        path: the file.
        name: the tool's.
        hold: if given, it waits for this after writing and before it returns.

    Attributes:
        wrote: set once a line is on disk.
    """

    def __init__(self, path: Path, name: str = "count", hold: asyncio.Event | None = None) -> None:
        super().__init__(spec(name, EffectClass.WRITE))
        self.path = path
        self.wrote = asyncio.Event()
        self._hold = hold

    @property
    def lines(self) -> list[str]:
        """What was written: the text of each call, in order."""
        return self.path.read_text("utf-8").splitlines() if self.path.exists() else []

    async def work(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Add the line."""
        del context
        text = text_of(arguments)
        append_line(self.path, text)
        self.wrote.set()
        if self._hold is not None:
            await self._hold.wait()
        return ToolOutput(f"counted {text}", say=f"Counted {text}.", trust=Trust.TRUSTED)


class SlowTool(ScriptedTool):
    """READ: reports progress, then waits until the test lets it go on.

    Args:
        name: the tool's.
        effect: what it may do.
        steps: how many units it has; it reports each, then waits once before the last.

    Attributes:
        started: set when it runs.
        release: set by the test to let it end.
        cancelled: set when it was really stopped.
    """

    def __init__(
        self, name: str = "slow", effect: EffectClass = EffectClass.READ, steps: int = 4
    ) -> None:
        super().__init__(spec(name, effect, idempotent=effect is EffectClass.READ))
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled = asyncio.Event()
        self._steps = steps

    async def work(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Report, wait, end."""
        try:
            for step in range(1, self._steps):
                context.report(JobProgress(step, self._steps, "steps", f"step {step}"))
            self.started.set()
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        context.report(JobProgress(self._steps, self._steps, "steps", "done"))
        return ToolOutput(f"slow: {text_of(arguments)}")


class HeldTool(ScriptedTool):
    """READ, for a node in another process: held and followed through files in a folder.

    It writes `started` when it runs, goes on once `release` exists, and writes `ended` with how it
    ended, also when it is cancelled. It looks for `release` every 20 ms.

    Args:
        folder: where these files are.
    """

    def __init__(
        self, folder: Path, name: str = "held", effect: EffectClass = EffectClass.READ
    ) -> None:
        super().__init__(spec(name, effect, idempotent=effect is EffectClass.READ))
        self._folder = folder

    async def work(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Wait for the file."""
        append_line(self._folder / "started", text_of(arguments))
        context.report(JobProgress(1, 2, "halves"))
        how = "cancelled"
        try:
            while not (self._folder / "release").exists():  # noqa: ASYNC110  # set by another process
                await asyncio.sleep(0.02)
            how = "finished"
        finally:
            append_line(self._folder / "ended", how)
        return ToolOutput(f"held: {text_of(arguments)}")


class FilesTool(ScriptedTool):
    """READ: makes files, one with the text and one of so many bytes."""

    def __init__(self, name: str = "files", binary_bytes: int = 100_000) -> None:
        super().__init__(spec(name, EffectClass.READ, idempotent=True))
        self._binary_bytes = binary_bytes

    async def work(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Put them into the folder."""
        assert context.folder is not None
        text, binary = context.folder / "note", context.folder / "noise"
        text.write_text(text_of(arguments), "utf-8")
        binary.write_bytes(noise(self._binary_bytes))
        return ToolOutput(
            "two files",
            files=(
                OutputFile(text, "note.txt", "text/plain"),
                OutputFile(binary, "noise.bin", "application/octet-stream"),
            ),
        )


class FailingTool(ScriptedTool):
    """Raises: `UnavailableError` by default, or whatever the test gives."""

    def __init__(
        self,
        name: str = "failing",
        error: Exception | None = None,
        effect: EffectClass = EffectClass.READ,
    ) -> None:
        super().__init__(spec(name, effect, idempotent=effect is EffectClass.READ))
        self._error = error or UnavailableError("the printer is off", "Switch it on.")

    async def work(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """Fail."""
        del arguments, context
        raise self._error


def home_tools(folder: Path) -> tuple[Tool, ...]:
    """One of each, under its usual name; `counted` in the folder is what `count` writes."""
    return (
        EchoTool(),
        CountTool(folder / "counted"),
        SlowTool(),
        HeldTool(folder),
        FilesTool(),
        FailingTool(),
        FailingTool("broken", InternalError("a bug of the test's")),
    )


def noise(count: int) -> bytes:
    """So many bytes that hold every value, always the same."""
    return bytes(number * 7 % 251 for number in range(count))


def append_line(path: Path, text: str) -> None:
    """Add a line, on disk when this returns."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, f"{text}\n".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
