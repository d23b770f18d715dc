"""Work that goes on by itself: what fails is logged, and the rest goes on."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Iterable

_log = get_logger(__name__)


class Background:
    """Short pieces of work that nobody waits for."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[object, object, None]) -> None:
        """Begin it."""
        task = asyncio.create_task(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self, wait_s: float) -> None:
        """Give what runs `wait_s` seconds to end, then end it."""
        if not self._tasks:
            return
        tasks = set(self._tasks)
        await asyncio.wait(tasks, timeout=wait_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def running(work: Iterable[Coroutine[object, object, None]]) -> AsyncGenerator[None]:
    """Let all of it run for the length of a block."""
    tasks = [asyncio.create_task(_logged(one)) for one in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _logged(work: Coroutine[object, object, None]) -> None:
    try:
        await work
    except Exception as error:  # noqa: BLE001  # logged; the rest of the process goes on
        _log.error("background.failed", exc_info=error)
