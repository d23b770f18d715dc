"""The job store for one event loop: in threads of its own, and whoever watches a job is woken."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from homing_agent.runtime.logs import get_logger
from homing_core.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_node.jobs.store import JobKey, JobStore

P = ParamSpec("P")
T = TypeVar("T")

_THREADS: Final = 4
RETRY_S: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
"""Waits between attempts to store what must not be forgotten, in seconds."""

_log = get_logger(__name__)


class Records:
    """Calls a `JobStore` off the loop. Belongs to one event loop.

    Args:
        store: where jobs are kept.
    """

    def __init__(self, store: JobStore) -> None:
        """Nobody watches yet."""
        self.store = store
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="jobs")
        self._hurry = asyncio.Event()
        self._watched: dict[JobKey, asyncio.Event] = {}

    async def call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What a method of the store says; raises what it raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(method, *args, **kwargs))

    async def change(
        self, key: JobKey, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The same for one that changes a job: whoever watches it is woken afterwards."""
        try:
            return await self.call(method, *args, **kwargs)
        finally:
            self.ring(key)

    async def steadily(
        self, key: JobKey, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As `change`, for what must not be forgotten: a full or busy disk is waited for.

        Raises:
            UnavailableError: the store does not let us, for long, or the node stops.
        """
        for wait in RETRY_S:
            try:
                return await self.change(key, method, *args, **kwargs)
            except UnavailableError as error:
                _log.warning("job.not_stored", job=key.id, reason=error.what)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._hurry.wait()
        return await self.change(key, method, *args, **kwargs)

    def hurry(self) -> None:
        """The node stops: nothing is waited for any more."""
        self._hurry.set()

    def changed(self, key: JobKey) -> asyncio.Event:
        """Set at the next change; ask for it before you look."""
        return self._watched.setdefault(key, asyncio.Event())

    def ring(self, key: JobKey) -> None:
        """Wake whoever watches a job."""
        event = self._watched.pop(key, None)
        if event is not None:
            event.set()

    def forget(self, key: JobKey, event: asyncio.Event) -> None:
        """Nobody waits for this event any more; harmless if others do."""
        if self._watched.get(key) is event and not event.is_set():
            self.ring(key)

    def close(self) -> None:
        """Wait for what is under way, then let go of the store."""
        self._threads.shutdown(wait=True)
        self.store.close()
