"""The one door to jobs: for devices with their own, for owners with others' questions."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_agent.schema import check_arguments
from homing_core.errors import (
    HomingError,
    InvalidDataError,
    NotFoundError,
    OverloadedError,
    RefusedError,
)
from homing_core.jobs import JobState, JobStatus
from homing_core.limits import may_use_tool
from homing_crypto.approvals import verify_approval
from homing_crypto.audit.actions import note_approval, note_tool_run
from homing_crypto.certificates import check_certificate

from homing_node.jobs import rules
from homing_node.jobs.closing import recipient_of
from homing_node.jobs.consenting import OWN_STEP, new_question
from homing_node.jobs.console_desk import ConsoleDesk
from homing_node.jobs.forms import Payload, digest_of, encode_payload
from homing_node.jobs.outputs import is_a
from homing_node.jobs.ports import Piece
from homing_node.jobs.sealed import JobCipher, new_data_key
from homing_node.jobs.store import JobKey, JobRow, NewJob

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection

    from homing_agent.tool import Tool
    from homing_core.approvals import SignedApproval
    from homing_core.canonical import JsonObject
    from homing_core.clock import Clock
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent, JobSpec, PendingApproval, Settlement
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice

    from homing_node.devices.limits import Standing
    from homing_node.jobs.opening import Access, Opener
    from homing_node.jobs.records import Records
    from homing_node.jobs.scheduler import Scheduler
    from homing_node.jobs.section import JobsSection
    from homing_node.tools import HomeTools

PIECE_BYTES: Final = 64 << 10
_PAGE: Final = 500
_SHARED_LOOK_S: Final = 1.0
_LOOK_S: Final = 15.0
_DAY_S: Final = 86_400.0
_PREVIEW_CHARS: Final = 2_000


@dataclass(frozen=True, slots=True)
class DeskParts:
    """What the desk works with.

    Attributes:
        records: where jobs are kept.
        scheduler: runs them.
        opener: knows whose they are.
        tools: what this node can run.
        access: what holds for a device.
        audit: where answers are noted.
        clock: for events and ends.
        section: `[jobs]` of the configuration.
        nodes: device ids by which this node goes.
        shared: whether other daemons change jobs, too.
    """

    records: Records
    scheduler: Scheduler
    opener: Opener
    tools: HomeTools
    access: Access
    audit: Audit
    clock: Clock
    section: JobsSection
    nodes: Callable[[], Collection[str]]
    shared: bool = False


class JobDesk(ConsoleDesk):
    """`Jobs` and `ConsoleJobs`. Belongs to one event loop.

    Args:
        parts: what it works with.
    """

    def __init__(self, parts: DeskParts) -> None:
        """Nobody watches yet."""
        super().__init__(parts.records, parts.scheduler, parts.opener, parts.audit, parts.clock)
        self._parts = parts

    async def submit(
        self, device: PairedDevice, spec: JobSpec, approval: SignedApproval | None
    ) -> JobStatus:
        """See `Jobs.submit`."""
        try:
            return await self._submit(device, spec, approval)
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
        rows = await self._records.call(
            self._store.jobs, device.owner, most=max(most, 1), before=before
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
        return self._status(await self.cancel_any(JobKey(device.owner, job)))

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
        return self._status(await self.settle_any(JobKey(device.owner, job), said))

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

    async def _submit(
        self, device: PairedDevice, spec: JobSpec, approval: SignedApproval | None
    ) -> JobStatus:
        key, digest = JobKey(device.owner, spec.id), digest_of(spec)
        known = await self._known(key)
        if known is not None and known.digest == digest:
            return self._status(known)
        # One with another digest gets its error from the store, which alone decides.
        standing = await asyncio.to_thread(self._parts.access.standing, device)
        tool = self._tool(standing, spec)
        rules.check_use(device, standing.limits, tool.spec)
        rules.check_submission(device, spec, tool.spec, self._parts.nodes())
        recipient_of(device)
        preview = _preview(tool, spec.call.arguments)
        self._check_consent(device, spec, tool, approval)
        new = self._new(standing, spec, tool, Payload(spec, approval), digest, preview)
        row, fresh = await self._records.change(
            key, self._store.submit, new, standing.limits.jobs, standing.shared.jobs
        )
        if fresh:
            self._scheduler.queued(row)
        return self._status(row)

    def _tool(self, standing: Standing, spec: JobSpec) -> Tool:
        tool = self._parts.tools.find(spec.tool.server, spec.tool.name)
        limits = standing.limits
        if tool is None or not may_use_tool(limits, spec.tool.name, spec.tool.server):
            raise rules.no_such_tool()
        why = tool.unavailable()
        if why is not None:
            msg = f"the tool {spec.tool.name} cannot work now: {why}"
            raise RefusedError(msg, "Ask the node's owner.")
        return tool

    def _check_consent(
        self, device: PairedDevice, spec: JobSpec, tool: Tool, approval: SignedApproval | None
    ) -> None:
        if not rules.needs_person(tool.spec):
            return
        if approval is None:
            rules.check_consent(None, spec, tool.spec)
            return
        try:
            certificate = check_certificate(device.certificate_der)
            statement = verify_approval(approval, certificate, self._clock.now())
            rules.check_consent(statement, spec, tool.spec)
        except HomingError:
            note_approval(self._audit, approval.statement, accepted=False)
            raise
        note_approval(self._audit, statement, accepted=True)

    def _new(  # noqa: PLR0913, PLR0917  # each is a part of its own
        self,
        standing: Standing,
        spec: JobSpec,
        tool: Tool,
        payload: Payload,
        digest: str,
        preview: str,
    ) -> NewJob:
        device, now = standing.device, self._clock.now()
        key = JobKey(device.owner, spec.id)
        data_key = new_data_key()
        cipher = JobCipher(key, data_key)
        owner = rules.needs_owner(tool.spec, standing)
        question = None
        if owner:
            question = new_question(
                _asking(key, spec),
                standing,
                cipher,
                tool=tool.spec,
                call=spec.call,
                step=OWN_STEP,
                reason=f"{device.name} asks for something that changes this computer",
                preview=preview,
                now=now,
                expires_at=now + self._parts.section.approval_days * _DAY_S,
            )
        return NewJob(
            key=key,
            digest=digest,
            device=device.id,
            peer=standing.peer,
            request_id=spec.request_id,
            tool=spec.tool,
            sensitivity=spec.sensitivity,
            priority=rules.priority_for(device, spec.priority),
            at=now,
            data_key=data_key,
            payload=cipher.seal("payload", encode_payload(payload)),
            state=JobState.WAITING_APPROVAL if owner else JobState.QUEUED,
            question=question,
        )

    async def _known(self, key: JobKey) -> JobRow | None:
        try:
            return await self._records.call(self._store.get, key)
        except NotFoundError:
            return None

    async def _row(self, device: PairedDevice, job: JobId) -> JobRow:
        return await self._records.call(self._store.get, JobKey(device.owner, job))

    def _status(self, row: JobRow) -> JobStatus:
        held = self._scheduler.trouble if row.state is JobState.QUEUED else ""
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


def _preview(tool: Tool, arguments: JsonObject) -> str:
    """What would happen, in the tool's words; raises `HomingError` if the call cannot work."""
    try:
        check_arguments(tool.spec.parameters, arguments)
        preview = tool.preview(arguments)
    except HomingError:
        raise
    except Exception as error:
        msg = f"the tool {tool.spec.name} cannot make anything of these arguments"
        raise InvalidDataError(msg, "Tell whoever made it.") from error
    return preview[:_PREVIEW_CHARS] if is_a(preview, str) else ""


def _asking(key: JobKey, spec: JobSpec) -> JobRow:
    """As much of a job as a question wants to know, before it is stored."""
    return JobRow(
        key=key,
        digest="",
        device=key.account,
        peer="",
        request_id=spec.request_id,
        tool=spec.tool,
        sensitivity=spec.sensitivity,
        priority=0,
        submitted_at=0.0,
        state=JobState.WAITING_APPROVAL,
        last_seq=0,
    )


def _no_question() -> NotFoundError:
    return NotFoundError(
        "there is no such question", "It may have been answered, or its job ended."
    )
