"""Who may run and who waits, persons before jobs. For engines that live in an event loop."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import Final

from homing_core.errors import OverloadedError, UnavailableError
from homing_core.generation import Priority

_RANK: Final = {Priority.INTERACTIVE: 0, Priority.JOB: 1}
_RETRY_MS: Final = 1000


class Slots:
    """A number of places and a bounded queue for them. Belongs to one event loop.

    Args:
        places: how many may run at once.
        max_waiting: how many may wait; more are refused.

    Attributes:
        running: places that are taken.
    """

    def __init__(self, places: int, max_waiting: int) -> None:
        """All places are free."""
        self._places = places
        self._max_waiting = max_waiting
        self._queue: list[tuple[int, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()
        self.running = 0

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(not future.done() for _, _, future in self._queue)

    async def enter(self, priority: Priority, deadline_ms: int = 0) -> None:
        """Take a place, or wait for one; give it back with `leave`.

        Args:
            priority: persons go first, then whoever came first.
            deadline_ms: milliseconds to wait at most; 0 is no limit.

        Raises:
            OverloadedError: too many wait.
            UnavailableError: the deadline passed.
        """
        if self.running < self._places:
            self.running += 1
            return
        if self.waiting >= self._max_waiting:
            msg = f"{self.waiting} requests wait already"
            raise OverloadedError(msg, "Ask again in a moment.", _RETRY_MS)
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._queue, (_RANK[priority], next(self._numbers), future))
        try:
            async with asyncio.timeout(deadline_ms / 1000 if deadline_ms else None):
                await future
        except BaseException as error:
            if not future.cancel() and not future.cancelled():
                self.leave()  # the place was given and the wait ended at the same moment
            if isinstance(error, TimeoutError):
                msg = f"the answer was not complete after {deadline_ms} ms"
                hint = "Allow more time, or ask for a shorter answer."
                raise UnavailableError(msg, hint) from None
            raise

    def leave(self) -> None:
        """Give a place back; whoever is first in the queue gets it."""
        while self._queue:
            _, _, future = heapq.heappop(self._queue)
            if not future.done():
                future.set_result(None)
                return
        self.running -= 1
