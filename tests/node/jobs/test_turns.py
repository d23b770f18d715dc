"""Guests share a node with its household."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import ToolOutput
from homing_core.access import DeviceRole
from homing_core.errors import OverloadedError
from homing_core.jobs import JobState
from homing_core.provenance import Sensitivity
from homing_node.jobs.section import JobsSection
from homing_node.jobs.store import JobKey
from homing_node.jobs.testing import MemoryJobStore
from homing_node.jobs.turns import Turns
from support.job_house import ScriptedTool, house, job, tool_spec
from support.job_rows import ANN, BOB, new_job, put

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from support.job_house import House, Person


def gated() -> tuple[ScriptedTool, asyncio.Event, asyncio.Event]:
    """A tool that says that it has begun and waits for a word."""
    begun, go = asyncio.Event(), asyncio.Event()

    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        begun.set()
        await go.wait()
        return ToolOutput("at last")

    return ScriptedTool(tool_spec("long"), does), begun, go


def outsider(home: House, kind: str) -> Person:
    if kind == "guest":
        return home.person(DeviceRole.GUEST)
    peer = home.person()
    return home.person(introduced_by=peer.identity.device_id)


@pytest.mark.attack
@pytest.mark.parametrize("kind", ["guest", "introduced"])
async def test_jobs_of_guests_that_never_end_leave_a_place_to_the_household(
    tmp_path: Path, kind: str
) -> None:
    """With two places, two jobs of outsiders and one of the household: that one runs."""
    long, begun, go = gated()
    quick = ScriptedTool(tool_spec("quick"))
    async with house(tmp_path, long, quick) as home, asyncio.timeout(20):
        guests = [outsider(home, kind), outsider(home, kind)]
        specs = [
            await home.submit(guest, job(long, sensitivity=Sensitivity.ANY_PAIRED))
            for guest in guests
        ]
        await begun.wait()
        for role in (DeviceRole.OWNER, DeviceRole.MEMBER):
            who = home.person(role)
            mine = await home.submit(who, job(quick))
            assert (await home.ended(who, mine.id))[-1].state is JobState.SUCCEEDED
        second = await home.parts.desk.status(guests[1].device, specs[1].id)
        assert second.state is JobState.QUEUED
        assert isinstance(second.detail, dict)
        assert "guests" in str(second.detail["held"])
        assert long.runs == 1
        go.set()
        for guest, spec in zip(guests, specs, strict=True):
            assert (await home.ended(guest, spec.id))[-1].state is JobState.SUCCEEDED


async def test_a_guest_runs_where_only_one_job_may(tmp_path: Path) -> None:
    long, begun, go = gated()
    section = JobsSection(at_once=1)
    async with house(tmp_path, long, section=section) as home, asyncio.timeout(20):
        guest, owner = home.person(DeviceRole.GUEST), home.person()
        first = await home.submit(guest, job(long))
        await begun.wait()
        second = await home.submit(owner, job(long))
        waiting = await home.parts.desk.status(owner.device, second.id)
        assert isinstance(waiting.detail, dict)
        assert "as many jobs run" in str(waiting.detail["held"])
        running = await home.parts.desk.status(guest.device, first.id)
        assert running.detail is None
        go.set()
        for who, spec in ((guest, first), (owner, second)):
            assert (await home.ended(who, spec.id))[-1].state is JobState.SUCCEEDED


def test_a_place_that_was_given_and_not_used_is_free_again() -> None:
    store, running = MemoryJobStore(), set[JobKey]()
    ann, bob = put(store, new_job(ANN)), put(store, new_job(BOB))
    turns = Turns(2, running)
    assert turns.take(ann.key, household=False)
    assert turns.take(bob.key, household=False)  # the first was claimed by another daemon
    running.add(bob.key)
    assert not turns.take(ann.key, household=False)
    assert turns.next([ann], 0.0) is None
    assert turns.why(ann.key)
    running.clear()
    turns.look_anew()
    assert turns.next([ann], 0.0) is ann
    assert not turns.why(ann.key)


def test_a_job_that_is_held_says_why_and_has_its_turn_later() -> None:
    store = MemoryJobStore()
    row = put(store)
    turns = Turns(2, ())
    turns.hold(row.key, 10.0, "at these hours only")
    assert turns.next([row], 9.0) is None
    assert turns.why(row.key) == "at these hours only"
    assert turns.next([row], 10.0) is row


@pytest.mark.attack
async def test_a_guest_that_fetches_nothing_fills_no_disk(tmp_path: Path) -> None:
    """Its results wait, and with 1 MiB of them it hands in no more; others are not held up."""

    async def large(_: JsonObject, __: ToolContext) -> ToolOutput:
        return ToolOutput("x" * 600_000)

    tool = ScriptedTool(tool_spec(), large)
    async with house(tmp_path, tool, section=JobsSection(waiting_mib=1)) as home:
        guest, other = home.person(DeviceRole.GUEST), home.person(DeviceRole.GUEST)
        first, spec = job(tool, "one"), job(tool, "two")
        for one in (first, spec):
            await home.submit(guest, one)
            assert (await home.ended(guest, one.id))[-1].state is JobState.SUCCEEDED
        with pytest.raises(OverloadedError, match="1 MiB"):
            await home.submit(guest, job(tool))
        assert (await home.parts.desk.status(guest.device, spec.id)).state is JobState.SUCCEEDED
        fine = await home.submit(other, job(tool))
        assert (await home.ended(other, fine.id))[-1].state is JobState.SUCCEEDED
        row = home.store.get(JobKey(guest.device.owner, spec.id))
        await home.parts.desk.ack(guest.device, spec.id, row.result_sha256)
        assert await home.submit(guest, job(tool))
