"""What every `Jobs` does, whether it is the fake or a node's own: one suite over both."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole
from homing_core.errors import ConflictError, NotFoundError
from homing_core.ids import new_job_id
from homing_core.jobs import JobState
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.jobs.fake_desk import FakeJobs
from homing_node.jobs.store import JobKey
from support.home_tools import SlowTool, noise
from support.jobs_home import jobs_home
from support.jobs_wire import job_for
from support.node_rig import DEADLINE_S

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.jobs import JobEvent, JobSpec
    from homing_crypto.devices import PairedDevice
    from homing_node.jobs.ports import Jobs


class Side:
    """Jobs, two devices, and a way to let a job end.

    Args:
        jobs: what is tried.
        slow: the tool of its jobs.
        mine: a device.
        theirs: another account's.
    """

    def __init__(
        self, jobs: Jobs, slow: SlowTool, mine: PairedDevice, theirs: PairedDevice
    ) -> None:
        self.jobs, self.slow, self.mine, self.theirs = jobs, slow, mine, theirs

    def job(self, text: str = "hello") -> JobSpec:
        return job_for(self.slow.spec, text)

    async def events(self, job: JobSpec, after: int = 0) -> list[JobEvent]:
        """Its record, to its end."""
        async with asyncio.timeout(DEADLINE_S):
            return [event async for event in self.jobs.watch(self.mine, job.id, after)]

    async def sealed(self, job: JobSpec, offset: int = 0) -> bytes:
        """Its result."""
        pieces = [piece async for piece in self.jobs.download(self.mine, job.id, offset)]
        return b"".join(piece.data for piece in pieces)

    async def ended(self, job: JobSpec) -> None:
        """Let it end."""
        self.slow.release.set()
        if isinstance(self.jobs, FakeJobs):
            key = JobKey(self.mine.owner, job.id)
            await self.jobs.move(key, JobState.RUNNING)
            await self.jobs.move(key, JobState.SUCCEEDED, result=noise(200_000))
        await self.events(job)


@pytest.fixture(params=["fake", "node"])
async def side(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Side]:
    slow = SlowTool()
    async with contextlib.AsyncExitStack() as stack:
        if request.param == "fake":
            mine, theirs = (paired_device(throwaway_identity()) for _ in range(2))
            yield Side(FakeJobs(), slow, mine, theirs)
            return
        home = await stack.enter_async_context(jobs_home(tmp_path, slow))
        get = home.rig.running.store.get
        mine, theirs = [
            get((await home.device(DeviceRole.MEMBER)).identity.device_id) for _ in range(2)
        ]
        stack.callback(slow.release.set)  # no tool has to be waited for at the end
        yield Side(home.rig.running.jobs, slow, mine, theirs)


async def test_the_same_again_is_the_same_job(side: Side) -> None:
    job = side.job()
    first = await side.jobs.submit(side.mine, job, None)
    assert (first.id, first.tool_name, first.state.final) == (job.id, "slow", False)
    assert (await side.jobs.submit(side.mine, job, None)).submitted_at == first.submitted_at
    assert len(await side.jobs.list(side.mine, 10, None)) == 1
    other = replace(job, call=replace(job.call, arguments={"text": "other"}))
    with pytest.raises(ConflictError):
        await side.jobs.submit(side.mine, other, None)


async def test_for_another_account_it_does_not_exist(side: Side) -> None:
    job = side.job()
    await side.jobs.submit(side.mine, job, None)
    for name in (job.id, new_job_id()):
        with pytest.raises(NotFoundError):
            await side.jobs.status(side.theirs, name)
        with pytest.raises(NotFoundError):
            await side.jobs.cancel(side.theirs, name)
        with pytest.raises(NotFoundError):
            await anext(side.jobs.watch(side.theirs, name, 0))
        with pytest.raises(NotFoundError):
            await anext(side.jobs.download(side.theirs, name, 0))
        with pytest.raises(NotFoundError):
            await side.jobs.ack(side.theirs, name, "0a" * 32)
    assert await side.jobs.list(side.theirs, 10, None) == ()
    assert not (await side.jobs.status(side.mine, job.id)).state.final


@pytest.mark.attack
async def test_what_is_ended_before_it_arrives_is_not_taken(side: Side) -> None:
    job = side.job()
    for _ in range(2):
        with pytest.raises(NotFoundError):
            await side.jobs.cancel(side.mine, job.id)
    with pytest.raises(ConflictError):
        await side.jobs.submit(side.mine, job, None)
    assert not (await side.jobs.submit(side.theirs, job, None)).state.final


async def test_they_are_listed_newest_first_in_pages(side: Side) -> None:
    jobs = [side.job() for _ in range(4)]
    for job in jobs:
        await side.jobs.submit(side.mine, job, None)
    page = await side.jobs.list(side.mine, 3, None)
    assert [one.id for one in page] == [job.id for job in jobs[:0:-1]]
    (last,) = await side.jobs.list(side.mine, 3, page[-1].id)
    assert last.id == jobs[0].id


async def test_a_slow_reader_gets_the_whole_record(side: Side) -> None:
    job = side.job()
    await side.jobs.submit(side.mine, job, None)
    async with contextlib.aclosing(side.jobs.watch(side.mine, job.id, 0)) as watching:
        seen = [await anext(watching)]
        await side.ended(job)  # while the reader has only the first
        async with asyncio.timeout(DEADLINE_S):
            seen += [event async for event in watching]
    assert seen == await side.events(job)
    assert seen[-1].state is JobState.SUCCEEDED


async def test_its_record_has_no_gaps_and_can_be_taken_up_anywhere(side: Side) -> None:
    job = side.job()
    await side.jobs.submit(side.mine, job, None)
    await side.ended(job)
    events = await side.events(job)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert events[0].state is JobState.QUEUED
    assert events[-1].state is JobState.SUCCEEDED
    assert await side.events(job, after=2) == events[2:]
    assert await side.events(job, after=len(events)) == []
    assert (await side.jobs.status(side.mine, job.id)).last_seq == len(events)


async def test_its_result_waits_until_it_has_arrived(side: Side) -> None:
    job = side.job()
    await side.jobs.submit(side.mine, job, None)
    with pytest.raises(NotFoundError):
        await side.sealed(job)
    await side.ended(job)
    whole = await side.sealed(job)
    assert (await side.jobs.status(side.mine, job.id)).result_bytes == len(whole)
    assert await side.sealed(job, 100) == whole[100:]
    sha256 = hashlib.sha256(whole).hexdigest()
    for _ in range(2):
        await side.jobs.ack(side.mine, job.id, sha256)
    status = await side.jobs.status(side.mine, job.id)
    assert (status.state, status.result_bytes, status.sealed_by) == (JobState.SUCCEEDED, 0, "")
    with pytest.raises(NotFoundError):
        await side.sealed(job)


async def test_it_can_be_ended_and_what_has_ended_stays_so(side: Side) -> None:
    job = side.job()
    await side.jobs.submit(side.mine, job, None)
    await side.jobs.cancel(side.mine, job.id)
    assert (await side.events(job))[-1].state is JobState.CANCELLED
    assert (await side.jobs.cancel(side.mine, job.id)).state is JobState.CANCELLED
    assert await side.jobs.pending(side.mine) == ()
