"""A fake of what the wire and the console see of jobs. It ships with the package."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_core.approvals import Verdict
from homing_core.errors import ConflictError, NotFoundError
from homing_core.jobs import JobEvent, JobProgress, JobState, JobStatus
from homing_core.testing import FakeClock

from homing_node.jobs.ports import Piece
from homing_node.jobs.store import JobKey, JobRow

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.approvals import SignedApproval
    from homing_core.ids import ApprovalId, DeviceId, JobId
    from homing_core.jobs import JobSpec, PendingApproval, Settlement
    from homing_crypto.devices import PairedDevice

_PIECE: Final = 100_000


class FakeJobs:
    """`Jobs` and `ConsoleJobs` whose jobs run nothing: a test moves them.

    Attributes:
        questions: what waits for a person; a test puts them there.
        results: sealed results that wait, by job.
        said: verdicts and settlements that arrived, in order.
    """

    def __init__(self) -> None:
        """Start empty."""
        self.questions: list[PendingApproval] = []
        self.results: dict[JobKey, bytes] = {}
        self.said: list[Verdict | Settlement] = []
        self._clock = FakeClock()
        self._rows: dict[JobKey, JobRow] = {}
        self._events: dict[JobKey, list[JobEvent]] = {}
        self._buried: set[JobKey] = set()
        self._moved = asyncio.Condition()

    async def move(
        self,
        key: JobKey,
        state: JobState,
        progress: JobProgress | None = None,
        result: bytes = b"",
        note: str = "",
    ) -> JobRow:
        """Add an event to a job, and what came of it."""
        row = self._row(key)
        event = JobEvent(row.last_seq + 1, self._clock.now(), state, progress, note=note)
        if result:
            self.results[key] = result
        self._rows[key] = replace(
            row,
            state=state,
            last_seq=event.seq,
            progress=progress or row.progress,
            result_bytes=len(result),
            sealed_by=key.account if result else "",
            ended_at=event.at if state.final else 0.0,
            summary=note if state.final else "",
        )
        self._events[key].append(event)
        async with self._moved:
            self._moved.notify_all()
        return self._rows[key]

    async def submit(
        self, device: PairedDevice, spec: JobSpec, approval: SignedApproval | None
    ) -> JobStatus:
        """See `Jobs.submit`."""
        if approval is not None:
            self.said.append(approval.statement.verdict)
        key = JobKey(device.owner, spec.id)
        if key in self._rows:
            if self._rows[key].digest != spec.call.argument_hash:
                msg = "this job's id was used for something else"
                raise ConflictError(msg)
            return _status(self._rows[key])
        if key in self._buried:
            msg = "this job was ended before it arrived"
            raise ConflictError(msg)
        self._rows[key] = JobRow(
            key=key,
            digest=spec.call.argument_hash,
            device=device.id,
            peer=device.introduced_by,
            request_id=spec.request_id,
            tool=spec.tool,
            sensitivity=spec.sensitivity,
            priority=spec.priority,
            submitted_at=self._clock.now(),
            state=JobState.QUEUED,
            last_seq=0,
        )
        self._events[key] = []
        return _status(await self.move(key, JobState.QUEUED))

    async def status(self, device: PairedDevice, job: JobId) -> JobStatus:
        """See `Jobs.status`."""
        return _status(self._row(JobKey(device.owner, job)))

    async def list(
        self, device: PairedDevice, most: int, before: JobId | None
    ) -> tuple[JobStatus, ...]:
        """See `Jobs.list`."""
        mine = [row for row in await self.rows(len(self._rows)) if row.key.account == device.owner]
        if before is not None:
            mine = mine[mine.index(self._row(JobKey(device.owner, before))) + 1 :]
        return tuple(map(_status, mine[:most]))

    async def watch(
        self, device: PairedDevice, job: JobId, after: int
    ) -> AsyncGenerator[JobEvent, None]:
        """See `Jobs.watch`."""
        key = JobKey(device.owner, job)
        self._row(key)
        while True:
            for event in self._events[key][after:]:
                after = event.seq
                yield event
                if event.state.final:
                    return
            if self._row(key).state.final and self._row(key).last_seq <= after:
                return
            async with self._moved:
                await self._moved.wait_for(lambda: self._row(key).last_seq > after)  # noqa: B023  # waited for here

    async def cancel(self, device: PairedDevice, job: JobId) -> JobStatus:
        """See `Jobs.cancel`."""
        key = JobKey(device.owner, job)
        if key not in self._rows:
            self._buried.add(key)
        return _status(await self.cancel_any(key))

    async def pending(self, device: PairedDevice) -> tuple[PendingApproval, ...]:
        """See `Jobs.pending`."""
        return tuple(one for one in self.questions if one.device == device.owner)

    async def answer(self, device: PairedDevice, approval: SignedApproval) -> JobStatus:
        """See `Jobs.answer`."""
        mine = {one.id for one in await self.pending(device)}
        if approval.statement.id not in mine:
            msg = "no such question"
            raise NotFoundError(msg)
        allow = approval.statement.verdict is Verdict.ALLOW
        return _status(await self.answer_any(approval.statement.id, allow=allow))

    async def settle(self, device: PairedDevice, job: JobId, said: Settlement) -> JobStatus:
        """See `Jobs.settle`."""
        return _status(await self.settle_any(JobKey(device.owner, job), said))

    async def download(
        self, device: PairedDevice, job: JobId, offset: int
    ) -> AsyncGenerator[Piece, None]:
        """See `Jobs.download`."""
        key = JobKey(device.owner, job)
        if key not in self.results:
            msg = "no result waits"
            raise NotFoundError(msg)
        whole = self.results[key]
        for start in range(offset, len(whole), _PIECE):
            yield Piece(start, whole[start : start + _PIECE], len(whole))

    async def ack(self, device: PairedDevice, job: JobId, sha256: str) -> None:
        """See `Jobs.ack`."""
        del sha256
        key = JobKey(device.owner, job)
        self._row(key)
        self.results.pop(key, None)
        self._rows[key] = replace(self._rows[key], result_bytes=0, sealed_by="", delivered_at=1.0)

    async def rows(self, most: int) -> tuple[JobRow, ...]:
        """See `ConsoleJobs.rows`."""
        return tuple(reversed(self._rows.values()))[:most]

    async def events_any(self, key: JobKey) -> tuple[JobEvent, ...]:
        """See `ConsoleJobs.events_any`."""
        self._row(key)
        return tuple(self._events[key])

    async def cancel_any(self, key: JobKey) -> JobRow:
        """See `ConsoleJobs.cancel_any`."""
        row = self._row(key)
        return row if row.state.final else await self.move(key, JobState.CANCELLED)

    async def pending_any(self) -> tuple[PendingApproval, ...]:
        """See `ConsoleJobs.pending_any`."""
        return tuple(self.questions)

    async def answer_any(self, approval: ApprovalId, *, allow: bool) -> JobRow:
        """See `ConsoleJobs.answer_any`."""
        question = next((one for one in self.questions if one.id == approval), None)
        if question is None:
            msg = "there is no such question"
            raise NotFoundError(msg)
        self.questions.remove(question)
        self.said.append(Verdict.ALLOW if allow else Verdict.DENY)
        (key,) = [key for key in self._rows if key.id == question.job_id]
        return await self.move(key, JobState.QUEUED if allow else JobState.FAILED)

    async def settle_any(self, key: JobKey, said: Settlement) -> JobRow:
        """See `ConsoleJobs.settle_any`."""
        self.said.append(said)
        return await self.move(key, JobState.QUEUED)

    async def end_account(self, account: DeviceId) -> None:
        """See `ConsoleJobs.end_account`."""
        for key in [key for key in self._rows if key.account == account]:
            del self._rows[key]
            self.results.pop(key, None)
        async with self._moved:
            self._moved.notify_all()

    def _row(self, key: JobKey) -> JobRow:
        if key not in self._rows:
            msg = "this device has no such job here"
            raise NotFoundError(msg)
        return self._rows[key]


def _status(row: JobRow) -> JobStatus:
    return JobStatus(
        id=row.key.id,
        tool_name=row.tool.name,
        state=row.state,
        submitted_at=row.submitted_at,
        last_seq=row.last_seq,
        progress=row.progress,
        summary=row.summary,
        result_bytes=row.result_bytes,
        sealed_by=row.sealed_by,
    )
