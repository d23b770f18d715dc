"""Runs jobs: picks whose turn it is, has each driven as a workflow, and looks after those that run.

There is one door into execution, `execute`: whatever calls it, a workflow just begun or one that
DBOS recovers, it makes an attempt only if this process has just claimed it. Jobs that were under
way when a process died are claimed again here, as a new attempt: this daemon's own at its start,
another's once its lease is over.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.clock import boot_time
from homing_core.errors import HomingError
from homing_core.jobs import JobState

from homing_node.jobs import rules
from homing_node.jobs.attempt import Attempt
from homing_node.jobs.closing import End, cancelled, error_result
from homing_node.jobs.lease import Lease
from homing_node.jobs.store import Entry, LostJobError
from homing_node.jobs.supervised import Why
from homing_node.jobs.tending import Tender
from homing_node.jobs.turns import Turns

if TYPE_CHECKING:
    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice

    from homing_node.jobs.attempt_parts import AttemptParts
    from homing_node.jobs.opening import Access
    from homing_node.jobs.place import Place
    from homing_node.jobs.store import JobKey, JobRow
    from homing_node.jobs.workflows import Workflows

PAGE: Final = 5_000
"""Jobs of the queue that are looked at together."""
_BEATS: Final = 3
"""So often within a lease it is renewed."""
_MOST_BEAT_S: Final = 5.0
_SHARED_LOOK_S: Final = 1.0
"""How late another daemon's queue is seen."""
_LOOK_S: Final = 30.0
_HELD_S: Final = 15.0
"""For how long a job that cannot run just now is passed over."""
_RETRY_S: Final = 5.0
_SLACK_S: Final = 5.0

_log = get_logger(__name__)


class Scheduler:
    """See the module. Belongs to one event loop.

    Args:
        parts: what attempts are made with.
        workflows: what drives them.
        access: when a device may use the node.
        place: which daemon this is.
    """

    def __init__(
        self, parts: AttemptParts, workflows: Workflows, access: Access, place: Place
    ) -> None:
        """Nothing runs yet."""
        self._parts = parts
        self._records = parts.records
        self._store = parts.records.store
        self._workflows = workflows
        self._access = access
        self._place = place
        self._lease_s = parts.section.lease_seconds if place.shared else 0.0
        self._claimed: dict[tuple[JobKey, int], JobRow] = {}
        self._running: dict[JobKey, Attempt] = {}
        self._queue: dict[JobKey, JobRow] = {}
        self._turns = Turns(parts.section.at_once, self._running)
        self._wake = asyncio.Event()
        self._stale = True
        self._stopping = False
        self._tasks: list[asyncio.Task[None]] = []
        self._tender = Tender(parts, workflows, place, self._running, self._again)
        self.trouble = ""
        """Why no job can begin just now, for a person; empty if none stands in the way."""

    # Told from elsewhere

    def start(self) -> None:
        """Begin: what was under way is resumed, and what waits has its turn."""
        self._tasks = [asyncio.create_task(self._look()), asyncio.create_task(self._beats())]

    def queued(self, row: JobRow) -> None:
        """A job has come into the queue."""
        if row.state is JobState.QUEUED:
            self._queue[row.key] = row
            self._turns.free(row.key)
        self._wake.set()

    def _again(self, row: JobRow) -> None:
        """Nobody runs it: it has its turn once more."""
        self._queue.setdefault(row.key, row)
        self._wake.set()

    async def cancel(self, row: JobRow) -> JobRow:
        """End a job whose end is wanted: at once if nobody runs it here or elsewhere."""
        attempt = self._running.get(row.key)
        if attempt is not None:
            attempt.tell(Why.CANCELLED)
            return row
        self._queue.pop(row.key, None)
        if row.state is JobState.RUNNING and row.runner != self._place.runner:
            return row  # its daemon hears of it when it next says that it is alive
        with contextlib.suppress(LostJobError):
            return await self._parts.closer.end(row, cancelled(row))
        return await self._records.call(self._store.get, row.key)

    async def give_up(self, row: JobRow, error: HomingError) -> JobRow:
        """End a job that waits for a person, as failed."""
        end = End(JobState.FAILED, "given up: nobody knows whether it happened")
        end = replace(end, result=error_result(row, error), outcome="unknown")
        return await self._parts.closer.end(row, end)

    async def end_account(self, account: DeviceId) -> None:
        """Stop the tools of an account, really."""
        mine = [attempt for key, attempt in self._running.items() if key.account == account]
        for attempt in mine:
            attempt.tell(Why.DROPPED)
        for key in [key for key in self._queue if key.account == account]:
            del self._queue[key]
        await asyncio.gather(*(attempt.done.wait() for attempt in mine))

    async def stop(self) -> None:
        """Begin nothing more; what runs gets a moment, and is left to be resumed."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._records.hurry()
        for named in tuple(self._claimed):
            await self._unbegun(self._claimed.pop(named))
        attempts = tuple(self._running.values())
        for attempt in attempts:
            attempt.tell(Why.STOPPING)
        most = self._parts.grace_s + self._parts.stop_s + _SLACK_S
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(most):
                await asyncio.gather(*(attempt.done.wait() for attempt in attempts))
        await self._workflows.stop()

    async def execute(self, key: JobKey, attempt: int) -> None:
        """The body of a workflow: make an attempt if it was just claimed here."""
        row = self._claimed.pop((key, attempt), None)
        if row is None:
            return
        if self._stopping:
            await self._unbegun(row)
            return
        running = self._running[key]
        try:
            await running.run()
        finally:
            self._running.pop(key, None)
            await self._after(key)

    def runs(self, key: JobKey) -> bool:
        """Whether an attempt at it is under way here."""
        return key in self._running

    async def beat(self) -> None:
        """Look after jobs; see `Tender.beat`."""
        await self._tender.beat()

    def waits_for(self, row: JobRow) -> str:
        """Why a job does not begin, for a person; empty if it is not waiting for its turn.

        Of a database that several daemons share, this one knows only its own reasons.
        """
        return (self.trouble or self._turns.why(row.key)) if row.state is JobState.QUEUED else ""

    # By itself

    async def _look(self) -> None:
        """Start what can be started, for ever."""
        while True:
            self._wake.clear()
            wait = _SHARED_LOOK_S if self._place.shared else _LOOK_S
            try:
                await self._start_all()
                self.trouble = ""
            except HomingError as error:
                if self.trouble != error.what:
                    _log.warning("jobs.not_started", reason=error.what)
                self.trouble = error.what
                self._stale, wait = True, _RETRY_S
                self._say_trouble()
            except Exception as error:  # noqa: BLE001  # the next look may do better
                _log.error("jobs.look_failed", exc_info=error)
                self._stale, wait = True, _RETRY_S
            try:
                async with asyncio.timeout(wait):
                    await self._wake.wait()
            except TimeoutError:
                self._stale = True

    async def _start_all(self) -> None:
        if self._turns.full:
            return
        if self._stale:
            self._queue, self._stale = {}, False
            rows = await self._records.call(self._store.queued, PAGE)
            self._queue = {row.key: row for row in rows} | self._queue  # told meanwhile
        self._turns.look_anew()
        while not self._stopping:
            row = self._turns.next(self._queue.values(), self._parts.clock.monotonic())
            if row is None:
                return
            await self._workflows.launch(self.execute)
            await self._begin(row)

    async def _begin(self, row: JobRow) -> None:
        """Claim a job and have it driven, if its device may use the node now."""
        device = await self._admitted(row)
        if device is None or not self._turns.take(row.key, household=rules.in_household(device)):
            return
        self._queue.pop(row.key, None)
        lease = Lease(self._lease_s, boot_time())
        claimed = await self._records.change(
            row.key,
            self._store.claim,
            row.key,
            self._place.runner,
            await self._records.call(self._store.time, self._parts.clock.now()),
            self._parts.section.lease_seconds,
            attempt=row.attempt,
        )
        if claimed is None:
            await self._unclaimed(row)
            return
        named = (claimed.key, claimed.attempt)
        self._claimed[named] = claimed
        self._running[claimed.key] = Attempt(self._parts, claimed, lease)
        try:
            await self._workflows.start(*named)
        except BaseException:
            if self._claimed.pop(named, None) is not None:
                await self._unbegun(claimed)
            raise

    async def _admitted(self, row: JobRow) -> PairedDevice | None:
        """Its device, if it is let in here and now; `rights` ends what may never run again."""
        try:
            device = await self._parts.opener.holder(row)
            await asyncio.to_thread(self._access.over, device)
        except HomingError as error:
            _log.info("job.held", job=row.key.id, reason=error.what)
            self._turns.hold(row.key, self._parts.clock.monotonic() + _HELD_S, error.what)
            return None
        return device

    async def _unclaimed(self, row: JobRow) -> None:
        """Somebody else has it, or its end is wanted."""
        with contextlib.suppress(HomingError):
            present = await self._records.call(self._store.get, row.key)
            if present.state is JobState.QUEUED and present.cancel_wanted:
                await self.cancel(present)
            elif present.state is JobState.QUEUED and present.attempt != row.attempt:
                self.queued(present)

    async def _unbegun(self, row: JobRow) -> None:
        """Put a job back that was claimed and is not begun."""
        attempt = self._running.pop(row.key, None)
        if attempt is not None:
            attempt.done.set()
        note = "the node could not begin it just now"
        entry = Entry(self._parts.clock.now(), JobState.QUEUED, note=note)
        with contextlib.suppress(HomingError):
            await self._records.change(row.key, self._store.append, row.fence, entry)

    def _say_trouble(self) -> None:
        """Whoever waits for a job looks at what stands in its way."""
        for key in tuple(self._queue):
            self._records.ring(key)

    async def _after(self, key: JobKey) -> None:
        """An attempt is over: its job may wait for another, and others for its place."""
        with contextlib.suppress(HomingError):
            row = await self._records.call(self._store.get, key)
            if row.cancel_wanted and not row.state.final:
                await self.cancel(row)  # it was wanted while the attempt was ending otherwise
            else:
                self.queued(row)
        self._records.ring(key)
        self._wake.set()

    async def _beats(self) -> None:
        """Beat, for ever."""
        pause = min(self._parts.section.lease_seconds / _BEATS, _MOST_BEAT_S)
        while True:
            await self._tender.beat()
            await asyncio.sleep(pause)
