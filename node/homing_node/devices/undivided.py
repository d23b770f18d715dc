"""Changes that go on to their end, even if whoever asked for them goes away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class Undivided:
    """Runs each change in a task of its own. Belongs to one event loop."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._under_way: set[asyncio.Task[Any]] = set()

    async def run(self, change: Coroutine[Any, Any, T]) -> T:
        """The change's outcome; it goes on where this is cancelled."""
        task = asyncio.create_task(change)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # seen, even where nobody waits for it any more
