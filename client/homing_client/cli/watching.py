"""What `homing serve` shows while it runs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.cli import print_json
from rich.text import Text

from homing_client.cli.console import err, printable
from homing_client.readiness import Happening

if TYPE_CHECKING:
    from rich.status import Status


class JsonWatch(contextlib.ExitStack):
    """One object for each thing that happens."""

    def tell(self, happening: Happening, text: str) -> None:
        """Print it."""
        print_json({"event": happening.value, "text": text})


class TextWatch(contextlib.ExitStack):
    """A line for each thing that happens; on a terminal, progress turns in its place."""

    def __init__(self) -> None:
        """Nothing is shown yet."""
        super().__init__()
        self._spinner: Status | None = None

    def tell(self, happening: Happening, text: str) -> None:
        """Show it."""
        if happening is Happening.ACTIVITY and err.is_terminal:
            self._turn(text)
            return
        if happening is Happening.ACTIVITY:
            return  # a file or a journal wants no line for every percent
        self._still()
        style = "bold" if happening is Happening.ALARM else "dim"
        err.print(printable(text), style=style, markup=False, soft_wrap=True)

    def _turn(self, text: str) -> None:
        line = Text(printable(text), style="dim")
        if self._spinner is None:
            self._spinner = self.enter_context(err.status(line))
        else:
            self._spinner.update(line)

    def _still(self) -> None:
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None
