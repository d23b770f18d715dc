"""`homing-node` as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from support.commands import Finished
from support.node_rig import within

if TYPE_CHECKING:
    import signal
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path


_COMMAND = [sys.executable, "-m", "homing_node"]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """An environment in which nothing of this machine's user is seen or touched."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HOMING_")}
    return kept | {"HOME": str(folder), "HOMING_MODELS_DIR": str(folder / "models")} | more


@dataclass
class NodeProcess:
    """A running command whose standard output is read line by line."""

    process: Process
    seen: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def lines(self) -> AsyncGenerator[str, None]:
        """Its output from here on, line by line."""
        assert self.process.stdout is not None
        while line := await within(self.process.stdout.readline()):
            yield line.decode().rstrip("\n")

    async def line_with(self, words: str) -> str:
        """The next line that holds these words."""
        async for line in self.lines():
            if words in line:
                return line
        msg = f"it ended without {words!r}: {await self.rest()}"
        raise AssertionError(msg)

    async def event(self, name: str) -> dict[str, Any]:
        """The next JSON line whose `event` is `name`; those before it are kept in `seen`."""
        async for line in self.lines():
            found: dict[str, Any] = json.loads(line)
            self.seen.append(found)
            if found["event"] == name:
                return found
        msg = f"it ended without {name!r}: {await self.rest()}"
        raise AssertionError(msg)

    async def model(self, state: str) -> dict[str, Any]:
        """Wait until the model is in a state."""
        while (found := await self.event("model"))["state"] != state:
            pass
        return found

    async def rest(self) -> str:
        """What it writes to standard error, until its end."""
        assert self.process.stderr is not None
        return (await within(self.process.stderr.read())).decode()

    async def end(self, number: signal.Signals | None = None) -> int:
        """Send a signal, if any, and wait for the exit status."""
        if number is not None:
            self.process.send_signal(number)
        return await within(self.process.wait())


@contextlib.asynccontextmanager
async def started(
    *arguments: str | Path, env: Mapping[str, str], cwd: Path | None = None
) -> AsyncGenerator[NodeProcess]:
    """Start a command; it is killed at the end of the block if it still runs."""
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        *arguments,
        env=env,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield NodeProcess(process)
    finally:
        # A signal to a process that has ended would reap it behind the back of asyncio's watcher.
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        # Reading to the end lets the transports close before the loop does.
        await within(process.communicate())


async def finished(*arguments: str | Path, env: Mapping[str, str]) -> Finished:
    """Run a command to its end."""

    async with started(*arguments, env=env) as run:
        out, err = await within(run.process.communicate())
        assert run.process.returncode is not None
        return Finished(run.process.returncode, out.decode(), err.decode())
