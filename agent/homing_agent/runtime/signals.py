"""Ending on a signal: the first asks politely, the second does not wait."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _leave(number: int) -> None:
    os._exit(128 + number)


@contextlib.contextmanager
def stop_on_signals(
    stop: asyncio.Event, leave: Callable[[int], None] = _leave
) -> Generator[asyncio.Event]:
    """Set `stop` on SIGTERM, SIGINT or SIGHUP while the block runs; call `leave` on the second.

    A signal that whoever started us has switched off stays so: `nohup` does that with SIGHUP.
    Must be entered on the main thread, inside the loop whose event is set.
    """
    loop = asyncio.get_running_loop()

    def handle(number: int) -> None:
        if stop.is_set():
            leave(number)
        stop.set()

    heeded = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heeded:
        loop.add_signal_handler(number, handle, number)
    try:
        yield stop
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
