"""`make demo`: one computer plays both the phone and the home node, and shows what happens where.

It uses the programs as a person would: `homing-node run`, `homing-node pair`, `homing pair`,
`homing ask --json`. Everything it makes lies in a temporary folder and is removed at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

BIN = Path(sys.executable).parent
CONSOLE = Console(highlight=False)
START_S = 120.0
ASK_S = 120.0
LETTERS = {
    "anna.txt": (
        "Dear all, the new school opens on the third of September. It has two hundred pupils, a "
        "library and a garden in which each class grows its own vegetables. Anna"
    ),
    "boiler.txt": (
        "The boiler was repaired on Monday. The pump was blocked by rust and was replaced. The "
        "next check is due in March, and the repair took three hours."
    ),
    "trip.txt": (
        "We took the train along the coast. It rained for two days, then the sun came out and we "
        "walked to the lighthouse, where an old man told us of the storm of 1962."
    ),
    "club.txt": (
        "The chess club meets on Thursdays at seven in the town hall. Beginners are welcome, and "
        "boards are there. In spring there is a tournament with four other towns."
    ),
}
"""What lies in the folder that the node may read."""
PIECES_BEFORE_KILL = 12
"""Pieces of text after which the node is killed in the middle of an answer."""


class DemoError(Exception):
    """The demo did not show what it promises."""


@dataclass(frozen=True)
class Request:
    """One thing that the demo asks.

    Attributes:
        title: what it shows.
        text: the words.
        options: further options of `homing ask`.
        exit_status: what is expected.
        route: where the answer is expected; empty for anywhere.
        kill_node: kill the node in the middle of the answer.
        kill_job: kill the node in the middle of the job that this becomes, and start it again.
    """

    title: str
    text: str
    options: tuple[str, ...] = ()
    exit_status: int = 0
    route: str = ""
    kill_node: bool = False
    kill_job: bool = False


REQUESTS = (
    Request(
        "A reminder, set by the phone's own model",
        "Remind me to call mom tomorrow at 9am",
        ("--allow", "set_reminder"),
        route="phone",
    ),
    Request(
        "A plain question, answered on the phone",
        "What is the capital of France?",
        route="phone",
    ),
    Request(
        "A harder one: the phone is unsure, so it goes home",
        "Write a short essay comparing democracy and monarchy",
        route="home",
    ),
    Request(
        "Nobody allowed this, so it does not happen",
        "Remind me at 6pm to take the bins out",
        exit_status=3,
        route="phone",
    ),
    Request(
        "A long job at home; the node is killed in the middle, and it still ends",
        "Summarise all documents in my folder letters",
        ("--route", "home"),
        route="home",
        kill_job=True,
    ),
    Request(
        "The node is killed in the middle of an answer",
        "Summarise the plot of Hamlet in five sentences",
        ("--route", "home"),
        kill_node=True,
    ),
    Request(
        "The node stays down: the phone answers, and says so",
        "Explain how public key cryptography works",
        route="phone",
    ),
)


@dataclass
class Outcome:
    """What came of a request.

    Attributes:
        request: the request.
        answer: the last line of `homing ask --json`.
        status: the exit status.
    """

    request: Request
    answer: dict[str, Any]
    status: int


@dataclass
class Home:
    """Everything that runs.

    Attributes:
        folder: temporary, holds both data directories.
        stand_in: whether stand-in models are used.
        processes: to be ended at the end.
        port: of the node, over all its lives.
    """

    folder: Path
    stand_in: bool
    processes: list[subprocess.Popen[str]] = field(default_factory=list["subprocess.Popen[str]"])
    port: int = 0

    @property
    def environment(self) -> dict[str, str]:
        """Both programs find their data here, and nothing of the user's own is touched."""
        return os.environ | {
            "HOMING_DATA_DIR": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            # Here both say when their models compute, and so share the cores.
            "XDG_RUNTIME_DIR": str(self.folder),
        }

    def command(self, program: str, *arguments: str) -> list[str]:
        """A program of this checkout's environment."""
        return [str(BIN / program), *arguments]

    def start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a program whose output is read line by line."""
        process = subprocess.Popen(  # noqa: S603  # our own programs
            self.command(program, *arguments),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def run(self, program: str, *arguments: str) -> str:
        """Run a program to its end; raises `DemoError` with what it said if it fails."""
        done = subprocess.run(  # noqa: S603  # our own programs
            self.command(program, *arguments),
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=START_S,
            check=False,
        )
        if done.returncode:
            raise DemoError(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    def stop(self) -> None:
        """End every process, the politest way first."""
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Lines:
    """A process's output, line by line, with a deadline. The process may go on after it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Begin to read."""
        self._process = process
        self._lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put(None)

    def objects(self, seconds: float) -> Iterator[dict[str, Any]]:
        """Its JSON objects until it ends; raises `DemoError` when the time is over."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                line = self._lines.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty as error:
                msg = "a program did not answer in time"
                raise DemoError(msg) from error
            if line is None:
                return
            with contextlib.suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict):
                    yield found


def free_port() -> int:
    """One that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def write_letters(home: Home) -> None:
    """A folder with letters, which the node's owner opens to its tools."""
    letters = home.folder / "letters"
    letters.mkdir()
    for name, text in LETTERS.items():
        (letters / name).write_text(text + "\n", encoding="utf-8")
    node = home.folder / "node"
    node.mkdir(mode=0o700)
    folders = f"[documents]\nfolders = [{json.dumps(str(letters))}]\n"
    (node / "node.toml").write_text(folders, encoding="utf-8")


def fetch_models() -> bool:
    """Get both models, with progress bars; whether they are stand-ins."""
    CONSOLE.rule("[bold]Models", align="left")
    for stand_in in (False, True):
        words = ["--stand-in"] if stand_in else []
        fetched = all(
            subprocess.run(  # noqa: S603  # our own programs; progress bars belong to the terminal
                [str(BIN / program), "models", "fetch", *words], check=False
            ).returncode
            == 0
            for program in ("homing", "homing-node")
        )
        if fetched:
            return stand_in
        if not stand_in:
            CONSOLE.print(
                "BotPsy cannot be fetched here, so this demo uses stand-in models. They are small "
                "and often wrong; what they show is the way, not the quality."
            )
    msg = "no model can be fetched; see above"
    raise DemoError(msg)


def start_node(home: Home) -> subprocess.Popen[str]:
    """Start the home node and wait until its model is loaded."""
    flags = ["--stand-in"] if home.stand_in else []
    node = home.start("homing-node", "run", "--host", "127.0.0.1", "--port", str(home.port), *flags)
    said = ""
    for event in Lines(node).objects(START_S):
        if event.get("event") == "model.ready":
            return node
        said = json.dumps(event)
    msg = f"the node did not start: {said}"
    raise DemoError(msg)


def pair(home: Home) -> None:
    """Pair the phone with the node, by the real link."""
    opening = home.start("homing-node", "pair", "--json")
    events = Lines(opening).objects(START_S)
    link = next(event["link"] for event in events if event.get("event") == "opened")
    CONSOLE.print(home.run("homing", "pair", link).strip())
    if not any(event.get("event") == "paired" for event in events):
        msg = "the node did not see the pairing"
        raise DemoError(msg)


def start_phone(home: Home) -> None:
    """Start the phone's resident process and wait until its model is warm."""
    flags = ["--stand-in"] if home.stand_in else []
    phone = home.start("homing", "serve", "--json", *flags)
    for event in Lines(phone).objects(START_S):
        if event.get("event") == "ready":
            return
        if event.get("event") == "problem":
            raise DemoError(str(event.get("text")))
    msg = "the phone's resident process did not start"
    raise DemoError(msg)


def ask(home: Home, request: Request, nodes: list[subprocess.Popen[str]]) -> Outcome:
    """Ask, and show the answer as it comes. The last of `nodes` is the one that runs."""
    CONSOLE.print()
    CONSOLE.rule(f"[bold]{escape(request.title)}", align="left")
    CONSOLE.print(f"[bold]> {escape(request.text)}[/bold]")
    process = home.start("homing", "ask", "--json", *request.options, request.text)
    answer: dict[str, Any] = {}
    pieces = 0
    bar = JobBar()
    for event in Lines(process).objects(ASK_S):
        match event.get("event"):
            case "text":
                pieces += 1
                CONSOLE.print(escape(str(event["text"])), end="", soft_wrap=True)
                if request.kill_node and pieces == PIECES_BEFORE_KILL:
                    kill(nodes[-1])
            case "progress":
                bar.show(event)
                if request.kill_job and len(nodes) == 1 and (event.get("done") or 0) >= 1:
                    kill(nodes[-1])
                    nodes[-1].wait()
                    nodes.append(start_node(home))
                    CONSOLE.print("[dim]it is started again, and goes on with the job[/dim]")
            case "note" | "route" if event.get("text") or event.get("route") != "phone":
                said = (
                    event.get("text") or f"→ {event['route']} ({event['node']}): {event['reason']}"
                )
                CONSOLE.print(f"\n[dim]{escape(str(said))}[/dim]")
            case "tool" if "result" in event:
                CONSOLE.print(
                    f"[dim]{escape(event['name'])}({escape(json.dumps(event['arguments']))}): "
                    f"{escape(event['approved_by'] or 'not run')}[/dim]"
                )
            case "answer":
                answer = event
            case _:
                pass
    CONSOLE.print()
    status = process.wait(timeout=ASK_S)
    if answer.get("error"):
        CONSOLE.print(f"[yellow]{escape(answer['error']['what'])}[/yellow]")
    check(request, answer, status)
    return Outcome(request, answer, status)


def kill(node: subprocess.Popen[str]) -> None:
    """As a power cut does it."""
    node.send_signal(signal.SIGKILL)
    CONSOLE.print("\n[red]kill -9 homing-node[/red]")


class JobBar:
    """A line for each step of a job that is new."""

    def __init__(self) -> None:
        """Nothing is shown."""
        self._last = ("", -1.0)

    def show(self, event: dict[str, Any]) -> None:
        """Show how far it is, unless that is known."""
        seen = (str(event.get("state")), float(event.get("done") or 0))
        if seen == self._last:
            return
        self._last = seen
        done, total = int(seen[1]), int(event.get("total") or 0)
        bar = "█" * (20 * done // total) if total else ""
        words = f"{event.get('unit') or ''} {event.get('note') or ''}".strip()
        count = f"{done} of {total}" if total else ""
        CONSOLE.print(f"[dim]{seen[0]:<10}[/dim] {bar:<20} {count} {escape(words)}")


def check(request: Request, answer: dict[str, Any], status: int) -> None:
    """The demo tells no stories: what it announced must have happened."""
    if status != request.exit_status:
        msg = f"exit status {status} instead of {request.exit_status}"
        raise DemoError(msg)
    if request.kill_job and not any(step["where"] == "home" for step in answer["tool_calls"]):
        msg = "the model did not start the job"
        raise DemoError(msg)
    if request.route and answer.get("route") != request.route:
        msg = f"answered by {answer.get('route')} instead of {request.route}"
        raise DemoError(msg)
    if not request.exit_status and not str(answer.get("text", "")).strip():
        msg = "the answer is empty"
        raise DemoError(msg)


def show_reminder(home: Home) -> None:
    """The reminder is in the calendar file that any calendar program reads."""
    for file in sorted((home.folder / "phone" / "data").rglob("*.ics")):
        lines = [
            line
            for line in file.read_text("utf-8").splitlines()
            if line.startswith(("SUMMARY", "DUE", "DTSTART"))
        ]
        if lines:
            CONSOLE.print(f"\n[dim]{file.name}: {escape(', '.join(lines))}[/dim]")
            return
    msg = "the reminder is in no .ics file"
    raise DemoError(msg)


def show_table(outcomes: list[Outcome]) -> None:
    """What was asked, where it was answered and why, and how long it took."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_lines=True, expand=True)
    table.add_column("Request and reason", ratio=1)
    table.add_column("Route", no_wrap=True)
    table.add_column("Model", max_width=13, overflow="fold")
    table.add_column("Tool", max_width=12, overflow="fold")
    table.add_column("First token", no_wrap=True)
    table.add_column("Total", no_wrap=True)
    for outcome in outcomes:
        answer = outcome.answer
        tools = [f"{step['name']} ({step['approved_by']})" for step in answer["tool_calls"]]
        first = answer["ttft_ms"]
        table.add_row(
            f"{escape(outcome.request.text)}\n[dim]{escape(str(answer['reason']))}[/dim]",
            str(answer["route"]),
            escape(str(answer["model"])),
            escape("\n".join(tools)),
            "-" if first < 0 else f"{first / 1000:.2f} s",
            f"{answer['total_ms'] / 1000:.2f} s",
        )
    CONSOLE.print()
    CONSOLE.print(table)


@contextlib.contextmanager
def temporary_home(*, stand_in: bool) -> Generator[Home]:
    """A folder and whatever runs in it; both are gone afterwards."""
    # A unix socket's path must be short, so not below the checkout.
    folder = Path(tempfile.mkdtemp(prefix="homing-demo-"))
    home = Home(folder, stand_in, port=free_port())
    try:
        yield home
    finally:
        home.stop()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Show everything; 0 if all of it went as announced."""
    try:
        stand_in = fetch_models()
        started = time.monotonic()
        with temporary_home(stand_in=stand_in) as home:
            write_letters(home)
            CONSOLE.rule("[bold]A home node and a phone, both on this computer", align="left")
            with CONSOLE.status("starting the home node"):
                nodes = [start_node(home)]
            with CONSOLE.status("starting the phone: its model reads the tools once"):
                start_phone(home)
            with CONSOLE.status("pairing"):
                pair(home)
            outcomes: list[Outcome] = []
            for request in REQUESTS:
                outcomes.append(ask(home, request, nodes))
                if len(outcomes) == 1:
                    show_reminder(home)
            show_table(outcomes)
    except DemoError as error:
        CONSOLE.print(f"\n[red]The demo failed: {escape(str(error))}[/red]")
        return 1
    except KeyboardInterrupt:
        return 130
    CONSOLE.print(
        f"\nAll of it took {time.monotonic() - started:.0f} s, and nothing is left behind."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
