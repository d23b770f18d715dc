"""What `homing-node run` shows: to a person, to a script, or to nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from homing_agent.runtime.cli import print_json
from homing_agent.runtime.model_host import Phase
from homing_inference.catalog.console import FetchBar

from homing_node.cli.console import SHORT_ID, safe

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from homing_agent.runtime.model_host import ModelStatus
    from homing_core.errors import HomingError
    from rich.console import Console

    from homing_node.assembly import RunningNode
    from homing_node.cli.options import Setup


class Silence:
    """Nobody watches; the log says it all."""

    def up(self, node: RunningNode) -> None:
        """Say nothing."""

    def model(self, status: ModelStatus) -> None:
        """Say nothing."""

    def stopping(self) -> None:
        """Say nothing."""


class JsonLines:
    """One JSON object a line on standard output; the model's progress in whole percents."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._last: tuple[str, str, int] | None = None

    def up(self, node: RunningNode) -> None:
        """Where it is reached."""
        print_json(
            {
                "event": "up",
                "node_id": node.facts.id,
                "name": node.facts.name,
                "addresses": list(node.addresses()),
                **({"audit_broken": node.record_broken} if node.record_broken else {}),
            }
        )

    def model(self, status: ModelStatus) -> None:
        """How far the model is."""
        state = (status.phase.name.lower(), status.name, status.percent)
        if state != self._last:
            self._last = state
            print_json(
                {
                    "event": "model",
                    "state": state[0],
                    "name": status.name,
                    "percent": status.percent,
                    "stand_in": status.stand_in,
                }
            )

    def stopping(self) -> None:
        """It was asked to end."""
        print_json({"event": "stopping"})


class Screen:
    """A few lines for a person, and a bar while the model comes.

    Args:
        console: a terminal.
        setup: what the command was told, for the commands that it names.
        log_file: where the log goes; None if it goes elsewhere.
    """

    def __init__(self, console: Console, setup: Setup, log_file: Path | None) -> None:
        """Show nothing yet."""
        self._console = console
        self._setup = setup
        self._log_file = log_file
        self._bar = FetchBar(console)
        self._ready = False
        self._said = ""
        self._error: Callable[[], HomingError | None] | None = None

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal clean."""
        self._bar.__exit__(kind, error, trace)

    def up(self, node: RunningNode) -> None:
        """Who it is, where it is reached, and what to do next."""
        known = sum(1 for device in node.store.devices() if device.listed)
        pair = safe(self._setup.command("pair"))
        self._console.print(
            f"[bold]{safe(node.facts.name)}[/bold] is up, Homing {safe(node.facts.version)}"
        )
        self._line("node", node.facts.id[:SHORT_ID])
        self._line("address", safe(", ".join(node.addresses())))
        self._line("devices", f"{known or 'none'} paired; pair a phone with: [bold]{pair}[/bold]")
        if node.record_broken:
            self._console.print(
                f"  [bold red]The audit log is broken[/bold red]: {safe(node.record_broken)}. "
                f"See {safe(self._setup.command('audit verify'))}"
            )
        further = [slot.name for slot in node.models.slots[1:]]
        if further:
            self._line("also", safe(", ".join(further)))
        if self._log_file is not None:
            self._line("log", safe(str(self._log_file)))
        slot = node.models.slots[0]
        if slot.resident:  # another server; where our own model fails, the daemon ends and says why
            self._error = lambda: slot.host.error
        self._bar.__enter__()

    def model(self, status: ModelStatus) -> None:
        """A bar while it comes, a line when it is there."""
        if status.phase is Phase.READY and not self._ready:
            self._ready, self._said = True, ""
            self._bar.__exit__(None, None, None)
            more = f", {status.quantization}" if status.quantization else ""
            mark = " [yellow](stand-in)[/yellow]" if status.stand_in else ""
            self._line("model", f"{safe(status.name)}{more}, ready{mark}")
            self._console.print("Ctrl-C stops it.")
        elif status.phase is Phase.FAILED:
            self._away(status)
        elif not self._ready:
            self._bar(status.done, status.total, status.step or status.words)

    def _away(self, status: ModelStatus) -> None:
        """Another server does not answer: once, and again after it was there."""
        self._bar.__exit__(None, None, None)
        self._ready = False
        why = self._error() if self._error else None
        if why is None or str(why) == self._said:
            return
        self._said = str(why)
        self._line("model", f"{safe(status.name)} is not available: {safe(self._said)}")

    def stopping(self) -> None:
        """It was asked to end."""
        self._console.print("Stopping; running answers are finished first. Ctrl-C again: at once.")

    def _line(self, title: str, text: str) -> None:
        self._console.print(f"  {title:<9}{text}")
