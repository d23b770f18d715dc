"""What needs a person waits for that person, and for nobody else's word."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.ports import ConsentQuestion
from homing_agent.tool import ToolOutput
from homing_core.access import DeviceRole, Limits
from homing_core.approvals import Verdict
from homing_core.errors import ConflictError, HomingError, NotFoundError, RefusedError
from homing_core.ids import new_approval_id
from homing_core.jobs import JobState
from homing_core.testing import FakeClock
from homing_core.tools import EffectClass, ToolCall
from homing_crypto.approvals import sign_approval
from homing_crypto.audit.records import AuditKind
from homing_node.jobs.section import JobsSection
from support.job_house import ScriptedTool, house, job, tool_spec

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_core.jobs import JobSpec, PendingApproval
    from support.job_house import House, Person

WRITE = tool_spec("change", EffectClass.WRITE)
OTHER = tool_spec("inner", EffectClass.SEND)


async def asked(home: House, who: Person, spec: JobSpec) -> PendingApproval:
    """The question for which a job waits."""
    events = await home.until(who, spec.id, JobState.WAITING_APPROVAL)
    assert events[-1].state is JobState.WAITING_APPROVAL
    found = await home.parts.desk.pending_any()
    return next(one for one in found if one.job_id == spec.id)


async def guest_job(home: House, tool: ScriptedTool) -> tuple[Person, JobSpec]:
    guest = home.person(DeviceRole.GUEST)
    spec = job(tool)
    await home.submit(guest, spec, guest.consents(spec))
    return guest, spec


async def test_an_owner_answers_for_a_guest_and_the_job_goes_on(tmp_path: Path) -> None:
    tool = ScriptedTool(WRITE)
    async with house(tmp_path, tool) as home:
        owner = home.person()
        guest, spec = await guest_job(home, tool)
        question = await asked(home, guest, spec)
        assert tool.runs == 0
        assert question.preview == "works on it"
        assert await home.parts.desk.pending(guest.device) == ()
        assert await home.parts.desk.pending(owner.device) == (question,)
        await home.parts.desk.answer(owner.device, owner.says(question))
        events = await home.ended(guest, spec.id)
        again = await home.parts.desk.answer(owner.device, owner.says(question))
        with pytest.raises(ConflictError):
            await home.parts.desk.answer(owner.device, owner.says(question, Verdict.DENY))
    assert events[-1].state is JobState.SUCCEEDED
    assert again.state is JobState.SUCCEEDED
    assert tool.runs == 1
    assert home.audit.kinds().count(AuditKind.APPROVAL) >= 2


async def test_no_ends_the_job_as_refused(tmp_path: Path) -> None:
    tool = ScriptedTool(WRITE)
    async with house(tmp_path, tool) as home:
        guest, spec = await guest_job(home, tool)
        question = await asked(home, guest, spec)
        await home.parts.desk.answer_any(question.id, allow=False)
        events = await home.ended(guest, spec.id)
        result, _ = await home.result(guest, spec.id)
    assert events[-1].state is JobState.FAILED
    assert "said no" in result.content
    assert tool.runs == 0


async def test_a_guests_own_answer_or_a_members_never_counts(tmp_path: Path) -> None:
    tool = ScriptedTool(WRITE)
    async with house(tmp_path, tool) as home:
        member, peer = home.person(DeviceRole.MEMBER), home.person(introduced_by="f" * 64)
        guest, spec = await guest_job(home, tool)
        question = await asked(home, guest, spec)
        with pytest.raises(RefusedError, match="owner"):
            await home.parts.desk.answer(guest.device, guest.says(question))
        for other in (member, peer):  # for them there is no such question
            with pytest.raises(NotFoundError):
                await home.parts.desk.answer(other.device, other.says(question))
        status = await home.parts.desk.status(guest.device, spec.id)
    assert status.state is JobState.WAITING_APPROVAL
    assert tool.runs == 0


async def test_a_signature_for_anything_else_does_not_count(tmp_path: Path) -> None:
    tool = ScriptedTool(WRITE)
    async with house(tmp_path, tool) as home:
        owner, other = home.person(), home.person()
        guest, spec = await guest_job(home, tool)
        question = await asked(home, guest, spec)
        stranger, second = await guest_job(home, tool)
        elsewhere = owner.says(await asked(home, stranger, second))
        moved = replace(elsewhere.statement, id=question.id)
        with pytest.raises(HomingError):  # of another job
            await home.parts.desk.answer(owner.device, sign_approval(owner.identity, moved))
        with pytest.raises(HomingError):  # signed on another device
            await home.parts.desk.answer(owner.device, other.says(question))
        fake = replace(owner.says(question), signature=b"0" * 70)
        with pytest.raises(HomingError):
            await home.parts.desk.answer(owner.device, fake)
        status = await home.parts.desk.status(guest.device, spec.id)
    assert status.state is JobState.WAITING_APPROVAL


@pytest.mark.parametrize("role", [DeviceRole.MEMBER, DeviceRole.GUEST])
async def test_an_owners_grant_of_exactly_this_tool_is_enough(
    tmp_path: Path, role: DeviceRole
) -> None:
    tool = ScriptedTool(WRITE)
    async with house(tmp_path, tool) as home:
        for patterns, states in (
            (("test.change",), JobState.SUCCEEDED),
            (("test.*",), JobState.WAITING_APPROVAL),
            ((), JobState.WAITING_APPROVAL),
        ):
            who = home.person(role, limits=Limits(tools=patterns))
            spec = job(tool)
            await home.submit(who, spec, who.consents(spec))
            events = await home.until(who, spec.id, states)
            assert events[-1].state is states


def composite(step: int = 2) -> ScriptedTool:
    """A tool that asks a person, then calls another."""

    async def does(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        inner = next(tool for tool in context.offered if tool.spec.name == "inner")
        call = ToolCall(context.call_id, "inner", dict(arguments))
        assert context.consent is not None
        asked_as = new_approval_id()
        answer = await context.consent.ask(
            ConsentQuestion(
                asked_as,
                context.request_id,
                step,
                inner.spec,
                call,
                "why",
                "what",
                may_remember=False,
                expires_at=0,
            )
        )
        assert answer.approval_id == asked_as
        if answer.verdict is Verdict.DENY:
            return ToolOutput("kept from it")
        return await inner.run(arguments, context)

    return ScriptedTool(tool_spec("outer"), does)


@pytest.mark.parametrize("verdict", list(Verdict))
async def test_a_question_from_within_parks_the_job_and_its_answer_is_found_again(
    tmp_path: Path, verdict: Verdict
) -> None:
    outer, inner = composite(), ScriptedTool(OTHER)
    async with house(tmp_path, outer, inner) as home:
        owner = home.person()
        spec = await home.submit(owner, job(outer))
        question = await asked(home, owner, spec)
        assert (question.step, question.reason, question.preview) == (2, "why", "what")
        await home.parts.desk.answer(owner.device, owner.says(question, verdict))
        events = await home.ended(owner, spec.id)
        result, _ = await home.result(owner, spec.id)
    allowed = verdict is Verdict.ALLOW
    assert events[-1].state is JobState.SUCCEEDED
    assert result.content == ("worked on it" if allowed else "kept from it")
    assert (outer.runs, inner.runs) == (2, int(allowed))


async def test_a_tool_that_does_not_ask_is_kept_from_calling_others(tmp_path: Path) -> None:
    async def does(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        return await context.offered[0].run(arguments, context)

    outer, inner = ScriptedTool(tool_spec("outer"), does), ScriptedTool(OTHER)
    async with house(tmp_path, outer, inner) as home:
        owner = home.person()
        spec = await home.submit(owner, job(outer))
        question = await asked(home, owner, spec)
        assert inner.runs == 0
        await home.parts.desk.answer(owner.device, owner.says(question))
        events = await home.ended(owner, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert inner.runs == 1


async def test_a_tool_that_swallows_the_end_of_its_attempt_parks_all_the_same(
    tmp_path: Path,
) -> None:
    async def does(arguments: JsonObject, context: ToolContext) -> ToolOutput:
        try:
            return await context.offered[0].run(arguments, context)
        except BaseException:  # noqa: BLE001  # the worst that a tool can do
            return ToolOutput("did it anyway")

    outer, inner = ScriptedTool(tool_spec("outer"), does), ScriptedTool(OTHER)
    async with house(tmp_path, outer, inner) as home:
        owner = home.person()
        spec = await home.submit(owner, job(outer))
        await asked(home, owner, spec)
        status = await home.parts.desk.status(owner.device, spec.id)
    assert status.state is JobState.WAITING_APPROVAL


async def test_an_effect_that_asks_from_within_is_not_in_doubt_when_it_goes_on(
    tmp_path: Path,
) -> None:
    outer, inner = composite(), ScriptedTool(OTHER)
    outer.spec = tool_spec("outer", EffectClass.WRITE)
    async with house(tmp_path, outer, inner) as home:
        owner = home.person()
        spec = job(outer)
        await home.submit(owner, spec, owner.consents(spec))
        question = await asked(home, owner, spec)
        await home.parts.desk.answer(owner.device, owner.says(question))
        events = await home.ended(owner, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert JobState.UNKNOWN_EFFECT not in {event.state for event in events}


async def test_questions_expire_and_the_job_ends_as_refused(tmp_path: Path) -> None:
    clock = FakeClock()
    tool = ScriptedTool(WRITE)
    section = JobsSection(approval_days=1, lease_seconds=1.0)
    async with house(tmp_path, tool, clock=clock, section=section) as home:
        guest = home.person(DeviceRole.GUEST)
        spec = job(tool)
        await home.submit(guest, spec, guest.consents(spec, now=clock.now()))
        question = await asked(home, guest, spec)
        clock.advance(86_400)
        await home.parts.scheduler.beat()
        events = await home.ended(guest, spec.id)
        with pytest.raises((ConflictError, NotFoundError)):
            await home.parts.desk.answer_any(question.id, allow=True)
    assert events[-1].state is JobState.FAILED
    assert "in time" in events[-1].note


async def test_a_job_that_waits_holds_no_place(tmp_path: Path) -> None:
    tool, quick = ScriptedTool(WRITE), ScriptedTool(tool_spec())
    async with house(tmp_path, tool, quick, section=JobsSection(at_once=1)) as home:
        for _ in range(3):
            guest, spec = await guest_job(home, tool)
            await asked(home, guest, spec)
        phone = home.person()
        spec = await home.submit(phone, job(quick))
        async with asyncio.timeout(10):
            events = await home.ended(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
