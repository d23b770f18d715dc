"""Jobs run in turn, are resumed, and end although daemons come and go."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolOutput
from homing_core.errors import RefusedError, UnavailableError
from homing_core.jobs import JobProgress, JobState
from homing_core.tools import EffectClass
from homing_crypto.testing import MemoryTrustStore, throwaway_identity
from homing_node.jobs.section import JobsSection
from homing_node.jobs.sql_store import SqlJobStore
from homing_node.jobs.store import JobKey, LostJobError
from homing_node.jobs.testing import MemoryJobStore
from homing_node.jobs.workflows import MemoryWorkflows
from support.job_house import Mortal, ScriptedTool, house, job, tool_spec

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_node.jobs.workflows import Body
    from support.postgres import PostgresServer


def gated(spec_name: str = "work") -> tuple[ScriptedTool, asyncio.Event, asyncio.Event]:
    """A tool that says that it has begun and waits for a word."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def does(arguments: JsonObject, _: ToolContext) -> ToolOutput:
        begun.set()
        await go.wait()
        return ToolOutput(f"worked on {arguments['what']}")

    return ScriptedTool(tool_spec(spec_name), does), begun, go


async def test_so_many_run_at_once_and_no_account_waits_behind_anothers_queue(
    tmp_path: Path,
) -> None:
    order: list[str] = []
    most = now = 0
    both = asyncio.Event()

    async def does(arguments: JsonObject, _: ToolContext) -> ToolOutput:
        nonlocal most, now
        now += 1
        most = max(most, now)
        order.append(str(arguments["what"]))
        if len(order) == 2:
            both.set()
        await both.wait()
        now -= 1
        return ToolOutput("done")

    tool = ScriptedTool(tool_spec(), does)
    section = JobsSection(at_once=2)
    async with house(tmp_path, tool, section=section, start=False) as home:
        ann, bob = home.person(), home.person()
        jobs = [(ann, await home.submit(ann, job(tool, f"ann {n}"))) for n in range(4)]
        jobs.append((bob, await home.submit(bob, job(tool, "bob"))))
        jobs.append((ann, await home.submit(ann, job(tool, "ann now", priority=1))))
        await home.parts.start()
        for who, spec in jobs:
            await home.ended(who, spec.id)
    assert most == 2
    assert order[:2] == ["ann now", "bob"]
    assert len(order) == len(jobs)


async def test_a_thousand_queued_jobs_all_end(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool, section=JobsSection(at_once=8), start=False) as home:
        phone = home.person()
        specs = [await home.submit(phone, job(tool, str(number))) for number in range(1000)]
        began = time.monotonic()
        await home.parts.start()
        async with asyncio.timeout(60):
            for spec in specs:
                events = await home.ended(phone, spec.id)
                assert events[-1].state is JobState.SUCCEEDED
        took = time.monotonic() - began
    assert tool.runs == 1000
    assert took < 60


async def test_a_stopped_node_leaves_its_jobs_to_be_resumed(tmp_path: Path) -> None:
    store, trust, node = MemoryJobStore(), MemoryTrustStore(), throwaway_identity()
    tool, begun, go = gated()
    async with house(tmp_path, tool, store=store, trust=trust, node=node) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        await begun.wait()
    row = store.get(JobKey(phone.device.owner, spec.id))
    assert row.state is JobState.QUEUED
    go.set()
    async with house(tmp_path, tool, store=store, trust=trust, node=node) as home:
        events = await home.ended(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert tool.runs == 2


async def test_a_tool_that_is_nearly_done_may_end_when_the_node_stops(tmp_path: Path) -> None:
    store, trust = MemoryJobStore(), MemoryTrustStore()
    begun = asyncio.Event()

    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        begun.set()
        await asyncio.sleep(0.05)
        return ToolOutput("just in time")

    tool = ScriptedTool(tool_spec(effect=EffectClass.WRITE), does)
    async with house(tmp_path, tool, store=store, trust=trust, grace_s=5.0) as home:
        phone = home.person()
        spec = job(tool)
        await home.submit(phone, spec, phone.consents(spec))
        await begun.wait()
    assert store.get(JobKey(phone.device.owner, spec.id)).state is JobState.SUCCEEDED


async def test_jobs_wait_while_their_device_may_not_use_the_node(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool, start=False) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        home.access.closed = RefusedError("at these hours only")
        await home.parts.start()
        await asyncio.sleep(0.05)
        status = await home.parts.desk.status(phone.device, spec.id)
    assert status.state is JobState.QUEUED
    assert tool.runs == 0


class Broken(MemoryWorkflows):
    """Workflows whose database is locked for a while."""

    locked = True

    def __init__(self) -> None:
        super().__init__()
        self.tried = asyncio.Event()

    async def launch(self, body: Body) -> None:
        self.tried.set()
        if self.locked:
            msg = "the workflow database is locked"
            raise UnavailableError(msg)
        await super().launch(body)


async def test_jobs_say_so_while_nothing_can_begin_and_the_node_goes_on(tmp_path: Path) -> None:
    tool, workflows = ScriptedTool(tool_spec()), Broken()
    async with house(tmp_path, tool, workflows=workflows) as home, asyncio.timeout(10):
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        await workflows.tried.wait()
        status = await home.parts.desk.status(phone.device, spec.id)
        assert status.detail == {"held": "the workflow database is locked"}
        workflows.locked = False
        another = await home.submit(phone, job(tool))
        for one in (spec, another):
            assert (await home.ended(phone, one.id))[-1].state is JobState.SUCCEEDED


class Full(Mortal):
    """A disk that is full for the first tries of some method."""

    def __init__(self, store: MemoryJobStore, method: str, times: int) -> None:
        super().__init__(store)
        self.method, self.times = method, times

    def fails(self, name: str) -> bool:
        failing = name == self.method and self.times > 0
        self.times -= failing
        return failing


@pytest.mark.parametrize("method", ["finish", "finish_effect", "append", "notes", "effects"])
async def test_a_full_disk_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, method: str
) -> None:
    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        context.report(JobProgress(1, 2, "files"))
        await asyncio.sleep(0.02)
        return ToolOutput("written")

    tool = ScriptedTool(tool_spec(effect=EffectClass.WRITE), does)
    store = Full(MemoryJobStore(), method, 2)
    section = JobsSection(lease_seconds=1.0)
    async with house(tmp_path, tool, store=store.kept, section=section) as home:
        phone = home.person()
        spec = job(tool)
        await home.submit(phone, spec, phone.consents(spec))
        events = await home.ended(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert tool.runs == 1


@pytest.fixture
def shared_url(postgres: PostgresServer) -> str:
    return postgres.new_database()


@pytest.fixture
def mortal(shared_url: str) -> Generator[Mortal]:
    """The database as a daemon sees it that will be killed or paused."""
    store = SqlJobStore(shared_url)
    yield Mortal(store)
    store.close()


async def test_another_daemon_finishes_what_a_dead_one_had(
    tmp_path: Path, shared_url: str, mortal: Mortal
) -> None:
    trust, node = MemoryTrustStore(), throwaway_identity()
    section = JobsSection(database=shared_url, lease_seconds=1.0)
    hanging, begun, _ = gated()
    other = ScriptedTool(tool_spec())
    async with house(
        tmp_path / "one", hanging, store=mortal.kept, section=section, trust=trust, stop_s=0.0
    ) as first:
        phone = first.person()
        spec = await first.submit(phone, job(hanging))
        await begun.wait()
        mortal.dead = True
        async with house(
            tmp_path / "two",
            other,
            store=SqlJobStore(shared_url),
            section=section,
            trust=trust,
            node=node,
        ) as second:
            events = await second.ended(phone, spec.id)
            result, _ = await second.result(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert result.content == "worked on it"
    assert (hanging.runs, other.runs) == (1, 1)


async def test_a_paused_daemon_that_comes_back_changes_nothing_and_stops_its_tool(
    tmp_path: Path, shared_url: str, mortal: Mortal
) -> None:
    trust, stopped = MemoryTrustStore(), asyncio.Event()
    section = JobsSection(database=shared_url, lease_seconds=1.0)
    begun, noted = asyncio.Event(), asyncio.Event()
    refused: list[LostJobError] = []

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        begun.set()
        try:
            await noted.wait()
            try:
                await context.notebook.put("late", value=True)
            except LostJobError as error:
                refused.append(error)
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return ToolOutput("from the paused one")

    paused, other = ScriptedTool(tool_spec(), does), ScriptedTool(tool_spec())
    async with (
        house(tmp_path / "one", paused, store=mortal.kept, section=section, trust=trust) as first,
        asyncio.timeout(20),
    ):
        phone = first.person()
        spec = await first.submit(phone, job(paused))
        await begun.wait()
        mortal.dead = True  # it is paused: nothing of it reaches the database
        async with house(
            tmp_path / "two", other, store=SqlJobStore(shared_url), section=section, trust=trust
        ) as second:
            events = await second.ended(phone, spec.id)
            mortal.dead = False
            noted.set()
            await first.parts.scheduler.beat()
            await stopped.wait()
            after = await second.ended(phone, spec.id)
    assert after == events
    assert refused
    assert other.runs == 1


async def test_what_is_ended_at_one_daemon_stops_its_tools_at_another(
    tmp_path: Path, shared_url: str
) -> None:
    trust, section = MemoryTrustStore(), JobsSection(database=shared_url, lease_seconds=1.0)
    stopped = [asyncio.Event(), asyncio.Event()]
    begun = [asyncio.Event(), asyncio.Event()]

    async def does(arguments: JsonObject, _: ToolContext) -> ToolOutput:
        number = int(str(arguments["what"]))
        begun[number].set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped[number].set()
        return ToolOutput("never")

    tool = ScriptedTool(tool_spec(), does)
    one, two = SqlJobStore(shared_url), SqlJobStore(shared_url)
    async with (
        house(tmp_path / "one", tool, store=one, section=section, trust=trust) as first,
        house(tmp_path / "two", store=two, section=section, start=False) as second,
        asyncio.timeout(20),
    ):
        phones = [first.person(), first.person()]
        specs = [await first.submit(who, job(tool, str(n))) for n, who in enumerate(phones)]
        for event in begun:
            await event.wait()
        await second.parts.rights.look()  # the second daemon does not know these phones
        await second.parts.desk.cancel_any(JobKey(phones[0].device.owner, specs[0].id))
        await second.parts.desk.end_account(phones[1].device.owner)
        for event in stopped:
            await event.wait()
        events = await first.ended(phones[0], specs[0].id)
    assert events[-1].state is JobState.CANCELLED
    assert [event.state for event in events].count(JobState.CANCELLED) == 1
