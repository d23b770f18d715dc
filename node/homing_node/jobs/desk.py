"""The one door to jobs: for devices with their own, for owners with others' questions."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from homing_core.errors import (
    HomingError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
)
from homing_core.jobs import JobStatus
from homing_crypto.approvals import verify_approval
from homing_crypto.audit.actions import note_approval, note_tool_run
from homing_crypto.certificates import check_certificate

from homing_node.jobs import rules
from homing_node.jobs.console_desk import ConsoleDesk
from homing_node.jobs.ports import Piece
from homing_node.jobs.store import JobKey, JobRow
from homing_node.jobs.submitting import Submitter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.approvals import SignedApproval
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent, JobSpec, PendingApproval, Settlement
    from homing_crypto.devices import PairedDevice

    from homing_node.jobs.submitting import DeskParts

PIECE_BYTES: Final = 64 << 10
_PAGE: Final = 500
_SHARED_LOOK_S: Final = 1.0
_LOOK_S: Final = 15.0
_DAY_S: Final = 86_400.0
_PREVIEW_CHARS: Final = 2_000


class JobDesk(ConsoleDesk):
    """`Jobs` and `ConsoleJobs`. Belongs to one event loop.

    Args:
        parts: what it works with.
    """

    def __init__(self, parts: DeskParts) -> None:
        """Nobody watches yet."""
        super().__init__(parts.records, parts.scheduler, parts.opener, parts.audit, parts.clock)
        self._parts = parts
        self._submitter = Submitter(parts)

    async def submit(
        self, device: PairedDevice, spec: JobSpec, approval: SignedApproval | None
    ) -> JobStatus:
        """See `Jobs.submit`."""
        try:
            return self._status(await self._submitter.submit(device, spec, approval))
        except (RefusedError, OverloadedError) as error:
            self._parts.access.refused(device)
            if isinstance(error, RefusedError):
                note_tool_run(self._audit, device.owner, spec.tool, spec.id, "refused")
            raise

    async def status(self, device: PairedDevice, job: JobId) -> JobStatus:
        """See `Jobs.status`."""
        return self._status(await self._row(device, job))

    async def list(
        self, device: PairedDevice, most: int, before: JobId | None
    ) -> tuple[JobStatus, ...]:
        """See `Jobs.list`."""
        older = None if before is None else JobKey(device.owner, before)
        rows = await self._records.call(
            self._store.jobs, device.owner, most=max(most, 1), before=older
        )
        return tuple(map(self._status, rows))

    async def watch(
        self, device: PairedDevice, job: JobId, after: int
    ) -> AsyncGenerator[JobEvent, None]:
        """See `Jobs.watch`."""
        row = await self._row(device, job)
        if after > row.last_seq:
            msg = "this job has no such event yet"
            raise InvalidDataError(msg, "Watch it from its beginning.")
        wait = _SHARED_LOOK_S if self._parts.shared else _LOOK_S
        while True:
            changed = self._records.changed(row.key)
            try:
                events = await self._records.call(self._store.events, row.key, after, _PAGE)
                for event in events:
                    after = event.seq
                    yield event
                    if event.state.final:
                        return
                if not events:
                    present = await self._records.call(self._store.get, row.key)
                    if present.state.final and present.last_seq <= after:
                        return
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(wait):
                            await changed.wait()
            finally:
                self._records.forget(row.key, changed)

    async def cancel(self, device: PairedDevice, job: JobId) -> JobStatus:
        """See `Jobs.cancel`."""
        key = JobKey(device.owner, job)
        try:
            return self._status(await self.cancel_any(key))
        except NotFoundError:
            # What hands it in may still be on its way; it must not run once it arrives.
            if await self._records.call(self._store.bury, key, self._clock.now()) is None:
                raise
        return self._status(await self.cancel_any(key))

    async def pending(self, device: PairedDevice) -> tuple[PendingApproval, ...]:
        """See `Jobs.pending`."""
        return await self._shown(lambda question: rules.may_answer(device, question))

    async def answer(self, device: PairedDevice, approval: SignedApproval) -> JobStatus:
        """See `Jobs.answer`."""
        statement = approval.statement
        question = await self._question(statement.id)
        if question is None or not (
            rules.may_answer(device, question) or question.key.account == device.owner
        ):
            raise _no_question()
        try:
            if not rules.may_answer(device, question):
                msg = "this is for the node's owner to say"
                raise RefusedError(msg, "Ask the owner to answer it.")
            now = self._clock.now()
            verify_approval(approval, check_certificate(device.certificate_der), now)
            row = await self._records.call(self._store.get, question.key)
            if not row.state.final:  # then the hash of the arguments has gone
                rules.check_answer(statement, question, row)
            row = await self._answered(question, statement.verdict, device.id)
        except HomingError:
            note_approval(self._audit, statement, accepted=False)
            raise
        note_approval(self._audit, statement, accepted=True)
        return self._status(row)

    async def settle(self, device: PairedDevice, job: JobId, said: Settlement) -> JobStatus:
        """See `Jobs.settle`."""
        key = JobKey(device.owner, job)
        return self._status(await self._settled(key, said, by_owner=rules.is_owner(device)))

    async def download(
        self, device: PairedDevice, job: JobId, offset: int
    ) -> AsyncGenerator[Piece, None]:
        """See `Jobs.download`."""
        row = await self._row(device, job)
        total = row.result_bytes
        if not 0 <= offset <= total:
            msg = "the result is not that long"
            raise InvalidDataError(msg, "Fetch it from its beginning.")
        while True:
            data = await self._records.call(self._store.read_result, row.key, offset, PIECE_BYTES)
            if not data:
                return
            yield Piece(offset, data, total)
            offset += len(data)

    async def ack(self, device: PairedDevice, job: JobId, sha256: str) -> None:
        """See `Jobs.ack`."""
        key = JobKey(device.owner, job)
        await self._records.change(key, self._store.delivered, key, sha256, self._clock.now())

    async def _row(self, device: PairedDevice, job: JobId) -> JobRow:
        return await self._records.call(self._store.get, JobKey(device.owner, job))

    def _status(self, row: JobRow) -> JobStatus:
        held = self._scheduler.waits_for(row)
        return JobStatus(
            id=row.key.id,
            tool_name=row.tool.name,
            state=row.state,
            submitted_at=row.submitted_at,
            last_seq=row.last_seq,
            progress=row.progress,
            summary=row.summary,
            detail={"held": held} if held else None,
            result_bytes=row.result_bytes,
            sealed_by=row.sealed_by,
        )


def _no_question() -> NotFoundError:
    return NotFoundError(
        "there is no such question", "It may have been answered, or its job ended."
    )
