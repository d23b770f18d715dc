"""A phone's jobs at real nodes, over real connections."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_client.cli.job_tool import all_offered
from homing_client.config import HomeSection
from homing_client.homes import HomeLinks
from homing_client.jobs.door import LinkedNodes
from homing_client.keys import OneKey
from homing_core.access import DeviceRole, Limits
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, NotFoundError, RefusedError, UnavailableError
from homing_core.jobs import JobProgress, JobState
from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass, Place
from homing_crypto.nodes import KnownNode
from homing_crypto.testing import MemoryNodeBook, paired_device
from homing_node.testing import FixedTools
from support.home_tools import CountTool, EchoTool, FailingTool, FilesTool, SlowTool, noise
from support.job_world import WAIT_S, JobWorld, Phone
from support.jobs_home import WORKS
from support.node_rig import LOOPBACK, NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_agent.tool import Tool
    from homing_core.jobs import JobEvent
    from homing_node.config import NodeConfig


def let_in(rig: NodeRig, world: JobWorld, role: DeviceRole = DeviceRole.OWNER) -> None:
    """Pair the phone with the node."""
    scopes = None if role is DeviceRole.OWNER else WORKS
    rig.running.store.add(replace(paired_device(world.phone, role, scopes), limits=Limits()))


def known(rig: NodeRig, place: Place = Place.HOME) -> KnownNode:
    """What the phone's book says of the node."""
    return KnownNode(
        id=rig.certificate.device_id,
        certificate_der=rig.certificate.der,
        hpke_public_key=b"",
        name="den",
        place=place,
        role=DeviceRole.OWNER,
        scopes=WORKS,
        addresses=(f"127.0.0.1:{rig.running.port}",),
    )


@contextlib.asynccontextmanager
async def phone_of(world: JobWorld, *nodes: KnownNode) -> AsyncGenerator[Phone]:
    """The phone's process, with real links."""
    book = MemoryNodeBook()
    for node in nodes:
        book.add(node)
    keys = OneKey(world.phone)
    section = HomeSection(mdns=False, reach_seconds=5.0)
    homes = HomeLinks(keys, book, section, None, SystemClock())
    try:
        async with world.process(LinkedNodes(homes, keys)) as phone:
            yield phone
    finally:
        await homes.close()


def at(port: int) -> NodeConfig:
    """A node at the same port again."""
    return replace(LOOPBACK, listen=replace(LOOPBACK.listen, port=port))


@pytest.fixture
def world(tmp_path: Path) -> JobWorld:
    (tmp_path / "phone").mkdir()
    return JobWorld(tmp_path / "phone", real=SystemClock())


async def seen(phone: Phone, job: str) -> list[JobEvent]:
    async with asyncio.timeout(WAIT_S), contextlib.aclosing(phone.parts.desk.watch(job, 0)) as go:
        return [event async for event in go]


def tools(*some: Tool) -> FixedTools:
    return FixedTools(tools=some)


async def test_from_the_tool_to_the_files_on_the_phone(world: JobWorld, tmp_path: Path) -> None:
    async with node_rig(tmp_path, tools=tools(EchoTool(), FilesTool(binary_bytes=300_000))) as rig:
        let_in(rig, world)
        async with phone_of(world, known(rig)) as phone:
            offered = {spec.name: spec for spec, _ in all_offered(await phone.parts.desk.tools())}
            assert set(offered) == {"echo", "files"}
            assert offered["echo"].node == rig.certificate.device_id
            job = (await phone.start("files", text="hello")).id
            entry = await phone.settled(job)
            assert entry.result is not None
            assert entry.result.files
            saved = await phone.parts.desk.save_files(job, tmp_path / "to", replace=False)
            sizes = sorted(path.stat().st_size for path in saved)
            assert sizes[-1] == 300_000
            assert any(path.read_bytes() == noise(300_000) for path in saved)
            events = await seen(phone, job)
            assert events[-1].state is JobState.SUCCEEDED
            assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_progress_is_seen_and_a_job_is_really_stopped(
    world: JobWorld, tmp_path: Path
) -> None:
    slow = SlowTool()
    async with node_rig(tmp_path, tools=tools(slow)) as rig:
        let_in(rig, world)
        async with phone_of(world, known(rig)) as phone:
            job = (await phone.start("slow", text="a")).id
            async with asyncio.timeout(WAIT_S):
                await phone.parts.keeper.news.until(
                    lambda: phone.parts.book.get(job).progress or None
                )
            assert isinstance(phone.parts.book.get(job).progress, JobProgress)
            await phone.parts.desk.cancel(job)
            async with asyncio.timeout(WAIT_S):
                await slow.cancelled.wait()
            assert (await phone.settled(job)).state is JobState.CANCELLED


async def test_the_phone_gone_for_the_whole_job_then_back(world: JobWorld, tmp_path: Path) -> None:
    slow = SlowTool()
    async with node_rig(tmp_path, tools=tools(slow)) as rig:
        let_in(rig, world)
        async with phone_of(world, known(rig)) as phone:
            job = (await phone.start("slow", text="a")).id
        slow.release.set()
        async with phone_of(world, known(rig)) as phone:
            entry = await phone.settled(job)
            assert entry.result is not None
            again = await phone.parts.desk.result(job)
            assert again == entry.result
        assert len(slow.runs) == 1
        async with phone_of(world, known(rig)) as phone:
            assert phone.parts.book.unsettled() == ()


async def test_a_node_that_is_restarted_in_the_middle_goes_on(
    world: JobWorld, tmp_path: Path
) -> None:
    slow = SlowTool()
    async with node_rig(tmp_path, tools=tools(slow)) as rig:
        let_in(rig, world)
        where, port = known(rig), rig.running.port
        async with phone_of(world, where) as phone:
            job = (await phone.start("slow", text="a")).id
            async with asyncio.timeout(WAIT_S):
                await slow.started.wait()
    slow = SlowTool()
    slow.release.set()
    async with phone_of(world, where) as phone:
        error = await phone.until_error(job)
        assert error
        async with node_rig(tmp_path, at(port), tools=tools(slow)):
            entry = await phone.settled(job)
            assert entry.result is not None
    assert len(slow.runs) == 1


async def test_a_node_that_is_away_gets_the_job_once_it_is_there(
    world: JobWorld, tmp_path: Path
) -> None:
    async with node_rig(tmp_path, tools=tools(EchoTool())) as rig:
        let_in(rig, world)
        where, port = known(rig), rig.running.port
        async with phone_of(world, where) as phone:
            await phone.parts.desk.tools()
            first = await phone.start("echo", text="a")
            await phone.settled(first.id)
    async with phone_of(world, where) as phone:
        with pytest.raises(UnavailableError):
            await phone.start("echo", text="b")  # nobody says what the tool is now
        async with node_rig(tmp_path, at(port), tools=tools(EchoTool())):
            job = await phone.start("echo", text="b")
            assert (await phone.settled(job.id)).result is not None


async def test_a_tool_that_changes_something_runs_once_with_consent(
    world: JobWorld, tmp_path: Path
) -> None:
    count = CountTool(tmp_path / "counted")
    async with node_rig(tmp_path, tools=tools(count)) as rig:
        let_in(rig, world)
        async with phone_of(world, known(rig)) as phone:
            with pytest.raises(RefusedError, match="consent"):
                await phone.start("count", text="a")
            job = await phone.start("count", text="a", allowed=True)
            assert job.tool.effect is EffectClass.WRITE
            await phone.settled(job.id)
    assert count.lines == ["a"]


async def test_a_tool_that_fails_says_why(world: JobWorld, tmp_path: Path) -> None:
    async with node_rig(tmp_path, tools=tools(FailingTool())) as rig:
        let_in(rig, world)
        async with phone_of(world, known(rig)) as phone:
            job = await phone.start("failing", text="a")
            entry = await phone.settled(job.id)
            assert entry.state is JobState.FAILED
            said = entry.result.content if entry.result else ""
            if entry.result is None:
                with pytest.raises(HomingError) as caught:
                    await phone.parts.desk.result(job.id)
                said = caught.value.what
            assert said


async def test_a_peer_runs_what_may_go_there(world: JobWorld, tmp_path: Path) -> None:
    async with node_rig(tmp_path, tools=tools(EchoTool())) as rig:
        let_in(rig, world, DeviceRole.GUEST)
        async with phone_of(world, known(rig, Place.PEER)) as phone:
            with pytest.raises(RefusedError, match="may not go to a peer"):
                await phone.start("echo", text="a", allowed=True)
            may = Sensitivity.TRUSTED_PEERS
            with pytest.raises(RefusedError, match="consent"):
                await phone.start("echo", text="a", sensitivity=may)
            job = await phone.start("echo", text="a", sensitivity=may, allowed=True)
            assert job.place is Place.PEER
            entry = await phone.settled(job.id)
            assert entry.delivered
            assert entry.result is not None
            assert entry.result.content == "echo: a"


async def test_a_phone_that_is_not_paired_any_more_is_told(world: JobWorld, tmp_path: Path) -> None:
    async with node_rig(tmp_path, tools=tools(EchoTool())) as rig:
        let_in(rig, world)
        async with phone_of(world, known(rig)) as phone:
            await phone.parts.desk.tools()
        async with phone_of(world) as phone:
            with pytest.raises((NotFoundError, UnavailableError)):
                await phone.start("echo", text="a")
