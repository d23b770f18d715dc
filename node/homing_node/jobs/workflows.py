"""The boundary to what drives attempts at jobs, and the plain form of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, TypeAlias

from homing_agent.runtime.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_node.jobs.store import JobKey

_log = get_logger(__name__)

Body: TypeAlias = "Callable[[JobKey, int], Awaitable[None]]"
"""Makes an attempt at a job, or finds that it is not to be made; on the node's event loop."""


class Workflows(Protocol):
    """Drives attempts. An attempt that was under way when a process died is driven again.

    Whether it is to be made then, the body decides: it is the one door into execution.
    """

    async def launch(self, body: Body) -> None:
        """Begin; harmless twice.

        Raises:
            UnavailableError: it cannot, just now: a database is locked or cannot be reached.
        """
        ...

    async def start(self, key: JobKey, attempt: int) -> None:
        """Drive an attempt; returns once it is noted. The same attempt again changes nothing.

        Raises:
            UnavailableError: it cannot be noted.
        """
        ...

    async def tidy(self, before: float) -> None:
        """Forget what was noted of attempts that ended before then, seconds since the epoch."""
        ...

    async def stop(self) -> None:
        """End; bodies have returned by then, or are left. Harmless if it never began."""
        ...


class MemoryWorkflows:
    """`Workflows` that end with their process, for nodes that share one, and for tests."""

    def __init__(self) -> None:
        """Nothing runs."""
        self._body: Body | None = None
        self._tasks: dict[tuple[JobKey, int], asyncio.Task[None]] = {}
        self._known: set[tuple[JobKey, int]] = set()

    async def launch(self, body: Body) -> None:
        """See `Workflows.launch`."""
        self._body = body

    async def start(self, key: JobKey, attempt: int) -> None:
        """See `Workflows.start`."""
        body, named = self._body, (key, attempt)
        if body is None or named in self._known:
            return
        self._known.add(named)
        task = asyncio.create_task(_driven(body, key, attempt))
        self._tasks[named] = task
        task.add_done_callback(lambda _: self._tasks.pop(named, None))

    async def tidy(self, before: float) -> None:
        """See `Workflows.tidy`; of what runs, nothing goes."""
        del before
        self._known = set(self._tasks)

    async def stop(self) -> None:
        """See `Workflows.stop`."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._body = None


async def _driven(body: Body, key: JobKey, attempt: int) -> None:
    try:
        await body(key, attempt)
    except Exception as error:  # noqa: BLE001  # one attempt's fault must not end the others
        _log.error("job.attempt_failed", job=key.id, exc_info=error)
