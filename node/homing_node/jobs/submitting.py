"""A job is handed in: checked in every respect before anything of it is kept."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_agent.schema import check_arguments
from homing_core.errors import HomingError, InvalidDataError, NotFoundError, RefusedError
from homing_core.jobs import JobState
from homing_core.limits import may_use_tool
from homing_crypto.approvals import verify_approval
from homing_crypto.audit.actions import note_approval
from homing_crypto.certificates import check_certificate

from homing_node.jobs import rules
from homing_node.jobs.closing import recipient_of
from homing_node.jobs.consenting import OWN_STEP, new_question
from homing_node.jobs.forms import Payload, digest_of, encode_payload
from homing_node.jobs.outputs import is_a
from homing_node.jobs.sealed import JobCipher, new_data_key
from homing_node.jobs.store import JobKey, JobRow, NewJob

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from homing_agent.tool import Tool
    from homing_core.approvals import SignedApproval
    from homing_core.canonical import JsonObject
    from homing_core.clock import Clock
    from homing_core.jobs import JobSpec
    from homing_crypto.audit.records import Audit
    from homing_crypto.devices import PairedDevice

    from homing_node.devices.limits import Standing
    from homing_node.jobs.opening import Access, Opener
    from homing_node.jobs.records import Records
    from homing_node.jobs.scheduler import Scheduler
    from homing_node.jobs.section import JobsSection
    from homing_node.tools import HomeTools

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


class Submitter:
    """Takes jobs in. Belongs to one event loop.

    Args:
        parts: what it works with.
    """

    def __init__(self, parts: DeskParts) -> None:
        """Keep them."""
        self._parts = parts
        self._records = parts.records
        self._store = parts.records.store

    async def submit(
        self, device: PairedDevice, spec: JobSpec, approval: SignedApproval | None
    ) -> JobRow:
        """The job as it is kept; raises as `Jobs.submit`."""
        key, digest = JobKey(device.owner, spec.id), digest_of(spec)
        known = await self._known(key)
        if known is not None and known.digest == digest:
            return known
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
            key,
            self._store.submit,
            new,
            standing.limits.jobs,
            standing.shared.jobs,
            self._parts.section.waiting_mib << 20,
        )
        if fresh:
            self._parts.scheduler.queued(row)
        return row

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
            statement = verify_approval(approval, certificate, self._parts.clock.now())
            rules.check_consent(statement, spec, tool.spec)
        except HomingError:
            note_approval(self._parts.audit, approval.statement, accepted=False)
            raise
        note_approval(self._parts.audit, statement, accepted=True)

    def _new(  # noqa: PLR0913, PLR0917  # each is a part of its own
        self,
        standing: Standing,
        spec: JobSpec,
        tool: Tool,
        payload: Payload,
        digest: str,
        preview: str,
    ) -> NewJob:
        device, now = standing.device, self._parts.clock.now()
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
