"""`homing` as people use it: in processes of its own, on a terminal or not."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import sys
import termios
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from homing_agent.runtime.paths import program_paths
from support.commands import ROOT, Finished

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from pathlib import Path

    from homing_agent.runtime.paths import ProgramPaths

DEADLINE_S = 60.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_HOMING = [sys.executable, "-m", "homing_client"]


def _environment(folder: Path) -> dict[str, str]:
    """An environment in which nothing of this machine's user is seen or touched."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HOMING_", "XDG_", "COV_"))
    }
    return kept | {
        "HOME": str(folder),
        "HOMING_MODELS_DIR": str(folder / "models"),
        "HOMING_HOME_MDNS": "false",
        "PYTHONPATH": str(ROOT / "tests"),
        "HF_ENDPOINT": "http://127.0.0.1:9",  # no test may fetch a model
        "COLUMNS": "200",
        "TERM": "xterm",
    }


@dataclass
class Terminal:
    """A command on a terminal of its own.

    Attributes:
        process: the command.
        shown: everything that the terminal showed, escapes included.
    """

    process: Process
    master: int
    shown: str = ""
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _read: int = 0

    def on_readable(self) -> None:
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self.master)
        self.shown += data.decode("utf-8", "replace")
        self._news.set()

    @property
    def text(self) -> str:
        """What the terminal showed, as a person reads it."""
        return _ESCAPES.sub("", self.shown).replace("\r", "")

    async def expect(self, part: str) -> None:
        """Wait until the terminal has shown this, after what was expected before."""
        async with asyncio.timeout(DEADLINE_S):
            while (at := self.text.find(part, self._read)) < 0:
                self._news.clear()
                if self.process.returncode is not None and not self._news.is_set():
                    msg = f"it ended without {part!r}: {self.text}"
                    raise AssertionError(msg)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), 1.0)
        self._read = at + len(part)

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self.master, text.encode())

    async def end(self) -> int:
        """Wait for the exit status."""
        return await asyncio.wait_for(self.process.wait(), DEADLINE_S)


@contextlib.asynccontextmanager
async def on_terminal(
    command: Sequence[str | Path], env: Mapping[str, str], folder: Path
) -> AsyncGenerator[Terminal]:
    """Run a command on a terminal of its own, in a folder."""
    master, slave = pty.openpty()
    _no_echo(slave)
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "support.on_terminal",
            *command,
            env=env,
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
    finally:
        os.close(slave)
    made = Terminal(process, master)
    loop = asyncio.get_running_loop()
    loop.add_reader(master, made.on_readable)
    try:
        yield made
    finally:
        loop.remove_reader(master)
        os.close(master)
        await _reap(process)


@dataclass
class Scripted:
    """A resident process whose model plays a script."""

    process: Process

    async def event(self, name: str) -> dict[str, Any]:
        """The next thing that happens there under this name."""
        assert self.process.stdout is not None
        while line := await asyncio.wait_for(self.process.stdout.readline(), DEADLINE_S):
            found: dict[str, Any] = json.loads(line)
            if found["event"] == name:
                return found
        msg = f"it ended without {name!r}"
        raise AssertionError(msg)

    async def open_gate(self, name: str) -> None:
        """Let the model go on."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{name}\n".encode())
        await self.process.stdin.drain()

    async def kill(self) -> None:
        """As Android does."""
        self.process.kill()
        await asyncio.wait_for(self.process.wait(), DEADLINE_S)


@dataclass
class PhoneRig:
    """One phone's data directory and the commands that work on it.

    Attributes:
        folder: everything is below it.
        env: for every command.
    """

    folder: Path
    env: dict[str, str]

    @property
    def data_dir(self) -> Path:
        return self.folder / "phone"

    @property
    def paths(self) -> ProgramPaths:
        return program_paths("homing", "phone", self.data_dir, environ={})

    def configure(self, text: str) -> None:
        """Write the configuration."""
        self.data_dir.mkdir(mode=0o700, exist_ok=True)
        (self.data_dir / "phone.toml").write_text(text, "utf-8")

    @contextlib.asynccontextmanager
    async def started(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Process]:
        """Start a command without a terminal; it is killed at the end of the block."""
        process = await asyncio.create_subprocess_exec(
            *_HOMING,
            *arguments,
            env=self.env | dict(env or {}),
            cwd=self.folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            await _reap(process)

    async def bare(
        self,
        *arguments: str | Path,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
    ) -> Finished:
        """Run a command to its end, as it stands."""
        async with self.started(*arguments, env=env) as process:
            out, err = await asyncio.wait_for(process.communicate(stdin), DEADLINE_S)
            assert process.returncode is not None
            return Finished(process.returncode, out.decode(), err.decode())

    async def run(self, command: str, *arguments: str | Path, stdin: bytes = b"") -> Finished:
        """Run a command on this phone to its end."""
        return await self.bare(command, "--data-dir", self.data_dir, *arguments, stdin=stdin)

    async def ask(self, *arguments: str | Path) -> tuple[Finished, dict[str, Any]]:
        """`homing ask --json`: what came of it, and the last object."""
        done = await self.run("ask", "--json", *arguments)
        lines = done.out.splitlines()
        assert lines, done.err
        return done, json.loads(lines[-1])

    @contextlib.asynccontextmanager
    async def terminal(self, command: str, *arguments: str | Path) -> AsyncGenerator[Terminal]:
        """Run a command on a terminal."""
        words = (*_HOMING, command, "--data-dir", self.data_dir, *arguments)
        async with on_terminal(words, self.env, self.folder) as made:
            yield made

    @contextlib.asynccontextmanager
    async def scripted(
        self, *answers: Mapping[str, Any], idle_seconds: int = 0
    ) -> AsyncGenerator[Scripted]:
        """A resident process that is ready, with a model that plays these answers."""
        script = self.folder / "script.json"
        script.write_text(json.dumps(answers), "utf-8")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "support.scripted_phone",
            self.data_dir,
            script,
            str(idle_seconds),
            env=self.env,
            cwd=self.folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        made = Scripted(process)
        try:
            await made.event("ready")
            yield made
        finally:
            await _reap(process)

    def resident_pid(self) -> int:
        """Of the process that holds the data directory; 0 if none does."""
        try:
            with self.paths.lock_file.open("r+b") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    return int(file.read().split()[0])
        except FileNotFoundError:
            pass
        return 0

    async def kill_resident(self) -> None:
        """End whatever holds the data directory at once, and wait until it has gone."""
        pid = self.resident_pid()
        if not pid:
            return
        os.kill(pid, signal.SIGKILL)
        await self.gone()

    async def gone(self) -> None:
        """Wait until no process holds the data directory."""

        def wait() -> None:
            with self.paths.lock_file.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)

        await asyncio.wait_for(asyncio.to_thread(wait), DEADLINE_S)


@contextlib.asynccontextmanager
async def phone_rig(folder: Path) -> AsyncGenerator[PhoneRig]:
    """A phone that was never used; whatever runs on it at the end is killed."""
    rig = PhoneRig(folder, _environment(folder))
    try:
        yield rig
    finally:
        await rig.kill_resident()


def answer(
    *steps: Mapping[str, Any] | str, when: str = "", times: int | None = None
) -> dict[str, Any]:
    """One answer of a script; a text stands for itself."""
    made = [{"text": step} if isinstance(step, str) else dict(step) for step in steps]
    return {"when": when, "times": times, "steps": made}


def call(name: str, /, **arguments: object) -> dict[str, Any]:
    """A step: the model calls a tool."""
    return {"call": name, "arguments": arguments}


def objects(out: str) -> list[dict[str, Any]]:
    """The JSON objects of an output, one a line."""
    return [json.loads(line) for line in out.splitlines()]


def one_line(done: Finished) -> str:
    """The only line on standard error."""
    lines = done.err.splitlines()
    assert len(lines) == 1, done.err
    return lines[0]


def _no_echo(terminal: int) -> None:
    """What is typed is not shown, so that a test sees only what the program wrote."""
    settings = termios.tcgetattr(terminal)
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSANOW, settings)


async def _reap(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    # Reading to the end lets the transports close before the loop does.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await asyncio.wait_for(process.communicate(), DEADLINE_S)
    await asyncio.wait_for(process.wait(), DEADLINE_S)
