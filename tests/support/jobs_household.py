"""A household whose node has a slow tool, held by a hand."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.commands import ROOT
from support.household import Household, Node, Phone
from support.programs import WAIT_S, Program, objects

if TYPE_CHECKING:
    from pathlib import Path

    from support.programs import Event

_RECIPE = """
[recipes.{name}]
description = "{description}"
command = ["{python}", "{script}", "{folder}", "{{out_folder}}", "{{text}}"]
effect = "{effect}"
idempotent = {idempotent}
parameters = {{ text = {{ type = "string" }} }}
"""


class Den(Node):
    """A node whose model plays a script; everything else of it is real."""

    def start(self, *, port: int | None = None, ready: bool = True) -> None:
        """Run it, and wait until it answers."""
        del ready
        wanted = self.port if port is None else port
        self.daemon = Program(
            sys.executable,
            *("-m", "support.scripted_den", "run", "--json"),
            *("--data-dir", self.folder, "--port", str(wanted)),
            env={**self.env, "PYTHONPATH": str(ROOT / "tests")},
        )
        (address,) = self.daemon.event("up")["addresses"]
        self.port = int(address.rpartition(":")[2])


@dataclass
class SlowTool:
    """The other end of `support.slow_tool`: what it did, and what it does next."""

    folder: Path
    _gate: int = field(init=False)

    def __post_init__(self) -> None:
        """Open the pipe for reading too, so that nobody waits for somebody to open it."""
        os.mkfifo(self.folder / "gate")
        self._gate = os.open(self.folder / "gate", os.O_RDWR)

    @property
    def runs(self) -> list[str]:
        """Texts of its calls so far."""
        path = self.folder / "runs"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def say(self, line: str) -> None:
        """Let it print a line, or end."""
        os.write(self._gate, f"{line}\n".encode())

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._gate)


def make_den(folder: Path, tools: Path) -> Den:
    """A node with `slow`, which only reads, and `paint`, which writes."""
    den = Den.make(folder, {"stand_in": True})
    assert isinstance(den, Den)
    recipes = [("slow", "Does something slowly.", "read", "true")]
    recipes.append(("paint", "Paints a picture.", "write", "false"))
    text = "".join(
        _RECIPE.format(
            name=name,
            description=description,
            python=sys.executable,
            script=ROOT / "tests" / "support" / "slow_tool.py",
            folder=tools,
            effect=effect,
            idempotent=idempotent,
        )
        for name, description, effect, idempotent in recipes
    )
    with (folder / "node.toml").open("a", encoding="utf-8") as config:
        config.write(text)
    return den


@dataclass
class JobsHousehold(Household):
    """A node with a slow tool, and a phone."""

    tool: SlowTool

    def start(self, tool: str, text: str, *words: str) -> str:
        """Start a job; its id."""
        done = self.phone("jobs", "start", tool, f"text={text}", "--allow", "--json", *words)
        assert done.status == 0, done.err
        (started,) = objects(done)
        job: str = started["job"]
        return job

    def watching(self, job: str) -> Program:
        """`homing jobs watch --json`, whose events come as they come."""
        return watching(self.phone, job)

    def node_has(self, job: str, state: str) -> Event:
        """Wait until the node's own list has it so; what it says of it."""
        deadline = time.monotonic() + WAIT_S
        while True:
            (known,) = [one for one in objects(self.node("jobs", "--json")) if one["job"] == job]
            if known["state"] == state:
                return known
            assert time.monotonic() < deadline, known

    def jobs(self) -> list[Event]:
        """`homing jobs --json`."""
        return objects(self.phone("jobs", "--json"))


def watching(phone: Phone, job: str) -> Program:
    """`homing jobs watch --json` of a phone."""
    words = ("jobs", "watch", job, "--json", "--data-dir", phone.folder)
    return Program("homing", *words, env=phone.env)
