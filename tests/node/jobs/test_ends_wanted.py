"""An end that is wanted comes, whatever a job is about to do; only crashes make it given up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolOutput
from homing_core.errors import UnavailableError
from homing_core.jobs import JobState
from homing_core.tools import EffectClass
from homing_node.jobs import scheduler
from homing_node.jobs.leaving import MOST_CRASHES
from homing_node.jobs.section import JobsSection
from homing_node.jobs.store import JobKey
from homing_node.jobs.testing import MemoryJobStore
from homing_node.jobs.workflows import MemoryWorkflows
from support.job_house import Mortal, ScriptedTool, house, job, tool_spec

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_node.jobs.store import Entry, Fence, JobStore, Question


def asking(stopping: asyncio.Event, stopped: asyncio.Event) -> tuple[ScriptedTool, ScriptedTool]:
    """A tool that asks a person through another, and takes its time to stop."""
    inner = ScriptedTool(tool_spec("inner", EffectClass.WRITE))

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        (offered,) = (one for one in context.offered if one.spec.name == "inner")
        try:
            return await offered.run({"what": "x"}, context)
        except asyncio.CancelledError:
            stopping.set()
            await stopped.wait()
            raise

    return ScriptedTool(tool_spec("outer"), does), inner


@pytest.mark.attack
async def test_a_cancel_in_the_moment_in_which_a_job_asks_a_person_is_not_lost(
    tmp_path: Path,
) -> None:
    stopping, stopped = asyncio.Event(), asyncio.Event()
    outer, inner = asking(stopping, stopped)
    async with house(tmp_path, outer, inner) as home, asyncio.timeout(20):
        owner = home.person()
        spec = await home.submit(owner, job(outer))
        await stopping.wait()
        await home.parts.desk.cancel(owner.device, spec.id)
        stopped.set()
        events = await home.ended(owner, spec.id)
        waiting = await home.parts.desk.pending(owner.device)
    assert events[-1].state is JobState.CANCELLED
    assert JobState.WAITING_APPROVAL not in {event.state for event in events}
    assert (waiting, inner.runs) == ((), 0)


class Late(MemoryJobStore):
    """The end is wanted, at another daemon, just before the question is stored."""

    def ask(self, fence: Fence, question: Question, entry: Entry) -> None:
        self.want_cancel(fence.key)
        super().ask(fence, question, entry)


@pytest.mark.attack
async def test_a_cancel_at_another_daemon_just_before_the_question_ends_the_job(
    tmp_path: Path,
) -> None:
    stopping, stopped = asyncio.Event(), asyncio.Event()
    stopped.set()
    outer, inner = asking(stopping, stopped)
    async with house(tmp_path, outer, inner, store=Late()) as home:
        owner = home.person()
        spec = await home.submit(owner, job(outer))
        events = await home.ended(owner, spec.id)
    assert events[-1].state is JobState.CANCELLED
    assert JobState.WAITING_APPROVAL not in {event.state for event in events}


async def test_the_beat_ends_a_job_that_nobody_runs_and_whose_end_is_wanted(
    tmp_path: Path,
) -> None:
    tool = ScriptedTool(tool_spec())
    async with house(tmp_path, tool, start=False) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        home.store.want_cancel(JobKey(phone.device.owner, spec.id))
        await home.parts.scheduler.beat()
        status = await home.parts.desk.status(phone.device, spec.id)
    assert status.state is JobState.CANCELLED
    assert tool.runs == 0


class Down(MemoryWorkflows):
    """A workflow database that does not answer for a while."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    async def start(self, key: JobKey, attempt: int) -> None:
        if self.times:
            self.times -= 1
            msg = "the workflow database does not answer"
            raise UnavailableError(msg)
        await super().start(key, attempt)


@pytest.mark.attack
async def test_a_database_that_is_away_for_a_while_is_no_crash_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "_RETRY_S", 0.01)
    tool, workflows = ScriptedTool(tool_spec()), Down(MOST_CRASHES + 3)
    async with house(tmp_path, tool, workflows=workflows) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        events = await home.ended(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert tool.runs == 1


class Unopened(Mortal):
    """A store that does not answer when an attempt is about to begin."""

    def __init__(self, store: JobStore, times: int) -> None:
        super().__init__(store)
        self.times = times

    def fails(self, name: str) -> bool:
        failing = name == "secrets" and self.times > 0
        self.times -= failing
        return failing


@pytest.mark.attack
async def test_attempts_that_could_not_even_begin_are_no_crashes(tmp_path: Path) -> None:
    tool = ScriptedTool(tool_spec())
    store = Unopened(MemoryJobStore(), MOST_CRASHES + 3)
    section = JobsSection(lease_seconds=1.0)
    async with (
        house(tmp_path, tool, store=store.kept, section=section) as home,
        asyncio.timeout(20),
    ):
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        while store.times:
            await home.parts.scheduler.beat()
        events = await home.ended(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert tool.runs == 1


async def test_a_job_that_ends_its_node_each_time_is_given_up(tmp_path: Path) -> None:
    """Each daemon is killed while the tool runs: nothing that it does afterwards is stored."""
    kept = MemoryJobStore()
    begun = asyncio.Event()

    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        begun.set()
        await asyncio.Event().wait()
        return ToolOutput("never")

    tool = ScriptedTool(tool_spec(), does)
    async with house(tmp_path, tool, store=kept, start=False) as home, asyncio.timeout(20):
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        for _ in range(MOST_CRASHES):
            begun.clear()
            mortal = Mortal(kept)
            async with house(
                tmp_path, tool, store=mortal.kept, trust=home.trust, node=home.node, stop_s=0.0
            ):
                await begun.wait()
                mortal.dead = True
        async with house(tmp_path, tool, store=kept, trust=home.trust, node=home.node) as last:
            events = await last.ended(phone, spec.id)
            result, _ = await last.result(phone, spec.id)
    assert events[-1].state is JobState.FAILED
    assert f"begun {MOST_CRASHES} times" in result.content
    assert tool.runs == MOST_CRASHES
