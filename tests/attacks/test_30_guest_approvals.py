"""Attack 30: a guest approves an action on the owner's computer.

Expected: whatever a guest, a member or another home's device signs, what changes this computer runs
only after an owner of this node has said yes to exactly this step of exactly this job, with exactly
these arguments and the tool as it is now, and not too long ago; once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole, Limits
from homing_core.approvals import SignedApproval, Verdict
from homing_core.clock import SystemClock
from homing_core.errors import HomingError
from homing_core.ids import new_approval_id
from homing_core.jobs import JobState
from homing_crypto.approvals import sign_approval
from homing_crypto.testing import paired_device, throwaway_identity
from support.home_tools import CountTool, EchoTool
from support.jobs_home import JobsHome, jobs_home, until
from support.jobs_wire import HOUR_S, JobsClient, answer_to, consent, job_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.jobs import JobSpec, PendingApproval


class Computer:
    """The owner's, with a tool that changes it; a guest has asked for a call of it."""

    def __init__(self, home: JobsHome, count: CountTool, echo: EchoTool) -> None:
        self.home, self.count, self.echo = home, count, echo

    async def begin(self) -> None:
        self.owner = await self.home.device(DeviceRole.OWNER)
        self.guest = await self.home.device(name="Ann")
        self.job, self.question = await self.asked("wanted")

    async def asked(self, text: str) -> tuple[JobSpec, PendingApproval]:
        """One more job of the guest's, with the guest's own consent, and its question."""
        job = job_for(self.count.spec, text)
        await self.guest.submit(job, consent(self.guest.identity, job))
        await until(self.guest, job.id, JobState.WAITING_APPROVAL)
        (question,) = [one for one in await self.owner.pending() if one.job_id == job.id]
        return job, question

    async def refuses(self, by: JobsClient, approval: SignedApproval) -> None:
        """It is refused, and nothing runs."""
        with pytest.raises(HomingError):
            await by.answer(approval)
        assert (await self.guest.status(self.job.id)).state is JobState.WAITING_APPROVAL
        assert self.count.lines == []

    async def runs_once_an_owner_agrees(self) -> None:
        """What was tried has spoilt nothing: an owner's yes still works, once."""
        approval = answer_to(self.owner.identity, self.question)
        await self.owner.answer(approval)
        await until(self.guest, self.job.id, JobState.SUCCEEDED)
        for by in (self.owner, self.guest):
            with pytest.raises(HomingError):
                await by.answer(replace_id(by, approval))
        assert self.count.lines == ["wanted"]


def replace_id(by: JobsClient, approval: SignedApproval) -> SignedApproval:
    """The same under a new id, signed by whoever says it."""
    statement = replace(approval.statement, id=new_approval_id(), device=by.identity.device_id)
    return sign_approval(by.identity, statement)


@pytest.fixture
async def computer(tmp_path: Path) -> AsyncIterator[Computer]:
    count, echo = CountTool(tmp_path / "counted"), EchoTool()
    async with jobs_home(tmp_path, count, echo) as home:
        made = Computer(home, count, echo)
        await made.begin()
        yield made


@pytest.mark.attack(30)
async def test_the_guests_own_yes_counts_for_nothing(computer: Computer) -> None:
    assert await computer.guest.pending() == ()
    await computer.refuses(computer.guest, answer_to(computer.guest.identity, computer.question))
    await computer.runs_once_an_owner_agrees()


@pytest.mark.attack(30)
async def test_an_owners_name_under_the_guests_signature_is_refused(computer: Computer) -> None:
    true = answer_to(computer.owner.identity, computer.question)
    forged = SignedApproval(true.statement, computer.guest.identity.sign(true.statement.to_bytes()))
    own = answer_to(computer.guest.identity, computer.question)
    swapped = SignedApproval(true.statement, own.signature)
    renamed = SignedApproval(own.statement, true.signature)
    for by in (computer.guest, computer.owner):
        for approval in (forged, swapped, renamed):
            await computer.refuses(by, approval)
    await computer.runs_once_an_owner_agrees()


@pytest.mark.attack(30)
async def test_an_owners_yes_to_one_job_is_none_to_another(computer: Computer) -> None:
    twin, asked = await computer.asked("wanted")
    yes = answer_to(computer.owner.identity, asked)
    await computer.owner.answer(yes)
    await until(computer.guest, twin.id, JobState.SUCCEEDED)
    assert computer.count.lines == ["wanted"]
    for by in (computer.guest, computer.owner):
        await settled(by, yes)
    assert (await computer.guest.status(computer.job.id)).state is JobState.WAITING_APPROVAL
    # Not even as the consent that comes with a new job.
    third = replace(job_for(computer.count.spec, "wanted"), request_id=twin.request_id)
    with pytest.raises(HomingError):
        await computer.guest.submit(third, yes)
    assert computer.count.lines == ["wanted"]


async def settled(by: JobsClient, approval: SignedApproval) -> None:
    """Saying again what was answered: harmless, or refused."""
    try:
        await by.answer(approval)
    except HomingError:
        return
    assert by.identity.device_id == approval.statement.device


@pytest.mark.attack(30)
@pytest.mark.parametrize("part", ["id", "request_id", "step", "tool_hash", "argument_hash"])
async def test_an_owners_yes_to_anything_else_fits_nothing(computer: Computer, part: str) -> None:
    other_job, other = await computer.asked("something else")
    values: dict[str, object] = {
        "id": new_approval_id(),
        "request_id": other.request_id,
        "step": computer.question.step + 1,
        "tool_hash": computer.echo.spec.schema_hash,
        "argument_hash": other.call.argument_hash,
    }
    true = answer_to(computer.owner.identity, computer.question).statement
    changed = replace(true, **{part: values[part]})  # type: ignore[arg-type]  # by name
    await computer.refuses(computer.owner, sign_approval(computer.owner.identity, changed))
    assert (await computer.guest.status(other_job.id)).state is JobState.WAITING_APPROVAL
    await computer.runs_once_an_owner_agrees()


@pytest.mark.attack(30)
@pytest.mark.parametrize("expires_in", [-1, 0, 25 * HOUR_S])
async def test_an_owners_yes_that_has_expired_or_never_would_is_refused(
    computer: Computer, expires_in: int
) -> None:
    true = answer_to(computer.owner.identity, computer.question).statement
    late = replace(true, expires_at=int(SystemClock().now()) + expires_in)
    await computer.refuses(computer.owner, sign_approval(computer.owner.identity, late))
    await computer.runs_once_an_owner_agrees()


@pytest.mark.attack(30)
async def test_a_members_yes_counts_for_nothing_either(computer: Computer) -> None:
    member = await computer.home.device(DeviceRole.MEMBER)
    assert await member.pending() == ()
    await computer.refuses(member, answer_to(member.identity, computer.question))
    await computer.runs_once_an_owner_agrees()


async def questions_of(phone: JobsClient) -> tuple[PendingApproval, ...]:
    """What it may answer; nothing if it is not even let in."""
    try:
        return await phone.pending()
    except HomingError:
        return ()


@pytest.mark.attack(30)
async def test_who_is_an_owner_elsewhere_is_none_here(computer: Computer) -> None:
    home = throwaway_identity()
    computer.home.rig.running.store.add(paired_device(home, DeviceRole.PEER, name="Bo's home"))
    elsewhere = await computer.home.device(DeviceRole.OWNER, introduced_by=home.device_id)
    assert await questions_of(elsewhere) == ()
    await computer.refuses(elsewhere, answer_to(elsewhere.identity, computer.question))
    await computer.runs_once_an_owner_agrees()


@pytest.mark.attack(30)
async def test_an_owner_who_was_revoked_is_none_any_more(computer: Computer) -> None:
    lost = await computer.home.device(DeviceRole.OWNER)
    yes = answer_to(lost.identity, computer.question)
    await lost.pending()
    await computer.home.rig.running.desk.revoke(lost.identity.device_id, "console")
    await computer.refuses(lost, yes)
    await computer.refuses(computer.guest, yes)
    await computer.runs_once_an_owner_agrees()


@pytest.mark.attack(30)
async def test_a_yes_to_a_tool_that_has_changed_since_runs_nothing(computer: Computer) -> None:
    computer.count.change("Deletes everything.")
    yes = answer_to(computer.owner.identity, computer.question)
    try:
        await computer.owner.answer(yes)
    except HomingError:
        state = (await computer.guest.status(computer.job.id)).state
        assert state in {JobState.WAITING_APPROVAL, JobState.FAILED}
    else:
        await until(computer.guest, computer.job.id, JobState.FAILED)
    assert computer.count.lines == []
    assert computer.count.runs == []


@pytest.mark.attack(30)
@pytest.mark.parametrize("patterns", [("scripted.*",), ("*.count",), ("scripted.coun?",), ("*",)])
async def test_leave_to_use_tools_of_a_kind_is_no_owners_word(
    computer: Computer, patterns: tuple[str, ...]
) -> None:
    guest = await computer.home.device(limits=Limits(tools=patterns))
    job = job_for(computer.count.spec, "by pattern")
    await guest.submit(job, consent(guest.identity, job))
    await until(guest, job.id, JobState.WAITING_APPROVAL)
    named = await computer.home.device(limits=Limits(tools=("scripted.count",)))
    job = job_for(computer.count.spec, "by name")
    with pytest.raises(HomingError):
        await named.submit(job)  # its own person has to agree all the same
    await named.submit(job, consent(named.identity, job))
    await until(named, job.id, JobState.SUCCEEDED)
    assert computer.count.lines == ["by name"]


@pytest.mark.attack(30)
async def test_an_owners_no_is_final(computer: Computer) -> None:
    no = answer_to(computer.owner.identity, computer.question, Verdict.DENY)
    await computer.owner.answer(no)
    ended = await until(computer.guest, computer.job.id, JobState.FAILED)
    assert ended.state.final
    assert "a person said no" in ended.summary
    for by in (computer.owner, computer.guest):
        with pytest.raises(HomingError):
            await by.answer(answer_to(by.identity, computer.question))
    again = await computer.guest.submit(
        computer.job, consent(computer.guest.identity, computer.job)
    )
    assert again.state is JobState.FAILED
    assert computer.count.lines == []
