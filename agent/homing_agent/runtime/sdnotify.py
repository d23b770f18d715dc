"""Telling systemd how we are: sd_notify(3) in a few lines.

Without `NOTIFY_SOCKET` in the environment nothing happens.
"""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

READY = "READY=1"
STOPPING = "STOPPING=1"
WATCHDOG = "WATCHDOG=1"


def status(text: str) -> str:
    """The line that `systemctl status` shows."""
    return f"STATUS={text}"


def notify(*states: str, environ: Mapping[str, str] | None = None) -> bool:
    """Send states; whether there was somebody to send them to. Never fails."""
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        # An "@" stands for the zero byte of Linux's abstract namespace.
        sender.connect("\0" + address[1:] if address[0] == "@" else address)
        sender.send("\n".join(states).encode())
        return True
    return False


def watchdog_seconds(environ: Mapping[str, str] | None = None) -> float | None:
    """How often to send `WATCHDOG`: half of what systemd allows; None if it does not watch us."""
    env = os.environ if environ is None else environ
    if env.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    micros = env.get("WATCHDOG_USEC", "")
    return int(micros) / 2_000_000 if micros.isdecimal() and int(micros) > 0 else None
