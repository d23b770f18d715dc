"""The installed commands as processes of their own, as a person or a script runs them."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sysconfig
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from support.commands import Finished, run_program

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

Event = dict[str, Any]

BIN = Path(sysconfig.get_path("scripts"))
WAIT_S = 120.0
"""No wait in these tests takes longer; a machine that is slow is no failure."""


def command(program: str, *words: str | Path) -> list[str | Path]:
    """A command of this environment, such as `homing`."""
    return [BIN / program, *words]


def run(program: str, *words: str | Path, env: Mapping[str, str]) -> Finished:
    """Run a command to its end."""
    return run_program(command(program, *words), env=env, timeout=WAIT_S)


def objects(done: Finished) -> list[Event]:
    """What a command printed with `--json`."""
    return [json.loads(line) for line in done.out.splitlines()]


def one_line(done: Finished) -> str:
    """What it says to a person: one line on standard error that says what to try."""
    lines = [line for line in done.err.splitlines() if not line.startswith("{")]
    assert len(lines) == 1, done.err
    assert "Traceback" not in done.err
    return lines[0]


class Program:
    """A command that runs; its JSON lines are read as they come.

    Args:
        program: `homing` or `homing-node`.
        words: its arguments.
        env: its whole environment.
    """

    def __init__(self, program: str, *words: str | Path, env: Mapping[str, str]) -> None:
        self.seen: list[Event] = []
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # closed by `close`
        self.process = subprocess.Popen(  # noqa: S603  # the tests' own programs, no shell
            command(program, *words),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def events(self) -> Iterator[Event]:
        """Its objects from here on, until it ends."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty as empty:
                msg = f"nothing more came; so far: {self.seen}; {self.errors()}"
                raise AssertionError(msg) from empty
            if line is None:
                self._lines.put(None)
                return
            found: Event = json.loads(line)
            self.seen.append(found)
            yield found

    def event(self, name: str, /, **fields: object) -> Event:
        """The next object of this name that has these fields."""
        return self.until(
            lambda event: (
                event.get("event") == name
                and all(event.get(key) == value for key, value in fields.items())
            ),
            f"{name} {fields}",
        )

    def until(self, holds: Callable[[Event], bool], what: str) -> Event:
        """The next object of which something holds."""
        for event in self.events():
            if holds(event):
                return event
        msg = f"it ended without {what}: {self.seen}; {self.errors()}"
        raise AssertionError(msg)

    def end(self, number: signal.Signals | None = None) -> int:
        """Send a signal, if any, and wait for the exit status; the rest goes to `seen`."""
        if number is not None:
            self.process.send_signal(number)
        for _ in self.events():
            pass
        return self.process.wait(WAIT_S)

    def errors(self) -> str:
        """What it wrote to standard error so far."""
        self._errors.seek(0)
        return self._errors.read()

    def close(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        self._errors.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout, contextlib.suppress(ValueError):
            for line in self.process.stdout:
                self._lines.put(line)
        self._lines.put(None)
