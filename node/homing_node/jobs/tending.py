"""What a daemon does for jobs now and then: its lease, those that nobody runs, and what is over."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.clock import boot_time
from homing_core.errors import HomingError, NotFoundError, UnavailableError
from homing_core.jobs import JobState
from homing_crypto.results import RESULT_LIFETIME_S

from homing_node.jobs.closing import cancelled
from homing_node.jobs.store import LostJobError
from homing_node.jobs.supervised import Why

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from homing_node.jobs.attempt import Attempt
    from homing_node.jobs.attempt_parts import AttemptParts
    from homing_node.jobs.place import Place
    from homing_node.jobs.store import JobKey, JobRow
    from homing_node.jobs.workflows import Workflows

_HOUSEKEEPING_S: Final = 3600.0
_DAY_S: Final = 86_400.0

_log = get_logger(__name__)


class Tender:
    """Looks after jobs. Belongs to one event loop.

    Args:
        parts: what attempts are made with.
        workflows: what drives them.
        place: which daemon this is.
        running: attempts that are under way here.
        again: told of a job that nobody runs and that is to be run.
    """

    def __init__(
        self,
        parts: AttemptParts,
        workflows: Workflows,
        place: Place,
        running: Mapping[JobKey, Attempt],
        again: Callable[[JobRow], None],
    ) -> None:
        """Nothing was looked at."""
        self._parts = parts
        self._records = parts.records
        self._store = parts.records.store
        self._workflows = workflows
        self._place = place
        self._running = running
        self._again = again
        self._kept_house_at = -_HOUSEKEEPING_S

    async def beat(self) -> None:
        """Say that this daemon is alive, and look after jobs that nobody runs."""
        for work in (
            self._renew,
            self._take_over,
            self._end_wanted,
            self._expire,
            self._keep_house,
        ):
            try:
                await work()
            except HomingError as error:
                _log.warning("jobs.beat_failed", reason=error.what)
            except Exception as error:  # noqa: BLE001  # the next beat may do better
                _log.error("jobs.beat_failed", exc_info=error)

    async def _renew(self) -> None:
        under_way, since = tuple(self._running.items()), boot_time()
        if not under_way:
            return
        mine = await self._records.call(
            self._store.renew,
            self._place.runner,
            await self._time(),
            self._parts.section.lease_seconds,
        )
        held = {row.fence: row for row in mine}
        for key, attempt in under_way:
            row = held.get(attempt.row.fence)
            if row is not None:
                attempt.renewed(since)
                if row.cancel_wanted:
                    attempt.tell(Why.CANCELLED)
            elif self._place.shared:
                await self._look_for(key, attempt)

    async def _look_for(self, key: JobKey, attempt: Attempt) -> None:
        """An attempt does not have its job any more: why?"""
        try:
            row = await self._records.call(self._store.get, key)
        except NotFoundError:  # its device was shut out at another daemon
            attempt.tell(Why.DROPPED)
            return
        if row.attempt != attempt.row.attempt or row.state is not JobState.RUNNING:
            attempt.tell(Why.LOST)

    async def _time(self) -> float:
        return await self._records.call(self._store.time, self._parts.clock.now())

    async def _take_over(self) -> None:
        """Jobs of this daemon that it does not run, and of others whose lease is over."""
        lost = await self._records.call(self._store.lost, await self._time(), self._place.runner)
        for row in lost:
            if row.key in self._running:
                continue
            if row.cancel_wanted:
                with contextlib.suppress(LostJobError):
                    await self._parts.closer.end(row, cancelled(row))
            else:
                self._again(row)

    async def _end_wanted(self) -> None:
        """Jobs that no attempt is at, and whose end was wanted while one was."""
        for row in await self._records.call(self._store.unended):
            if row.cancel_wanted and row.state is not JobState.RUNNING:
                with contextlib.suppress(LostJobError):
                    await self._parts.closer.end(row, cancelled(row))

    async def _expire(self) -> None:
        """Nobody has answered: the job ends as refused."""
        now = self._parts.clock.now()
        for question in await self._records.call(self._store.questions):
            if now < question.expires_at:
                continue
            row = await self._records.call(self._store.get, question.key)
            if row.state is not JobState.WAITING_APPROVAL:
                continue
            msg = "nobody answered in time whether this may be done"
            error = UnavailableError(msg, "Hand the job in again.")
            with contextlib.suppress(LostJobError):
                await self._parts.closer.refuse(row, error, "refused: nobody answered in time")

    async def _keep_house(self) -> None:
        """Forget what ended long ago."""
        now = self._parts.clock.monotonic()
        if now - self._kept_house_at < _HOUSEKEEPING_S:
            return
        self._kept_house_at = now
        wall = self._parts.clock.now()
        before = wall - self._parts.section.keep_days * _DAY_S
        unopenable = wall - RESULT_LIFETIME_S
        await self._records.call(self._store.prune, before, max(before, unopenable))
        await self._workflows.tidy(self._parts.clock.now() - _DAY_S)
