"""How a supervisor hears that the process which waits for its program is alive."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from homing_core.clock import boot_time

_BEATS: Final = 5
"""So often within the longest silence."""


class Heart:
    """Beats into a supervisor's input.

    Args:
        silence_s: seconds after which the supervisor takes this process for gone; 0 is never.
    """

    def __init__(self, silence_s: float) -> None:
        """It has just been heard."""
        self._silence_s = silence_s
        self._heard = boot_time()
        self._longest = 0.0

    async def beat(self, stdin: asyncio.StreamWriter) -> None:
        """Do so for ever, if anybody waits for it."""
        while self._silence_s and not stdin.is_closing():
            await asyncio.sleep(self._silence_s / _BEATS)
            self._look()
            with contextlib.suppress(ConnectionError):
                stdin.write(b"\n")
                await stdin.drain()

    def was_silent(self) -> bool:
        """Whether it did so too seldom."""
        self._look()
        return bool(self._silence_s) and self._longest >= self._silence_s

    def _look(self) -> None:
        now = boot_time()
        self._longest = max(self._longest, now - self._heard)
        self._heard = now
