"""A counter that can be waited on: any number of waiters, nothing kept for any of them."""

from __future__ import annotations

import asyncio


class Pulse:
    """Counts beats. Waiters remember the count that they saw, so none misses a beat."""

    def __init__(self) -> None:
        """Start at 0, open."""
        self._count = 0
        self._closed = False
        self._event = asyncio.Event()

    @property
    def count(self) -> int:
        """Beats so far."""
        return self._count

    def beat(self) -> None:
        """Wake every waiter."""
        self._count += 1
        self._wake()

    def close(self) -> None:
        """Wake every waiter for the last time."""
        self._closed = True
        self._wake()

    def _wake(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    async def after(self, seen: int) -> bool:
        """Wait until there are more than `seen` beats; False if it is closed instead."""
        while not self._closed and self._count <= seen:
            await self._event.wait()
        return self._count > seen
