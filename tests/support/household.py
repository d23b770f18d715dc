"""A home node and phones on one machine: the installed commands, each in a folder of its own."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from support.programs import WAIT_S, Event, Program, objects, run

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from types import TracebackType

    from support.commands import Finished

LOOPBACK = "127.0.0.1"


def environment(folder: Path, models: Path | None = None) -> dict[str, str]:
    """An environment in which nothing of this machine's user is seen or touched."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("HOMING_", "XDG_"))
    }
    return kept | {
        "HOME": str(folder),
        "HOMING_MODELS_DIR": str(models or folder / "models"),
        # Whatever is not here stays away: no test depends on the network, or waits for it.
        "HF_HUB_OFFLINE": "1",
        "TZ": "UTC",
    }


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700)
    return folder


def _toml(sections: Mapping[str, Mapping[str, object]]) -> str:
    """JSON's texts, numbers, booleans and lists are TOML's too."""
    lines: list[str] = []
    for name, keys in sections.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in keys.items())]
    return "\n".join(lines) + "\n"


@dataclass
class Node:
    """A home node. Its files stay while the process comes and goes.

    Attributes:
        folder: its data directory.
        env: environment of all its commands.
        port: where it listens; 0 until it has been up, then the same again.
    """

    folder: Path
    env: Mapping[str, str] = field(repr=False)
    port: int = 0
    daemon: Program | None = field(default=None, repr=False)

    @classmethod
    def make(cls, folder: Path, model: Mapping[str, object], models: Path | None = None) -> Node:
        """A node that announces itself on loopback only."""
        node = cls(_private(folder), environment(folder, models))
        settings: dict[str, Mapping[str, object]] = {
            "node": {"name": folder.name},
            "listen": {"host": LOOPBACK},
            "discovery": {"interfaces": [LOOPBACK]},
            "model": model,
        }
        (folder / "node.toml").write_text(_toml(settings), "utf-8")
        return node

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def start(self, *, port: int | None = None, ready: bool = True) -> None:
        """Run it, and wait until its model is loaded (or, if not `ready`, until it answers)."""
        wanted = self.port if port is None else port
        self.daemon = Program(
            "homing-node",
            *("run", "--json", "--data-dir", self.folder, "--port", str(wanted)),
            env=self.env,
        )
        (address,) = self.daemon.event("up")["addresses"]
        self.port = int(address.rpartition(":")[2])
        if ready:
            self.daemon.event("model", state="ready")

    def ensure_up(self) -> None:
        """Run it if it does not run."""
        if self.daemon is None or self.daemon.process.poll() is not None:
            self.close()
            self.start()

    @property
    def running(self) -> Program:
        """Its process."""
        assert self.daemon is not None
        return self.daemon

    def end(self, number: signal.Signals) -> int:
        """End it with a signal; its exit status."""
        status = self.running.end(number)
        self.close()
        return status

    def close(self) -> None:
        """End it if it still runs."""
        if self.daemon is not None:
            self.daemon.close()
            self.daemon = None

    def __call__(self, *words: str) -> Finished:
        """Another command of the node."""
        return run("homing-node", *words, "--data-dir", self.folder, env=self.env)

    def opened(self, *words: str) -> tuple[Program, str]:
        """`homing-node pair`, and the link that it shows."""
        shown = Program(
            "homing-node", "pair", "--json", *words, "--data-dir", self.folder, env=self.env
        )
        return shown, shown.event("opened")["link"]


@dataclass
class Phone:
    """A phone. Its resident process is started by whatever command needs it first.

    Attributes:
        folder: its data directory.
        env: environment of all its commands.
    """

    folder: Path
    env: Mapping[str, str] = field(repr=False)

    @classmethod
    def make(cls, folder: Path, model: Mapping[str, object], models: Path | None = None) -> Phone:
        """A phone that listens on loopback only."""
        phone = cls(_private(folder), environment(folder, models))
        settings: dict[str, Mapping[str, object]] = {
            # Should a test run be killed, what it started leaves by itself.
            "phone": {"name": folder.name, "idle_minutes": 5},
            "model": model,
            # Longer than by default: a slow machine shall not look like a node that is away.
            "home": {"mdns_interfaces": [LOOPBACK], "reach_seconds": 3.0},
        }
        (folder / "phone.toml").write_text(_toml(settings), "utf-8")
        return phone

    @property
    def reminders(self) -> str:
        """The calendar file's text; empty if there is none."""
        path = self.folder / "data" / "reminders.ics"
        return path.read_text("utf-8") if path.exists() else ""

    def __call__(self, *words: str | Path) -> Finished:
        """A command of the phone, to its end."""
        return run("homing", *words, "--data-dir", self.folder, env=self.env)

    def asking(self, *words: str) -> Program:
        """`homing ask --json`, whose events come as they come."""
        return Program("homing", "ask", "--json", *words, "--data-dir", self.folder, env=self.env)

    def ask(self, *words: str) -> list[Event]:
        """`homing ask --json` to its end; the last event is the answer."""
        return objects(self("ask", "--json", *words))

    def pid(self) -> int:
        """The resident process; started if it does not run."""
        self("nodes", "--no-check")
        (status,) = objects(self("serve", "--status", "--json"))
        found: int = status["pid"]
        return found

    def nodes(self) -> list[Event]:
        """`homing nodes`."""
        return objects(self("nodes", "--json"))

    def pair(self, node: Node, *words: str) -> Event:
        """Pair by the real link."""
        shown, link = node.opened(*words)
        with shown:
            (paired,) = objects(self("pair", link, "--json"))
            shown.event("paired")
            assert shown.end() == 0
        return paired

    def nodes_until(self, holds: Callable[[Event], bool], again: Callable[[], None]) -> Event:
        """Look at the only node until something holds of it; `again` before each look.

        What is heard on the network takes a moment, and a packet may be lost.
        """
        deadline = time.monotonic() + WAIT_S
        while True:
            again()
            (node,) = self.nodes()
            if holds(node):
                return node
            assert time.monotonic() < deadline, node

    def close(self) -> None:
        """End the resident process, if there is one."""
        self("serve", "--stop")


@dataclass
class Household:
    """A node and a phone; both end with the block."""

    node: Node
    phone: Phone

    def __enter__(self) -> Self:
        self.node.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.phone.close()
        self.node.close()


def nothing() -> None:
    """Do nothing before the next look."""
