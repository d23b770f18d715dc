"""A phone's jobs over fake nodes, and the same killed at every step."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_client.jobs.assembly import JobParts, assemble_jobs
from homing_client.jobs.testing import FakeJobNode, FakeJobNodes
from homing_core.ids import new_request_id
from homing_core.provenance import Sensitivity, Trust
from homing_core.testing import FakeClock
from homing_core.tools import EffectClass, Place, ToolSpec
from homing_crypto.approvals import sign_approval
from homing_crypto.testing import throwaway_identity

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_client.jobs.entry import JobEntry
    from homing_client.jobs.node import JobNodes
    from homing_client.jobs.ports import PhoneJob
    from homing_core.approvals import ApprovalStatement, SignedApproval
    from homing_core.canonical import JsonValue
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId, JobId
    from homing_crypto.identity import DeviceIdentity

WAIT_S = 20.0


def tool(
    name: str = "summarise", effect: EffectClass = EffectClass.READ, *, described: str = "Does it."
) -> ToolSpec:
    return ToolSpec(
        name=name,
        description=described,
        parameters={"type": "object", "properties": {"folder": {"type": "string"}}},
        effect=effect,
        place=Place.HOME,
        server="documents",
        output_trust=Trust.TRUSTED,
    )


@dataclass
class Signs:
    """Signs with a phone's key."""

    identity: DeviceIdentity

    @property
    def device(self) -> DeviceId:
        return self.identity.device_id

    def sign(self, statement: ApprovalStatement) -> SignedApproval:
        return sign_approval(self.identity, statement)


@dataclass
class JobWorld:
    """A phone, its nodes, and its jobs while they are looked after; `real` is a real clock."""

    folder: Path
    phone: DeviceIdentity = field(default_factory=throwaway_identity)
    clock: FakeClock = field(default_factory=FakeClock)
    real: Clock | None = None
    nodes: list[FakeJobNode] = field(default_factory=list[FakeJobNode])

    def node(self, *tools: ToolSpec, name: str = "den", place: Place = Place.HOME) -> FakeJobNode:
        made = FakeJobNode(self.phone, *(tools or (tool(),)), name=name, place=place)
        self.nodes.append(made)
        return made

    @contextlib.asynccontextmanager
    async def process(self, nodes: JobNodes | None = None) -> AsyncGenerator[Phone]:
        """The phone's resident process, as far as jobs go."""
        ways = FakeJobNodes(self.phone, *self.nodes)
        clock = self.real or self.clock
        parts = assemble_jobs(
            self.folder, nodes or ways, Signs(self.phone), lambda: (self.phone,), clock
        )
        runs = asyncio.create_task(parts.keeper.run())
        try:
            yield Phone(parts, ways)
        finally:
            runs.cancel()
            await asyncio.gather(runs, return_exceptions=True)
            await parts.close()


@dataclass
class Phone:
    """A running phone."""

    parts: JobParts
    nodes: FakeJobNodes

    async def start(
        self,
        name: str = "summarise",
        *,
        request: str = "",
        node: str = "",
        sensitivity: Sensitivity = Sensitivity.HOME_ONLY,
        allowed: bool = False,
        **arguments: JsonValue,
    ) -> PhoneJob:
        request_id = type(new_request_id())(request) if request else new_request_id()
        async with asyncio.timeout(WAIT_S):
            return await self.parts.desk.start(
                name,
                arguments,
                node=node,
                sensitivity=sensitivity,
                request_id=request_id,
                allowed=allowed,
            )

    async def settled(self, job: JobId) -> JobEntry:
        """The job, once nothing is left to do for it."""

        def look() -> JobEntry | None:
            entry = self.parts.book.get(job)
            return entry if entry.settled else None

        async with asyncio.timeout(WAIT_S):
            return await self.parts.keeper.news.until(look)

    async def until_error(self, job: JobId) -> str:
        """What keeps a job from going on."""

        def look() -> str | None:
            error = self.parts.keeper.error(job)
            return None if error is None else error.what

        async with asyncio.timeout(WAIT_S):
            return await self.parts.keeper.news.until(look)
