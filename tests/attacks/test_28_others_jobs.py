"""Attack 28: one guest reads, cancels, answers, settles, fetches or acknowledges another's job.

Expected: for everybody but the account that submitted it a job does not exist, whatever they know
of it: the answer is the same as for an id that nobody ever chose. That holds for an owner's device
too; an owner is asked what only an owner may allow, and no more.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole
from homing_core.approvals import Verdict
from homing_core.errors import HomingError, NotFoundError
from homing_core.ids import new_approval_id, new_job_id
from homing_core.jobs import JobState, Settlement
from homing_node.jobs.section import JobsSection
from homing_node.limit_sections import CeilingSection, LimitsSection
from support.home_tools import CountTool, EchoTool, SlowTool
from support.jobs_home import JobsHome, jobs_home, set_soon, until
from support.jobs_wire import JobsClient, answer_to, consent, job_for
from support.node_rig import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable
    from pathlib import Path

    from homing_core.ids import JobId
    from homing_core.jobs import JobSpec


class Guests:
    """A guest with a result, a running job and a question; another guest; an owner."""

    def __init__(self, home: JobsHome, count: CountTool, slow: SlowTool, echo: EchoTool) -> None:
        self.home, self.count, self.slow, self.echo = home, count, slow, echo

    async def begin(self) -> None:
        self.victim = await self.home.device(name="Ann")
        self.other = await self.home.device(name="Bo")
        self.owner = await self.home.device(DeviceRole.OWNER)
        self.done = job_for(self.echo.spec, "a secret")
        self.runs = job_for(self.slow.spec)
        self.asks = job_for(self.count.spec)
        await self.victim.submit(self.done)
        await self.victim.submit(self.runs)
        await self.victim.submit(self.asks, consent(self.victim.identity, self.asks))
        await until(self.victim, self.done.id, JobState.SUCCEEDED)
        await until(self.victim, self.asks.id, JobState.WAITING_APPROVAL)
        await set_soon(self.slow.started)
        self.sealed = await self.victim.download(self.done.id)

    async def nothing_happened(self) -> None:
        assert await self.victim.download(self.done.id) == self.sealed
        assert (await self.victim.status(self.runs.id)).state is JobState.RUNNING
        assert (await self.victim.status(self.asks.id)).state is JobState.WAITING_APPROVAL
        assert not self.slow.cancelled.is_set()
        assert self.count.lines == []
        self.slow.release.set()
        await until(self.victim, self.runs.id, JobState.SUCCEEDED)


@pytest.fixture
async def guests(tmp_path: Path) -> AsyncIterator[Guests]:
    count, slow, echo = CountTool(tmp_path / "counted"), SlowTool(), EchoTool()
    many = LimitsSection(guest=CeilingSection(jobs=9))
    # A guest whose job runs holds up no other's here.
    config = replace(LOOPBACK, limits=many, jobs=JobsSection(at_once=4))
    async with jobs_home(tmp_path, count, slow, echo, config=config) as home:
        made = Guests(home, count, slow, echo)
        await made.begin()
        yield made
        slow.release.set()  # it has not to be waited for at the end


def everything(phone: JobsClient, job: JobId, sha256: str) -> list[Awaitable[object]]:
    """Every call that names a job."""
    return [
        phone.status(job),
        phone.watch(job),
        phone.watch(job, 1_000_000),
        phone.jobs(before=job),
        phone.cancel(job),
        phone.settle(job, Settlement.HAPPENED),
        phone.settle(job, Settlement.RUN_AGAIN),
        phone.settle(job, Settlement.GIVE_UP),
        phone.download(job),
        phone.download(job, 1 << 40),
        phone.ack(job, sha256),
    ]


async def said(calls: list[Awaitable[object]]) -> list[str]:
    """What each is told; all of them have to be refused as unknown."""
    found: list[str] = []
    for call in calls:
        with pytest.raises(NotFoundError) as caught:
            await call
        found.append(str(caught.value))
    return found


@pytest.mark.attack(28)
@pytest.mark.parametrize("role", [DeviceRole.GUEST, DeviceRole.MEMBER, DeviceRole.OWNER])
async def test_anothers_job_is_told_from_one_that_never_was_by_no_call(
    guests: Guests, role: DeviceRole
) -> None:
    thief = await guests.home.device(role)
    sha256 = hashlib.sha256(guests.sealed).hexdigest()
    nobodys = await said(everything(thief, new_job_id(), sha256))
    for job in (guests.done, guests.runs, guests.asks):
        assert await said(everything(thief, job.id, sha256)) == nobodys
    assert await thief.jobs() == ()
    await guests.nothing_happened()


@pytest.mark.attack(28)
async def test_a_guest_sees_and_answers_no_question_of_anothers(guests: Guests) -> None:
    (question,) = await guests.owner.pending()
    assert await guests.other.pending() == ()
    answers: list[str] = []
    for known in (question, replace(question, id=new_approval_id())):
        for verdict in Verdict:
            with pytest.raises(HomingError) as caught:
                await guests.other.answer(answer_to(guests.other.identity, known, verdict))
            answers.append(str(caught.value))
    assert len(set(answers)) == 1, "no difference tells that there is such a question"
    await guests.nothing_happened()


@pytest.mark.attack(28)
async def test_the_same_id_is_another_job_of_another_guest(guests: Guests) -> None:
    mine = replace(job_for(guests.echo.spec, "mine"), id=guests.done.id)
    await guests.other.submit(mine)
    await until(guests.other, mine.id, JobState.SUCCEEDED)
    assert await guests.other.download(mine.id) != guests.sealed
    await guests.other.ack(mine.id, hashlib.sha256(await sealed(guests.other, mine)).hexdigest())
    for job in (guests.runs, guests.asks):
        twin = replace(job_for(guests.echo.spec, "twin"), id=job.id)
        await guests.other.submit(twin)
        await guests.other.cancel(twin.id)
    await guests.nothing_happened()


async def sealed(phone: JobsClient, job: JobSpec) -> bytes:
    """Its sealed result."""
    return await phone.download(job.id)


@pytest.mark.attack(28)
async def test_an_owner_who_is_asked_still_cannot_read_what_came_of_it(guests: Guests) -> None:
    (question,) = await guests.owner.pending()
    assert question.device == guests.victim.identity.device_id
    await guests.owner.answer(answer_to(guests.owner.identity, question))
    ended = await until(guests.victim, guests.asks.id, JobState.SUCCEEDED)
    assert ended.result_bytes > 0
    for call in (guests.owner.status(guests.asks.id), guests.owner.download(guests.asks.id)):
        with pytest.raises(NotFoundError):
            await call
    assert await guests.owner.jobs() == ()
