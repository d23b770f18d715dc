"""Ways to make a person notice: Android's notifications, the desktop's, or a line in a terminal."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, UnavailableError

from homing_agent.tools.command import run_command

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_agent.alarms.base import Notifier

_TIMEOUT_S = 10.0


class TermuxNotifier:
    """Android's own notifications, through Termux:API."""

    async def notify(self, title: str, text: str) -> None:
        """As in `Notifier`."""
        # In the form --name=value nothing in the text can be taken for an option.
        arguments = (f"--title={title}", f"--content={text}", "--priority=high", "--sound")
        await run_command("termux-notification", arguments, timeout_s=_TIMEOUT_S)


class DesktopNotifier:
    """The desktop's notifications, through `notify-send` (libnotify)."""

    async def notify(self, title: str, text: str) -> None:
        """As in `Notifier`."""
        await run_command("notify-send", ("--", title, text), timeout_s=_TIMEOUT_S)


class LineNotifier:
    """A line to whoever is attached.

    Args:
        write: takes the line; False if nobody is there to read it.
    """

    def __init__(self, write: Callable[[str], bool]) -> None:
        """Keep it."""
        self._write = write

    async def notify(self, title: str, text: str) -> None:
        """As in `Notifier`."""
        if not self._write(f"{title}: {text}"):
            msg = "nobody is attached to a terminal"
            raise UnavailableError(msg)


class FirstOf:
    """The first way that works.

    Args:
        ways: in order of preference.
    """

    def __init__(self, ways: Sequence[Notifier]) -> None:
        """Keep them."""
        self._ways = tuple(ways)

    async def notify(self, title: str, text: str) -> None:
        """As in `Notifier`."""
        for way in self._ways:
            try:
                await way.notify(title, text)
            except HomingError:
                continue
            return
        msg = "there is no way to notify anybody now"
        raise UnavailableError(msg, "Keep a terminal attached, or install Termux:API.")


def default_notifier(write: Callable[[str], bool]) -> FirstOf:
    """The ways that this device has: Termux, the desktop, then a line in a terminal.

    Args:
        write: as in `LineNotifier`.
    """
    ways: list[Notifier] = []
    if shutil.which("termux-notification"):
        ways.append(TermuxNotifier())
    if shutil.which("notify-send"):
        ways.append(DesktopNotifier())
    return FirstOf([*ways, LineNotifier(write)])
