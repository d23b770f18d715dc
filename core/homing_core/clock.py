"""Time as a boundary, so that decisions about time can be tested without waiting."""

from __future__ import annotations

import sys
import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> float:
        """Wall time in seconds since the Unix epoch; may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> float:
        """Wall time in seconds since the Unix epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds from an arbitrary start."""
        return time.monotonic()


if sys.platform == "linux":

    def boot_time() -> float:
        """Seconds from an arbitrary start that also pass while the machine is suspended.

        The same for all processes of a machine. Where a system has no such clock, suspension is not
        counted. On Linux `CLOCK_MONOTONIC` stands still in it, so this is `CLOCK_BOOTTIME`; see
        clock_gettime(2).
        """
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:

    def boot_time() -> float:
        """Seconds from an arbitrary start that also pass while the machine is suspended.

        The same for all processes of a machine. Where a system has no such clock, suspension is not
        counted. On macOS `CLOCK_MONOTONIC` goes on in it; see clock_gettime(3) there.
        """
        return time.clock_gettime(time.CLOCK_MONOTONIC)
