"""Jobs of one daemon without its servers: real desk, scheduler and runner, any store."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, cast

from homing_agent.tool import ToolOutput
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.approvals import ApprovalStatement, Verdict
from homing_core.clock import SystemClock
from homing_core.errors import UnavailableError
from homing_core.ids import new_approval_id, new_job_id, new_request_id, new_tool_call_id
from homing_core.jobs import JobSpec, JobState
from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass, Place, ToolCall, ToolSpec
from homing_crypto.approvals import sign_approval
from homing_crypto.chunks import CHUNK_BYTES, ChunkOpener
from homing_crypto.result_form import decode_result
from homing_crypto.results import LENGTH_BYTES, open_result_letter
from homing_crypto.testing import MemoryAudit, MemoryTrustStore, paired_device, throwaway_identity
from homing_inference.testing import ScriptedEngine
from homing_node.devices.limits import standing_of
from homing_node.jobs.parts import JobParts, job_parts
from homing_node.jobs.section import JobsSection
from homing_node.jobs.testing import MemoryJobStore
from homing_node.jobs.workflows import MemoryWorkflows
from homing_node.limit_sections import LimitsSection
from homing_node.testing import FixedTools

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.approvals import SignedApproval
    from homing_core.canonical import JsonObject
    from homing_core.clock import Clock
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent, JobResult, PendingApproval
    from homing_core.tools import Topic
    from homing_crypto.devices import PairedDevice
    from homing_crypto.identity import DeviceIdentity
    from homing_inference.engine import Engine
    from homing_node.devices.limits import Standing
    from homing_node.jobs.store import JobStore
    from homing_node.jobs.workflows import Workflows

WAIT_S = 20.0
WORKS = frozenset({Scope.TOOLS, Scope.JOBS, Scope.INFERENCE})

Run: TypeAlias = "Callable[[JsonObject, ToolContext], Awaitable[ToolOutput]]"


def tool_spec(
    name: str = "work",
    effect: EffectClass = EffectClass.READ,
    *,
    idempotent: bool = False,
    topics: frozenset[Topic] = frozenset(),
    description: str = "Works.",
) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": {"what": {"type": "string"}},
            "additionalProperties": False,
        },
        effect=effect,
        place=Place.HOME,
        server="test",
        idempotent=idempotent,
        topics=topics,
    )


async def _done(arguments: JsonObject, context: ToolContext) -> ToolOutput:
    del context
    return ToolOutput(f"worked on {arguments.get('what', 'nothing')}")


@dataclass
class ScriptedTool:
    """A tool that does what a test says."""

    spec: ToolSpec
    does: Run = _done
    away: str | None = None
    runs: int = 0

    def unavailable(self) -> str | None:
        return self.away

    def preview(self, arguments: JsonObject) -> str:
        return f"works on {arguments.get('what', 'nothing')}"

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        self.runs += 1
        return await self.does(arguments, context)


class Mortal:
    """A store as one daemon sees it: once that is dead, nothing of it reaches the store."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self.dead = False

    def __getattr__(self, name: str) -> object:
        method = getattr(self._store, name)

        def called(*given: object, **named: object) -> object:
            if self.fails(name):
                msg = "the disk is full"
                raise UnavailableError(msg)
            return method(*given, **named)

        return called

    def fails(self, name: str) -> bool:
        """Whether a call of this method gets nowhere."""
        del name
        return self.dead

    def close(self) -> None:
        """The store outlives the daemon."""

    @property
    def kept(self) -> JobStore:
        """Itself."""
        return cast("JobStore", self)


@dataclass
class HouseAccess:
    """What holds for devices, from their own entries and that of their home."""

    trust: MemoryTrustStore
    section: LimitsSection = field(default_factory=LimitsSection)
    closed: Exception | None = None
    refusals: int = 0

    def standing(self, device: PairedDevice) -> Standing:
        home = self.trust.lookup(device.introduced_by) if device.introduced_by else None  # type: ignore[arg-type]
        return standing_of(device, home, self.section)

    def over(self, device: PairedDevice) -> None:
        del device
        if self.closed is not None:
            raise self.closed

    def refused(self, device: PairedDevice) -> None:
        del device
        self.refusals += 1


@dataclass
class HouseBrains:
    """One scripted engine for everybody."""

    engine: Engine = field(default_factory=ScriptedEngine)

    def engine_for(self, device: PairedDevice) -> Engine:
        del device
        return self.engine


@dataclass
class Person:
    """A paired device and whoever holds it."""

    identity: DeviceIdentity
    device: PairedDevice

    def says(self, approval: PendingApproval, verdict: Verdict = Verdict.ALLOW) -> SignedApproval:
        statement = ApprovalStatement(
            approval.id,
            approval.request_id,
            approval.step,
            approval.tool.schema_hash,
            approval.call.argument_hash,
            verdict,
            self.identity.device_id,
            int(SystemClock().now()) + 600,
        )
        return sign_approval(self.identity, statement)

    def consents(
        self, spec: JobSpec, verdict: Verdict = Verdict.ALLOW, *, now: float | None = None
    ) -> SignedApproval:
        statement = ApprovalStatement(
            new_approval_id(),
            spec.request_id,
            1,
            spec.tool.schema_hash,
            spec.call.argument_hash,
            verdict,
            self.identity.device_id,
            int(SystemClock().now() if now is None else now) + 600,
        )
        return sign_approval(self.identity, statement)


@dataclass
class House:
    """One daemon's jobs, and everything that a test wants to hold."""

    parts: JobParts
    store: JobStore
    trust: MemoryTrustStore
    access: HouseAccess
    audit: MemoryAudit
    node: DeviceIdentity
    tools: list[ScriptedTool]

    def person(
        self,
        role: DeviceRole = DeviceRole.OWNER,
        *,
        limits: Limits | None = None,
        introduced_by: str = "",
        scopes: frozenset[Scope] = WORKS,
    ) -> Person:
        identity = throwaway_identity()
        device = replace(
            paired_device(identity, role, scopes),
            limits=limits or Limits(),
            introduced_by=introduced_by,
            lease_expires_at=int(SystemClock().now()) + 3600 if introduced_by else 0,
        )
        self.trust.add(device)
        return Person(identity, device)

    async def submit(
        self, who: Person, spec: JobSpec, approval: SignedApproval | None = None
    ) -> JobSpec:
        await self.parts.desk.submit(who.device, spec, approval)
        return spec

    async def until(self, who: Person, job: JobId, *states: JobState) -> list[JobEvent]:
        """Its record up to the first event in one of these states, or its end."""
        found: list[JobEvent] = []
        watching = contextlib.aclosing(self.parts.desk.watch(who.device, job, 0))
        async with asyncio.timeout(WAIT_S), watching as events:
            async for event in events:
                found.append(event)
                if event.state in states:
                    break
        return found

    async def ended(self, who: Person, job: JobId) -> list[JobEvent]:
        return await self.until(who, job)

    async def result(self, who: Person, job: JobId) -> tuple[JobResult, bytes]:
        """What was sealed for a device, opened as that does: the manifest, and all files' bytes."""
        pieces = [p.data async for p in self.parts.desk.download(who.device, job, 0)]
        return opened(b"".join(pieces), who.identity, self.node, job)


def opened(
    sealed: bytes, who: DeviceIdentity, node: DeviceIdentity, job: JobId
) -> tuple[JobResult, bytes]:
    size = int.from_bytes(sealed[:LENGTH_BYTES])
    letter, cipher = sealed[LENGTH_BYTES : LENGTH_BYTES + size], sealed[LENGTH_BYTES + size :]
    found = open_result_letter(who, node.certificate, job, letter, SystemClock().now())
    opener, step = ChunkOpener(found.key), CHUNK_BYTES + 16
    parts = [cipher[at : at + step] for at in range(0, len(cipher), step)]
    plain = b"".join(
        opener.open(part, last=number == len(parts) - 1) for number, part in enumerate(parts)
    )
    length = int.from_bytes(plain[:LENGTH_BYTES])
    manifest = decode_result(plain[LENGTH_BYTES : LENGTH_BYTES + length])
    return manifest, plain[LENGTH_BYTES + length :]


def job(
    tool: ScriptedTool,
    what: str = "it",
    *,
    priority: int = 0,
    sensitivity: Sensitivity = Sensitivity.HOME_ONLY,
) -> JobSpec:
    call = ToolCall(new_tool_call_id(), tool.spec.name, {"what": what})
    return JobSpec(
        new_job_id(), new_request_id(), tool.spec.id, call, sensitivity, priority=priority
    )


@contextlib.asynccontextmanager
async def house(  # noqa: PLR0913  # each is a part of its own
    folder: Path,
    *tools: ScriptedTool,
    store: JobStore | None = None,
    section: JobsSection | None = None,
    workflows: Workflows | None = None,
    trust: MemoryTrustStore | None = None,
    clock: Clock | None = None,
    node: DeviceIdentity | None = None,
    brains: HouseBrains | None = None,
    start: bool = True,
    stop_s: float = 5.0,
    grace_s: float = 0.0,
) -> AsyncGenerator[House]:
    """Run one daemon's jobs for the length of a block."""
    await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
    clock = clock or SystemClock()
    known = trust or MemoryTrustStore(clock)
    access, audit = HouseAccess(known), MemoryAudit()
    identity = node or throwaway_identity()
    kept = store or MemoryJobStore()
    async with job_parts(
        folder,
        section=section or JobsSection(),
        tools=FixedTools(tools=tools),
        brains=brains or HouseBrains(),
        trust=known,
        access=access,
        identities=lambda: (identity,),
        audit=audit,
        clock=clock,
        store=kept,
        workflows=workflows or MemoryWorkflows(),
        stop_s=stop_s,
        grace_s=grace_s,
    ) as parts:
        if start:
            await parts.start()
        try:
            yield House(parts, kept, known, access, audit, identity, list(tools))
        finally:
            await parts.stop()
