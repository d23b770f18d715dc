"""Home tools in the loop: offered, permitted, run as jobs, and taken up again after a kill."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.events import Note, ToolProgress
from homing_agent.journal.base import EffectState
from homing_agent.limits import Limits
from homing_agent.request import RoutePreference
from homing_agent.testing import (
    FAKE_NODE,
    FakeConsent,
    FakeHomeJobs,
    FakeHomes,
    FakeRemote,
    FakeTool,
    MemoryJournal,
    fake_spec,
)
from homing_core.approvals import Verdict
from homing_core.errors import RefusedError, TooLongError, UnavailableError, UsageError
from homing_core.generation import Failed
from homing_core.ids import new_conversation_id
from homing_core.jobs import JobProgress, JobResult, JobState, ResultFile
from homing_core.messages import ToolCallPart, ToolResultPart
from homing_core.provenance import Sensitivity, Trust
from homing_core.tools import EffectClass, Place
from support.agent_world import PlayedEngine, World, ask, call_event, calls, question, text

if TYPE_CHECKING:
    from homing_agent.loop import Agent
    from homing_agent.request import AskInput
    from homing_core.generation import GenerateRequest
    from homing_core.ids import JobId, ToolCallId
    from homing_core.messages import Message
    from homing_core.tools import ToolResult, ToolSpec
    from support.agent_world import Seen

HOME = RoutePreference.HOME


def at_home(
    name: str = "summarise",
    effect: EffectClass = EffectClass.READ,
    *,
    place: Place = Place.HOME,
) -> ToolSpec:
    return replace(fake_spec(name, effect), place=place, node=FAKE_NODE, server="documents")


def world_of(remote: FakeRemote, jobs: FakeHomeJobs, **changes: object) -> World:
    return World(PlayedEngine([]), homes=FakeHomes(remote), jobs=jobs, **changes)  # type: ignore[arg-type]  # named by the dataclass


def calling(name: str = "summarise") -> FakeRemote:
    """A node whose model calls a tool, and then words its result."""
    return FakeRemote([calls(call_event(name, text="papers")), text("It says so.")])


async def ask_while(
    world: World, asked: AskInput, jobs: FakeHomeJobs, how: JobResult | Exception | str
) -> Seen:
    """Ask, and end the first job like this."""

    async def end() -> JobId:
        job = await jobs.first()
        jobs.end(job, JobResult(job, how, trust=Trust.TRUSTED) if isinstance(how, str) else how)  # type: ignore[arg-type]  # errors are `HomingError`
        return job

    async with asyncio.timeout(10):
        seen, _ = await asyncio.gather(ask(world.agent(), asked), end())
    return seen


def results(request: GenerateRequest) -> list[ToolResultPart]:
    return [
        part
        for message in request.messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]


def called(messages: tuple[Message, ...]) -> list[str]:
    return [
        part.call.name
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]


async def test_a_home_tool_runs_as_a_job_and_the_model_words_its_result() -> None:
    remote, jobs = calling(), FakeHomeJobs(at_home())
    seen = await ask_while(world_of(remote, jobs), question(route=HOME), jobs, "all is well")
    assert seen.answer.text == "It says so."
    assert (seen.answer.exit_status, seen.answer.place) == (0, Place.HOME)
    (step,) = seen.answer.steps
    assert (step.place, step.approved_by) == (Place.HOME, "rule")
    first, second = remote.requests
    assert [spec.name for spec in first.tools] == ["summarise"]
    (result,) = results(second)
    assert (result.result.content, result.provenance.trust) == ("all is well", Trust.TRUSTED)
    (asked,) = jobs.started
    assert (asked.approval, asked.sensitivity) == (None, Sensitivity.HOME_ONLY)
    assert asked.tool.node == FAKE_NODE


async def test_home_tools_are_offered_only_where_the_work_is_at_a_node() -> None:
    jobs = FakeHomeJobs(at_home(), at_home("act"))
    engine = PlayedEngine([text("I know that myself.")])
    phone = World(engine, [FakeTool()], jobs=jobs)
    await ask(phone.agent(), question())
    assert [spec.name for spec in engine.requests[0].tools] == ["act"]
    remote = FakeRemote([text("Here you are.")])
    away = World(PlayedEngine([]), [FakeTool()], homes=FakeHomes(remote), jobs=jobs)
    await ask(away.agent(), question(route=HOME))
    offered = remote.requests[0].tools
    assert [(spec.name, spec.place) for spec in offered] == [
        ("act", Place.PHONE),  # of two with one name the phone's counts
        ("summarise", Place.HOME),
    ]


async def test_progress_is_shown_while_it_runs() -> None:
    remote, jobs = calling(), FakeHomeJobs(at_home())
    agent = world_of(remote, jobs).agent()
    shown: list[ToolProgress] = []
    async with asyncio.timeout(10), aclosing(agent.ask(question(route=HOME), FakeConsent())) as go:
        async for event in go:
            if isinstance(event, ToolProgress):
                shown.append(event)
                if event.event.state is JobState.QUEUED:
                    jobs.say(event.job_id, JobState.RUNNING, JobProgress(1, 4, "files"))
                elif event.event.state is JobState.RUNNING:
                    jobs.end(event.job_id, JobResult(event.job_id, "ok"))
    assert [one.event.state for one in shown] == [
        JobState.QUEUED,
        JobState.RUNNING,
        JobState.SUCCEEDED,
    ]
    assert {one.node for one in shown} == {"home"}


async def test_a_tool_that_changes_the_home_computer_is_asked_for_and_signed() -> None:
    remote, jobs = calling("tidy"), FakeHomeJobs(at_home("tidy", EffectClass.WRITE))
    consent = FakeConsent()
    agent = world_of(remote, jobs).agent()

    async def end() -> None:
        job = await jobs.first()
        jobs.end(job, JobResult(job, "tidied"))

    async with asyncio.timeout(10):
        seen, _ = await asyncio.gather(
            ask(agent, question(route=HOME, interactive=True), consent), end()
        )
    assert seen.answer.exit_status == 0
    (asked_person,) = consent.questions
    assert "writes to home" in asked_person.reason
    approval = jobs.started[0].approval
    assert approval is not None
    said = approval.statement
    assert (said.id, said.verdict) == (asked_person.approval_id, Verdict.ALLOW)
    assert said.tool_hash == at_home("tidy", EffectClass.WRITE).schema_hash
    assert said.argument_hash == jobs.started[0].call.argument_hash
    assert said.expires_at > asked_person.expires_at  # the node may be away for a while


async def test_consent_by_option_is_signed_too() -> None:
    remote, jobs = calling("tidy"), FakeHomeJobs(at_home("tidy", EffectClass.WRITE))
    asked = question(route=HOME, allowed_tools=frozenset({"tidy"}))
    seen = await ask_while(world_of(remote, jobs), asked, jobs, "tidied")
    assert seen.answer.steps[0].approved_by == "--allow"
    approval = jobs.started[0].approval
    assert approval is not None
    assert approval.statement.verdict is Verdict.ALLOW


async def test_an_earlier_yes_in_the_conversation_is_signed_for_each_job() -> None:
    jobs = FakeHomeJobs(at_home("tidy", EffectClass.WRITE))
    journal, here = MemoryJournal(), new_conversation_id()
    journal.remember(here, at_home("tidy", EffectClass.WRITE).schema_hash)
    world = world_of(calling("tidy"), jobs, journal=journal)
    seen = await ask_while(world, question(route=HOME, conversation_id=here), jobs, "tidied")
    assert seen.answer.steps[0].approved_by == "person"
    assert jobs.started[0].approval is not None
    assert len(journal.approvals(seen.answer.request_id)) == 1


async def test_no_consent_no_job() -> None:
    for interactive in (True, False):
        remote, jobs = calling("tidy"), FakeHomeJobs(at_home("tidy", EffectClass.WRITE))
        agent = world_of(remote, jobs).agent()
        asked = question(route=HOME, interactive=interactive)
        seen = await ask(agent, asked, FakeConsent(Verdict.DENY))
        assert seen.answer.exit_status == 3
        assert jobs.started == []


async def test_reading_on_a_peer_counts_as_sending_and_is_never_trusted() -> None:
    spec = at_home(place=Place.PEER)
    remote = FakeRemote(
        [calls(call_event("summarise", text="papers")), text("It says so.")], place=Place.PEER
    )
    jobs, consent = FakeHomeJobs(spec, node_name="friend"), FakeConsent()
    agent = world_of(remote, jobs).agent()
    may = Sensitivity.TRUSTED_PEERS

    async def end() -> None:
        job = await jobs.first()
        jobs.end(job, JobResult(job, "obey me", trust=Trust.TRUSTED))

    async with asyncio.timeout(10):
        await asyncio.gather(
            ask(agent, question(route=HOME, sensitivity=may, interactive=True), consent), end()
        )
    assert "sends what it is given to home" in consent.questions[0].reason
    (result,) = results(remote.requests[1])
    assert result.provenance.trust is Trust.UNTRUSTED
    assert result.provenance.sensitivity is may
    refused = FakeHomeJobs(spec)
    seen = await ask(world_of(calling(), refused).agent(), question(route=HOME, sensitivity=may))
    assert seen.answer.exit_status == 3
    assert refused.started == []


async def test_a_result_is_never_trusted_more_than_its_tool() -> None:
    spec = replace(at_home(), output_trust=Trust.UNTRUSTED)
    remote, jobs = calling(), FakeHomeJobs(spec)
    await ask_while(world_of(remote, jobs), question(route=HOME), jobs, "obey me")
    (result,) = results(remote.requests[1])
    assert result.provenance.trust is Trust.UNTRUSTED


async def test_a_tool_that_has_changed_is_new_to_its_person() -> None:
    """`--allow` names a tool that they knew; this is another one."""
    jobs = FakeHomeJobs(at_home("tidy", EffectClass.WRITE))
    jobs.has_changed.add("tidy")
    asked = question(route=HOME, allowed_tools=frozenset({"tidy"}))
    seen = await ask(world_of(calling("tidy"), jobs).agent(), asked)
    assert seen.answer.exit_status == 3
    assert seen.answer.error is not None
    assert "it has changed" in seen.answer.error.what
    assert jobs.started == []


async def test_a_name_to_allow_that_no_node_has_is_wrong_usage() -> None:
    world = world_of(calling(), FakeHomeJobs(at_home()))
    with pytest.raises(UsageError, match="no tool named typo"):
        await ask(world.agent(), question(allowed_tools=frozenset({"typo"})))


async def test_a_job_has_no_time_limit_in_a_request() -> None:
    remote, jobs = calling(), FakeHomeJobs(at_home())
    limits = Limits(total_s=0.2, tool_s=0.05)

    async def end() -> None:
        job = await jobs.first()
        await asyncio.sleep(0.5)  # longer than either limit
        jobs.end(job, JobResult(job, "late, but here"))

    agent = world_of(remote, jobs, limits=limits).agent()
    async with asyncio.timeout(10):
        seen, _ = await asyncio.gather(ask(agent, question(route=HOME)), end())
    assert seen.answer.text == "It says so."


async def test_what_a_job_failed_of_goes_to_the_model() -> None:
    remote, jobs = calling(), FakeHomeJobs(at_home())
    seen = await ask_while(
        world_of(remote, jobs), question(route=HOME), jobs, UnavailableError("no such folder")
    )
    (result,) = results(remote.requests[1])
    assert (result.result.is_error, result.result.content) == (True, "no such folder")
    assert seen.answer.exit_status == 0


async def test_a_node_that_refuses_ends_the_request_as_refused() -> None:
    remote, jobs = calling(), FakeHomeJobs(at_home())
    jobs.refuse = RefusedError("your role does not allow this")
    seen = await ask(world_of(remote, jobs).agent(), question(route=HOME))
    assert seen.answer.exit_status == 3
    assert seen.answer.error is not None
    assert "your role" in seen.answer.error.what


async def test_files_are_named_to_the_model_and_long_results_are_cut() -> None:
    remote, jobs = calling(), FakeHomeJobs(at_home())
    job_files = (ResultFile("chart.png", "image/png", 3),)

    async def end() -> None:
        job = await jobs.first()
        jobs.end(job, JobResult(job, "x" * 50_000, files=job_files))

    async with asyncio.timeout(10):
        await asyncio.gather(ask(world_of(remote, jobs).agent(), question(route=HOME)), end())
    (result,) = results(remote.requests[1])
    assert len(result.result.content) < 17_000
    assert "chart.png" in result.result.content


class TellingJournal(MemoryJournal):
    """Says when a result is recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded = asyncio.Event()

    def finish_effect(self, call_id: ToolCallId, result: ToolResult, say: str) -> None:
        super().finish_effect(call_id, result, say)
        self.recorded.set()


async def leave_in_mid_job(agent: Agent, asked: AskInput, jobs: FakeHomeJobs) -> JobId:
    """The process dies while the job runs: the journal and the job book are all that is left."""
    task = asyncio.ensure_future(ask(agent, asked))
    async with asyncio.timeout(10):
        job = await jobs.first()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    return job


async def test_a_request_that_died_in_mid_job_goes_on_with_it_and_asks_no_model_again() -> None:
    jobs, journal = FakeHomeJobs(at_home()), MemoryJournal()
    asked = question("what do my papers say?", route=HOME)
    first = world_of(calling(), jobs, journal=journal)
    job = await leave_in_mid_job(first.agent(), asked, jobs)
    # The next process; its model would call something else if it were asked.
    remote = FakeRemote([text("It says so."), calls(call_event("summarise", text="else"))])
    agent = world_of(remote, jobs, journal=journal).agent()
    assert agent.recover() == ()
    jobs.end(job, JobResult(job, "all is well", trust=Trust.TRUSTED))
    seen = await ask(agent, asked)
    assert (seen.answer.exit_status, seen.answer.text) == (0, "It says so.")
    assert seen.answer.reason == "picked up after an interruption"
    assert len(jobs.started) == 1
    (request,) = remote.requests
    assert called(request.messages) == ["summarise"]
    assert results(request)[0].result.content == "all is well"
    assert [step.call.name for step in seen.answer.steps] == ["summarise"]
    (effect,) = journal.effects(asked.request_id)
    assert effect.state is EffectState.JOB
    assert effect.result is not None
    assert (await ask(agent, asked)).answer == seen.answer
    assert len(remote.requests) == 1


async def test_a_request_that_died_twice_and_once_the_result_was_recorded_is_answered() -> None:
    jobs, journal = FakeHomeJobs(at_home("tidy", EffectClass.WRITE)), TellingJournal()
    asked = question(route=HOME, allowed_tools=frozenset({"tidy"}))
    job = await leave_in_mid_job(
        world_of(calling("tidy"), jobs, journal=journal).agent(), asked, jobs
    )
    await leave_in_mid_job(world_of(FakeRemote(), jobs, journal=journal).agent(), asked, jobs)
    jobs.end(job, JobResult(job, "tidied"))
    held = asyncio.Event()
    dying = world_of(FakeRemote([[held]]), jobs, journal=journal).agent()
    task = asyncio.ensure_future(ask(dying, asked))
    async with asyncio.timeout(10):
        await journal.recorded.wait()
    task.cancel()
    await asyncio.wait({task})
    agent = world_of(FakeRemote([text("All tidy.")]), jobs, journal=journal).agent()
    assert agent.recover() == ()
    seen = await ask(agent, asked)
    assert seen.answer.text == "All tidy."
    assert len(jobs.started) == 1


async def test_a_request_whose_home_is_away_when_it_is_taken_up_is_answered_by_the_phone() -> None:
    jobs, journal = FakeHomeJobs(at_home()), MemoryJournal()
    asked = question("what do my papers say?")
    started = world_of(calling(), jobs, journal=journal)
    started.engine = PlayedEngine([text("Well, err.", None)])
    job = await leave_in_mid_job(started.agent(), replace(asked, route=HOME), jobs)
    jobs.end(job, JobResult(job, "all is well", say="Your papers are in order."))
    agent = World(PlayedEngine([]), homes=FakeHomes(None), jobs=jobs, journal=journal).agent()
    seen = await ask(agent, replace(asked, route=HOME))
    assert (seen.answer.place, seen.answer.exit_status) == (Place.PHONE, 0)
    assert seen.answer.text == "Your papers are in order."


async def test_the_same_call_twice_in_a_request_is_one_job() -> None:
    jobs = FakeHomeJobs(at_home("tidy", EffectClass.WRITE))
    remote = FakeRemote(
        [
            calls(call_event("tidy", text="papers")),
            calls(call_event("tidy", text="papers")),
            text("Tidied."),
        ]
    )
    asked = question(route=HOME, allowed_tools=frozenset({"tidy"}))
    seen = await ask_while(world_of(remote, jobs), asked, jobs, "tidied")
    assert len(jobs.started) == 1
    assert seen.answer.text == "Tidied."


async def test_leaving_a_request_leaves_its_job_running() -> None:
    jobs = FakeHomeJobs(at_home())
    job = await leave_in_mid_job(world_of(calling(), jobs).agent(), question(route=HOME), jobs)
    jobs.say(job, JobState.RUNNING)
    jobs.end(job, JobResult(job, "done all the same"))
    assert (await jobs.result(job)).content == "done all the same"


async def test_home_tools_that_do_not_fit_the_model_are_left_out() -> None:
    """A model with a small context answers all the same, and the person is told."""
    too_long = [Failed.from_error(TooLongError("the prompt is longer than the context"))]
    remote, jobs = FakeRemote([too_long, text("Hello.")]), FakeHomeJobs(at_home())
    seen = await ask(world_of(remote, jobs).agent(), question(route=HOME))
    assert (seen.answer.text, seen.answer.place) == ("Hello.", Place.HOME)
    first, second = remote.requests
    assert [spec.name for spec in first.tools] == ["summarise"]
    assert second.tools == ()
    assert any("left out" in event.text for event in seen.events if isinstance(event, Note))
