"""Waiting for something to change, without a queue that could fill."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

V = TypeVar("V")


class News:
    """Wakes everybody who waits. Belongs to one event loop."""

    def __init__(self) -> None:
        """Nothing has happened yet."""
        self._event = asyncio.Event()

    def tell(self) -> None:
        """Something has changed."""
        self._event.set()
        self._event = asyncio.Event()

    async def wait(self, timeout_s: float) -> bool:
        """Wait for the next change; whether one came in time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        except TimeoutError:
            return False
        return True

    async def until(self, look: Callable[[], V | None]) -> V:
        """Look now and after every change, until something is found."""
        while True:
            event = self._event  # before looking, so that no change is missed
            found = look()
            if found is not None:
                return found
            await event.wait()
