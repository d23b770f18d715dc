"""How long to wait before a server that failed is started again."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things may take, in seconds.

    Attributes:
        first_pause: before the first new try.
        longest_pause: before any try.
        settled: up for so long, a server's earlier failures are forgotten.
        stop: a server may take to leave when its input ends, and again when it is told to.
        cancel: a server may take to answer after a call was cancelled.
        between_lists: at least so long between two readings of a server's tools.
    """

    first_pause: float = 0.5
    longest_pause: float = 300.0
    settled: float = 60.0
    stop: float = 1.5
    cancel: float = 5.0
    between_lists: float = 1.0


def pause_after(failures: int, timing: Timing, chance: float | None = None) -> float:
    """Seconds to wait after so many failures in a row.

    It doubles each time, and up to half of it is taken away by chance, so that what failed together
    does not come back together.

    Args:
        failures: at least 1.
        timing: the bounds.
        chance: from 0 to 1; None draws it.
    """
    drawn = random.random() if chance is None else chance  # noqa: S311  # spreads load, no secret
    longest = min(timing.longest_pause, timing.first_pause * 2.0 ** min(failures - 1, 32))
    return longest * (1 - drawn / 2)


class Pause:
    """A pause that can be ended early, all but its shortest part."""

    def __init__(self, timing: Timing) -> None:
        """None is being made."""
        self._shortest = timing.first_pause
        self._ended = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Make one."""
        shortest = min(seconds, self._shortest)
        self._ended.clear()
        await asyncio.sleep(shortest)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds - shortest):
                await self._ended.wait()

    def end(self) -> None:
        """Do not wait for its end."""
        self._ended.set()
