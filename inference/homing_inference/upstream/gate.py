"""How many requests are sent at once, and who comes first."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from homing_core.errors import OverloadedError
from homing_core.generation import Priority

MAX_WAITING: Final = 64
"""Requests that may wait; a further one is refused."""
_RETRY_MS: Final = 1000


class Gate:
    """Lets so many through at once; of those who wait, interactive ones first.

    Args:
        places: how many at once, at least 1.
        max_waiting: how many may wait.
    """

    def __init__(self, places: int, max_waiting: int = MAX_WAITING) -> None:
        """Nobody is inside."""
        self._places: Final = max(1, places)
        self._max_waiting: Final = max_waiting
        self._queues: Final = {
            priority: deque[asyncio.Future[None]]()
            for priority in (Priority.INTERACTIVE, Priority.JOB)
        }
        self.running = 0

    @property
    def waiting(self) -> int:
        """How many wait."""
        return sum(map(len, self._queues.values()))

    async def enter(self, priority: Priority) -> None:
        """Wait for a place; whoever got one leaves it again.

        Raises:
            OverloadedError: too many wait.
        """
        if self.running < self._places and not self.waiting:
            self.running += 1
            return
        if self.waiting >= self._max_waiting:
            msg = f"{self.waiting} requests wait for the model server already"
            raise OverloadedError(msg, "Try again a little later.", _RETRY_MS)
        turn = asyncio.get_running_loop().create_future()
        queue = self._queues[priority]
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # its turn had come in the same moment
            else:
                queue.remove(turn)
            raise

    def leave(self) -> None:
        """Give the place to the next."""
        self.running -= 1
        for queue in self._queues.values():
            if queue:
                self.running += 1
                queue.popleft().set_result(None)
                return
