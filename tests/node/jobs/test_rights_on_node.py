"""A node's jobs when what their device may do changes while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.clock import SystemClock
from homing_core.errors import RefusedError, UnpairedError
from homing_core.jobs import JobState
from homing_crypto.audit.records import CONSOLE
from support.home_tools import SlowTool
from support.jobs_home import WORKS, JobsHome, jobs_home, set_soon, until
from support.jobs_wire import JobsClient, job_for
from support.limited import SetClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.jobs import JobSpec


@pytest.fixture
def slow() -> SlowTool:
    return SlowTool()


@pytest.fixture
def clock() -> SetClock:
    return SetClock(SystemClock().now())


@pytest.fixture
async def home(tmp_path: Path, slow: SlowTool, clock: SetClock) -> AsyncIterator[JobsHome]:
    async with jobs_home(tmp_path, slow, clock=clock) as made:
        yield made
        slow.release.set()


async def running(home: JobsHome, slow: SlowTool) -> tuple[JobsClient, JobSpec]:
    """A guest whose job runs."""
    guest, job = await home.device(), job_for(slow.spec)
    await guest.submit(job)
    await set_soon(slow.started)
    return guest, job


async def grant(
    home: JobsHome, guest: JobsClient, scopes: frozenset[Scope], limits: Limits
) -> None:
    desk = home.rig.running.desk
    await desk.grant(guest.identity.device_id, DeviceRole.GUEST, scopes, limits, CONSOLE)


async def test_without_the_scope_it_stops_and_its_result_waits_for_better_days(
    home: JobsHome, slow: SlowTool
) -> None:
    guest, job = await running(home, slow)
    await grant(home, guest, frozenset({Scope.INFERENCE}), Limits())
    await set_soon(slow.cancelled)
    with pytest.raises(RefusedError):
        await guest.status(job.id)
    await grant(home, guest, WORKS, Limits())
    assert (await until(guest, job.id, JobState.CANCELLED)).state.final


async def test_without_its_tool_it_stops(home: JobsHome, slow: SlowTool) -> None:
    guest, job = await running(home, slow)
    await grant(home, guest, WORKS, Limits(tools=("scripted.other",)))
    await set_soon(slow.cancelled)
    await until(guest, job.id, JobState.CANCELLED)


async def test_out_of_hours_it_goes_on_and_only_calls_wait(home: JobsHome, slow: SlowTool) -> None:
    guest, job = await running(home, slow)
    await grant(home, guest, WORKS, Limits(hours="none"))
    with pytest.raises(RefusedError):
        await guest.status(job.id)
    slow.release.set()
    await grant(home, guest, WORKS, Limits())
    await until(guest, job.id, JobState.SUCCEEDED)
    assert not slow.cancelled.is_set()


async def test_once_its_time_is_over_it_stops_within_seconds(
    home: JobsHome, slow: SlowTool, clock: SetClock
) -> None:
    guest, job = await running(home, slow)
    await grant(home, guest, WORKS, Limits(expires_at=int(clock.now()) + 60))
    assert not slow.cancelled.is_set()
    clock.set(clock.now() + 61)
    await set_soon(slow.cancelled)
    with pytest.raises(UnpairedError):
        await guest.status(job.id)
