"""The boundaries of a phone's jobs: fakes and real ones do the same."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pytest
from homing_agent.ports import JobAsked
from homing_agent.testing import FakeHomeJobs, FakeRemote, fake_spec
from homing_client.cli.job_tool import all_offered
from homing_client.jobs.testing import FakeJobNode
from homing_client.rpc.jobs_calls import JobsCalls
from homing_core.access import DeviceRole
from homing_core.errors import ConflictError, HomingError, NotFoundError
from homing_core.ids import DeviceId, JobId, new_job_id, new_request_id, new_tool_call_id
from homing_core.jobs import JobResult, JobSpec, JobState
from homing_core.provenance import Sensitivity
from homing_core.tools import Place, ToolCall
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.testing import FixedTools
from support.home_tools import EchoTool, SlowTool
from support.job_world import WAIT_S, JobWorld, tool
from support.node_rig import node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_agent.ports import HomeJobs
    from homing_client.jobs.node import JobNode
    from homing_core.tools import ToolSpec

End: TypeAlias = Callable[[JobId], Awaitable[None]]


@dataclass
class Nodes:
    """A node, a tool of it, and how to let a job of that end."""

    node: JobNode
    spec: ToolSpec
    end: End


@contextlib.asynccontextmanager
async def fake_node(folder: Path) -> AsyncGenerator[Nodes]:
    del folder
    node = FakeJobNode(throwaway_identity(), tool())

    async def end(job: JobId) -> None:
        node.succeed(job)

    yield Nodes(node, tool(), end)


@contextlib.asynccontextmanager
async def real_node(folder: Path) -> AsyncGenerator[Nodes]:
    slow, phone = SlowTool(), throwaway_identity()
    async with node_rig(folder, tools=FixedTools(tools=(slow, EchoTool()))) as rig:
        rig.running.store.add(paired_device(phone, DeviceRole.OWNER))
        channel = (await rig.dial(phone)).channel

        async def end(job: JobId) -> None:
            del job
            slow.release.set()

        yield Nodes(JobsCalls(channel), slow.spec, end)


def spec_for(found: Nodes, **arguments: str) -> JobSpec:
    call = ToolCall(new_tool_call_id(), found.spec.name, arguments or {"text": "a"})
    return JobSpec(new_job_id(), new_request_id(), found.spec.id, call)


BOTH = pytest.mark.parametrize("made", [fake_node, real_node])
Made: TypeAlias = Callable[["Path"], contextlib.AbstractAsyncContextManager[Nodes]]


@BOTH
async def test_a_node_takes_a_job_once_and_tells_its_whole_record(
    made: Made, tmp_path: Path
) -> None:
    async with asyncio.timeout(WAIT_S), made(tmp_path) as found:
        spec = spec_for(found)
        first = await found.node.submit(spec, None)
        again = await found.node.submit(spec, None)
        assert first.status.id == again.status.id == spec.id
        other = ToolCall(spec.call.id, spec.call.name, {"text": "b"})
        with pytest.raises(ConflictError):
            await found.node.submit(JobSpec(spec.id, spec.request_id, spec.tool, other), None)
        await found.end(spec.id)
        async with aclosing(found.node.watch(spec.id, 0)) as events:
            seen = [event async for event in events]
        assert [event.seq for event in seen] == list(range(1, len(seen) + 1))
        assert seen[-1].state is JobState.SUCCEEDED
        async with aclosing(found.node.watch(spec.id, len(seen) - 1)) as events:
            assert [event.seq async for event in events] == [len(seen)]
        async with aclosing(found.node.watch(spec.id, len(seen))) as events:
            assert [event async for event in events] == []


@BOTH
async def test_a_node_hands_out_the_result_from_any_offset_until_it_has_arrived(
    made: Made, tmp_path: Path
) -> None:
    async with asyncio.timeout(WAIT_S), made(tmp_path) as found:
        spec = spec_for(found)
        await found.node.submit(spec, None)
        await found.end(spec.id)
        async with aclosing(found.node.watch(spec.id, 0)) as events:
            async for _ in events:
                pass
        told = await found.node.status(spec.id)
        assert told.status.result_bytes > 0
        whole = await pieces(found.node, spec.id, 0)
        assert len(whole) == told.status.result_bytes
        assert await pieces(found.node, spec.id, 100) == whole[100:]
        assert await pieces(found.node, spec.id, len(whole)) == b""


@BOTH
async def test_a_node_ends_a_job_and_knows_no_strangers(made: Made, tmp_path: Path) -> None:
    async with asyncio.timeout(WAIT_S), made(tmp_path) as found:
        spec = spec_for(found)
        await found.node.submit(spec, None)
        await found.node.cancel(spec.id)
        async with aclosing(found.node.watch(spec.id, 0)) as events:
            seen = [event async for event in events]
        assert seen[-1].state is JobState.CANCELLED
        again = await found.node.cancel(spec.id)
        assert again.status.state is JobState.CANCELLED
        stranger = new_job_id()
        for asked in (found.node.status(stranger), found.node.cancel(stranger)):
            with pytest.raises(NotFoundError):
                await asked
        assert await found.node.pending() == ()


async def pieces(node: JobNode, job: JobId, offset: int) -> bytes:
    got, at = bytearray(), offset
    async with aclosing(node.download(job, offset)) as found:
        async for piece in found:
            assert piece.offset == at
            at += len(piece.data)
            got += piece.data
    return bytes(got)


@dataclass
class Homes:
    """What the loop has of jobs, and how a job of it ends."""

    jobs: HomeJobs
    spec: ToolSpec
    remote: FakeRemote
    end: End
    fail: End


@contextlib.asynccontextmanager
async def fake_jobs(folder: Path) -> AsyncGenerator[Homes]:
    del folder
    spec = fake_spec("summarise")
    jobs = FakeHomeJobs(spec)

    async def end(job: JobId) -> None:
        jobs.end(job, JobResult(job, "done"))

    async def fail(job: JobId) -> None:
        jobs.end(job, NotFoundError("no such folder"))

    yield Homes(jobs, spec, FakeRemote(), end, fail)


@contextlib.asynccontextmanager
async def real_jobs(folder: Path) -> AsyncGenerator[Homes]:
    world = JobWorld(folder)
    node = world.node()
    async with world.process() as phone:

        async def end(job: JobId) -> None:
            node.succeed(job)

        async def fail(job: JobId) -> None:
            node.event(job, JobState.FAILED, note="no such folder")

        remote = FakeRemote(node=DeviceId(node.known.id))
        ((spec, _),) = all_offered(await phone.parts.desk.tools())
        yield Homes(phone.parts.requests, spec, remote, end, fail)


LOOPS = pytest.mark.parametrize("made", [fake_jobs, real_jobs])
Loops: TypeAlias = Callable[["Path"], contextlib.AbstractAsyncContextManager[Homes]]


def asked_of(found: Homes) -> JobAsked:
    call = ToolCall(new_tool_call_id(), found.spec.name, {"folder": "a"})
    return JobAsked(new_request_id(), 1, found.spec, call, Sensitivity.HOME_ONLY)


@LOOPS
async def test_the_loop_starts_follows_and_gets_what_came_of_it(
    made: Loops, tmp_path: Path
) -> None:
    async with asyncio.timeout(WAIT_S), made(tmp_path) as found:
        assert [spec.name for spec in await found.jobs.tools(found.remote)] == ["summarise"]
        assert await found.jobs.names() == {"summarise"}
        assert not found.jobs.changed(found.spec)
        asked = asked_of(found)
        job = await found.jobs.start(asked)
        (known,) = found.jobs.of_request(asked.request_id)
        assert (known.id, known.asked.call) == (job, asked.call)
        assert found.jobs.of_request(new_request_id()) == ()
        await found.end(job)
        async with aclosing(found.jobs.follow(job)) as events:
            states = [event.state async for event in events]
        assert states[-1:] in ([JobState.SUCCEEDED], [])
        assert (await found.jobs.result(job)).content == "done"


@LOOPS
async def test_the_loop_is_told_why_there_is_no_result(made: Loops, tmp_path: Path) -> None:
    async with asyncio.timeout(WAIT_S), made(tmp_path) as found:
        job = await found.jobs.start(asked_of(found))
        await found.fail(job)
        with pytest.raises(HomingError, match="no such folder"):
            await found.jobs.result(job)


@LOOPS
async def test_leaving_a_job_stops_nothing(made: Loops, tmp_path: Path) -> None:
    async with asyncio.timeout(WAIT_S), made(tmp_path) as found:
        job = await found.jobs.start(asked_of(found))
        async with aclosing(found.jobs.follow(job)) as events:
            watcher = asyncio.ensure_future(anext(events, None))
            await asyncio.sleep(0)
            watcher.cancel()
            await asyncio.wait({watcher})
        await found.end(job)
        assert (await found.jobs.result(job)).content == "done"
        assert found.spec.place in set(Place)
