"""Running a recipe's program: under a supervisor, with limits, its output capped."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homing_core.clock import boot_time
from homing_core.errors import UnavailableError

from homing_agent.tools.home import supervisor
from homing_agent.tools.home.heart import Heart
from homing_agent.tools.home.recipe_values import HeldArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from homing_core.canonical import JsonValue

_HALF_BYTES: Final = 24 << 10
_PIECE: Final = 16 << 10
_LINE: Final = 400
_PATIENCE_S: Final = supervisor.GRACE_S + 3.0
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Program:
    """What is to run.

    Attributes:
        path: of the program, absolute.
        arguments: what it gets.
        cwd: where it runs.
        links: an empty folder for the names of paths that are held open.
        env: all of its variables.
        timeout_s: it is ended after this many seconds.
        memory_mib: MiB of address space; 0 is no limit.
        file_mib: MiB that a file may grow to.
        silence_s: it is ended once this process has been silent for so many seconds, because it is
            stopped or the machine sleeps; 0 is no limit.
    """

    path: str
    arguments: tuple[str | HeldArgument, ...]
    cwd: Path
    links: Path
    env: Mapping[str, str]
    timeout_s: float
    memory_mib: int = 0
    file_mib: int = 4096
    silence_s: float = 0.0

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Of the paths that are held."""
        return tuple(
            part.held.descriptor for part in self.arguments if isinstance(part, HeldArgument)
        )

    def plan(self) -> bytes:
        """What the supervisor is told, as one line."""
        limits = {
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": 1024,
            "RLIMIT_FSIZE": self.file_mib * _MIB,
        }
        if self.memory_mib:
            limits["RLIMIT_AS"] = self.memory_mib * _MIB
        plan: Mapping[str, JsonValue] = {
            "program": self.path,
            "arguments": [_part(part) for part in self.arguments],
            "cwd": str(self.cwd),
            "links": str(self.links),
            "env": dict(self.env),
            "limits": limits,
            "heard": boot_time(),
            "silence_s": self.silence_s,
        }
        return json.dumps(plan).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class Ended:
    """How it ended.

    Attributes:
        status: exit status; 128 and a signal's number if it was killed.
        output: what it printed, both streams, the middle left out where it was too much.
        too_slow: whether it was ended because its time was up.
        forsaken: whether it was ended because this process was silent for too long.
    """

    status: int
    output: str
    too_slow: bool = False
    forsaken: bool = False

    @property
    def started(self) -> bool:
        """Whether the program could be started at all."""
        return self.status != supervisor.CANNOT_START or bool(self.output)


@dataclass(slots=True)
class _Capped:
    """Text of which beginning and end are kept."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    dropped: int = 0

    def add(self, data: bytes) -> None:
        room = max(0, _HALF_BYTES - len(self.head))
        self.head += data[:room]
        self.tail += data[room:]
        over = len(self.tail) - _HALF_BYTES
        if over > 0:
            del self.tail[:over]
            self.dropped += over

    def text(self) -> str:
        middle = f"\n… {self.dropped:,} bytes left out …\n".encode() if self.dropped else b""
        return bytes(self.head + middle + self.tail).decode("utf-8", "replace")


async def run_program(program: Program, on_line: Callable[[str], None]) -> Ended:
    """Run it to its end. Cancelling ends it and all that it started.

    Args:
        program: what is to run.
        on_line: is told each line that it prints, cut to 400 characters.

    Raises:
        UnavailableError: no process can be started.
    """
    process = await _start(program)
    output, too_slow, heart = _Capped(), False, Heart(program.silence_s)
    try:
        try:
            async with asyncio.timeout(program.timeout_s):
                await _talk(process, program, output, on_line, heart)
        except TimeoutError:
            too_slow = True
    finally:
        await _end(process)
    status = -1 if process.returncode is None else process.returncode
    forsaken = status == supervisor.SILENCE and heart.was_silent()
    return Ended(status, output.text(), too_slow, forsaken)


async def _start(program: Program) -> asyncio.subprocess.Process:
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            str(Path(supervisor.__file__)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            pass_fds=program.descriptors,
            env={},
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except OSError as error:
        msg = "the recipe cannot be run: no process can be started"
        raise UnavailableError(msg, "Try again later.") from error
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await _end(starting.result())
        raise


async def _talk(
    process: asyncio.subprocess.Process,
    program: Program,
    output: _Capped,
    on_line: Callable[[str], None],
    heart: Heart,
) -> None:
    if process.stdin is None or process.stdout is None:  # asked for above
        return
    process.stdin.write(program.plan())
    with contextlib.suppress(ConnectionError):
        await process.stdin.drain()
    beating = asyncio.create_task(heart.beat(process.stdin))
    try:
        line = b""
        while data := await process.stdout.read(_PIECE):
            output.add(data)
            *whole, line = (line + data.replace(b"\r", b"\n"))[-_PIECE:].split(b"\n")
            for one in whole:
                on_line(one[:_LINE].decode("utf-8", "replace"))
            line = line[-_LINE:]
        await process.wait()
    finally:
        beating.cancel()
        await asyncio.wait({beating})


async def _end(process: asyncio.subprocess.Process) -> None:
    """Close the supervisor's input, which ends everything; harmless if it has ended."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _part(part: str | HeldArgument) -> JsonValue:
    if isinstance(part, str):
        return part
    return {
        "before": part.before,
        "descriptor": part.held.descriptor,
        "name": part.held.path.name,
        "path": os.fspath(part.held.path),
        "new": part.held.new,
    }
