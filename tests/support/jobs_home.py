"""A whole node with scripted tools, and devices that hand it jobs."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Limits, Scope
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.testing import FixedTools
from homing_proto.codec.jobs import decode_job_event
from homing_proto.v1 import job_pb2 as wire
from support.jobs_wire import JobsClient
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, node_rig, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_agent.tool import Tool
    from homing_core.clock import Clock
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent, JobState, JobStatus
    from homing_crypto.identity import DeviceIdentity
    from homing_node.config import NodeConfig

WORKS = frozenset({Scope.INFERENCE, Scope.TOOLS, Scope.JOBS})
"""What an owner gives a guest who may run home tools."""


@dataclass
class JobsHome:
    """A running node and its tools."""

    rig: NodeRig

    async def device(  # noqa: PLR0913  # each says something of the device
        self,
        role: DeviceRole = DeviceRole.GUEST,
        *,
        limits: Limits | None = None,
        identity: DeviceIdentity | None = None,
        account: str = "",
        introduced_by: str = "",
        name: str = "phone",
    ) -> JobsClient:
        """A device that may run tools as jobs; several of the same guest would share limits."""
        own = identity or throwaway_identity()
        scopes = None if role is DeviceRole.OWNER else WORKS
        entry = paired_device(own, role, scopes, name)
        self.rig.running.store.add(
            replace(entry, limits=limits or Limits(), account=account, introduced_by=introduced_by)
        )
        phone = await self.rig.dial(own)
        return JobsClient(phone.identity, phone.channel)


@contextlib.asynccontextmanager
async def jobs_home(
    folder: Path, *tools: Tool, config: NodeConfig = LOOPBACK, clock: Clock | None = None
) -> AsyncGenerator[JobsHome]:
    """Run a node with these tools."""
    async with node_rig(folder, config, clock=clock, tools=FixedTools(tools=tools)) as rig:
        yield JobsHome(rig)


async def until(phone: JobsClient, job: JobId, state: JobState) -> JobStatus:
    """Wait until a job is in a state; follows its record, and fails if it ends otherwise."""
    async with asyncio.timeout(DEADLINE_S):
        call = phone.watching(job)
        seen: list[JobEvent] = []
        while isinstance(answer := await call.read(), wire.WatchJobResponse):
            seen.append(decode_job_event(answer.event))
            if seen[-1].state is state:
                call.cancel()
                return await phone.status(job)
    raise AssertionError([event.state for event in seen])


async def progressed(phone: JobsClient, job: JobId) -> None:
    """Wait until a job says how far it is."""
    async with asyncio.timeout(DEADLINE_S):
        call = phone.watching(job)
        while isinstance(answer := await call.read(), wire.WatchJobResponse):
            if answer.event.HasField("progress"):
                call.cancel()
                return
    msg = "it ended without a word of progress"
    raise AssertionError(msg)


async def set_soon(event: asyncio.Event) -> None:
    """Wait for an event of a scripted tool."""
    await within(_set(event))


async def _set(event: asyncio.Event) -> None:
    await event.wait()
