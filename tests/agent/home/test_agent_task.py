"""A goal that the node works on by itself, and takes up again where it was."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.ports import ConsentAnswer
from homing_agent.testing import FakeConsent, FakeTool, fake_spec
from homing_agent.tool import (
    MemoryNotebook,
    OutputFile,
    ToolContext,
    ToolOutput,
    UnknownOutcomeError,
)
from homing_agent.tools.home.agent_task import AgentTask, TaskLimits
from homing_agent.tools.home.agent_task_tools import SETTLED_NOTE
from homing_core.approvals import Verdict
from homing_core.errors import HomingError, InvalidDataError, RefusedError, UnavailableError
from homing_core.ids import new_request_id, new_tool_call_id
from homing_core.messages import ToolResultPart
from homing_core.provenance import Trust
from homing_core.tools import EffectClass
from homing_inference.testing import ScriptedEngine
from support.agent_world import call_event, calls

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.ports import ConsentQuestion
    from homing_agent.tool import Notebook
    from homing_core.canonical import JsonObject
    from homing_core.jobs import JobProgress

LOOK = replace(fake_spec("look", EffectClass.READ, idempotent=True), output_trust=Trust.UNTRUSTED)
WRITE = fake_spec("write", EffectClass.WRITE)
GOAL = {"goal": "please look around and write it down"}


class Stopped(BaseException):
    """The process is gone."""


def found(words: str) -> FakeTool:
    return FakeTool(LOOK, lambda _: ToolOutput(words, source="a page"))


def context(
    engine: ScriptedEngine,
    *tools: FakeTool,
    notebook: Notebook | None = None,
    consent: FakeConsent | None = None,
    seen: list[JobProgress] | None = None,
    like: ToolContext | None = None,
) -> ToolContext:
    return ToolContext(
        like.request_id if like else new_request_id(),
        like.call_id if like else new_tool_call_id(),
        report=(seen if seen is not None else []).append,
        notebook=notebook or MemoryNotebook(),
        engine=engine,
        consent=consent,
        offered=tools,
    )


async def run(around: ToolContext, task: AgentTask | None = None) -> ToolOutput:
    async with asyncio.timeout(10):
        return await (task or AgentTask()).run(GOAL, around)


async def test_it_takes_steps_reports_them_and_gives_an_untrusted_answer() -> None:
    engine = ScriptedEngine(
        calls(call_event("look", text="around")), "There are bees, says a page."
    )
    seen: list[JobProgress] = []
    tool = found("bees")
    output = await run(context(engine, tool, seen=seen))
    assert output.content.startswith("There are bees, says a page.")
    assert "tools: look" in output.content
    assert output.trust is Trust.UNTRUSTED
    assert not output.is_error
    assert tool.calls == [{"text": "around"}]
    assert "step 1: look" in [progress.note for progress in seen]


async def test_what_needs_a_person_waits_for_one_and_is_then_done() -> None:
    engine = ScriptedEngine(calls(call_event("write", text="down")), "It is written down.")
    tool, person = FakeTool(WRITE), FakeConsent(Verdict.ALLOW)
    output = await run(context(engine, tool, consent=person))
    assert tool.calls == [{"text": "down"}]
    assert [question.tool.name for question in person.questions] == ["write"]
    assert not person.questions[0].may_remember
    assert output.content.startswith("It is written down.")


async def test_a_no_ends_the_task_and_nothing_is_done() -> None:
    engine = ScriptedEngine(calls(call_event("write", text="down")), "never reached")
    tool = FakeTool(WRITE)
    with pytest.raises(RefusedError, match="you said no"):
        await run(context(engine, tool, consent=FakeConsent(Verdict.DENY)))
    assert tool.calls == []


async def test_without_a_way_to_a_person_nothing_that_needs_one_is_done() -> None:
    engine = ScriptedEngine(calls(call_event("write", text="down")), "never reached")
    tool = FakeTool(WRITE)
    with pytest.raises(RefusedError):
        await run(context(engine, tool))
    assert tool.calls == []


class Parking:
    """Asking ends the attempt, as it does on a node, until somebody has answered."""

    def __init__(self) -> None:
        self.questions: list[ConsentQuestion] = []
        self.answered: set[str] = set()

    async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
        self.questions.append(question)
        if question.approval_id not in self.answered:
            raise Stopped
        return ConsentAnswer(question.approval_id, Verdict.ALLOW, remember=True)


async def test_a_question_parks_the_task_which_then_goes_on_where_it_was() -> None:
    engine = ScriptedEngine(
        calls(call_event("look", text="around")),
        calls(call_event("write", text="down")),
        "Done.",
    )
    look, write, person = found("bees"), FakeTool(WRITE), Parking()
    first = replace(context(engine, look, write), consent=person)
    with pytest.raises(Stopped):
        await run(first)
    assert (len(look.calls), len(write.calls)) == (1, 0)
    person.answered.add(person.questions[0].approval_id)
    output = await run(first)
    assert output.content.startswith("Done.")
    assert (len(look.calls), len(write.calls)) == (1, 1)
    assert len(engine.requests) == 3
    assert len({question.approval_id for question in person.questions}) == 1


async def test_a_killed_task_repeats_neither_turns_nor_calls() -> None:
    third = asyncio.Event()

    def is_third(_: object) -> bool:
        third.set()
        return True

    engine = ScriptedEngine(
        calls(call_event("look", text="around")), calls(call_event("write", text="down"))
    )
    engine.answer(asyncio.Event(), "never", when=is_third)
    look, write = found("bees"), FakeTool(WRITE)
    around = context(engine, look, write, consent=FakeConsent())
    task = asyncio.create_task(AgentTask().run(GOAL, around))
    async with asyncio.timeout(10):
        await third.wait()
        task.cancel()
        await asyncio.wait({task})
    assert task.cancelled()
    other = ScriptedEngine("All is written down.")
    output = await run(
        context(other, look, write, notebook=around.notebook, consent=FakeConsent(), like=around)
    )
    assert output.content.startswith("All is written down.")
    assert (len(look.calls), len(write.calls)) == (1, 1)
    assert len(other.requests) == 1
    results = [
        part.result.content
        for message in other.requests[0].messages
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]
    assert results == ["bees", "done"]


@pytest.mark.parametrize(
    ("said", "runs", "heard"),
    [("", 0, ""), ("happened", 0, "happened, as a person says"), ("run_again", 1, "done")],
)
async def test_a_call_that_was_begun_is_not_made_again_unless_a_person_says_so(
    said: str, runs: int, heard: str
) -> None:
    engine = ScriptedEngine(calls(call_event("write", text="down")))
    dying = FakeTool(WRITE, lambda _: (_ for _ in ()).throw(Stopped()))
    around = context(engine, dying, consent=FakeConsent())
    with pytest.raises(Stopped):
        await run(around)
    tool, other = FakeTool(WRITE), ScriptedEngine("It is.")
    again = context(other, tool, notebook=around.notebook, consent=FakeConsent(), like=around)
    if said:
        await around.notebook.put(SETTLED_NOTE, said)
    if not said:
        with pytest.raises(UnknownOutcomeError, match="nobody knows"):
            await run(again)
    else:
        output = await run(again)
        assert output.content.startswith("It is.")
        results = [
            part.result.content
            for message in other.requests[-1].messages
            for part in message.parts
            if isinstance(part, ToolResultPart)
        ]
        assert heard in results[0]
    assert len(tool.calls) == runs


async def test_a_call_that_failed_may_be_made_again_and_neither_is_after_a_restart() -> None:
    third = asyncio.Event()
    outcomes: list[ToolOutput | HomingError] = [
        UnavailableError("the disk is busy"),
        ToolOutput("written"),
    ]
    tool = FakeTool(WRITE, lambda _: given(outcomes.pop(0)))

    def is_third(_: object) -> bool:
        third.set()
        return True

    again = call_event("write", text="down")
    engine = ScriptedEngine(calls(call_event("write", text="down")), calls(again))
    engine.answer(asyncio.Event(), "never", when=is_third)
    around = context(engine, tool, consent=FakeConsent())
    task = asyncio.create_task(AgentTask().run(GOAL, around))
    async with asyncio.timeout(10):
        await third.wait()
        task.cancel()
        await asyncio.wait({task})
    assert len(tool.calls) == 2
    other = ScriptedEngine("It is written.")
    output = await run(replace(around, engine=other))
    assert output.content.startswith("It is written.")
    assert len(tool.calls) == 2
    assert "the disk is busy" in str(other.requests[0].messages)


def given(outcome: ToolOutput | HomingError) -> ToolOutput:
    if isinstance(outcome, HomingError):
        raise outcome
    return outcome


async def test_ending_the_job_really_stops_the_tool_that_runs() -> None:
    engine = ScriptedEngine(calls(call_event("look", text="around")), "never")
    tool = found("bees")
    tool.hold = asyncio.Event()
    task = asyncio.create_task(AgentTask().run(GOAL, context(engine, tool)))
    async with asyncio.timeout(10):
        await tool.started.wait()
        task.cancel()
        await asyncio.wait({task})
    assert task.cancelled()


async def test_a_model_that_goes_on_for_ever_is_stopped() -> None:
    engine = ScriptedEngine()
    number = iter(range(1000))
    for _ in range(8):
        engine.answer(*calls(call_event("look", text=f"around {next(number)}")))
    tool = found("bees")
    with pytest.raises(Exception, match="no answer after 3 turns"):
        await run(context(engine, tool), AgentTask(TaskLimits(turns=3)))
    assert len(tool.calls) == 3


async def test_a_model_that_fails_is_said_to_have_failed() -> None:
    engine = ScriptedEngine([UnavailableError("the engine died", "Try again.")])
    with pytest.raises(UnavailableError, match="the engine died"):
        await run(context(engine, found("bees")))


async def test_a_node_without_a_model_says_so() -> None:
    around = replace(context(ScriptedEngine()), engine=None)
    with pytest.raises(UnavailableError, match="no model"):
        await run(around)


@pytest.mark.parametrize("goal", ["", "   \n "])
async def test_an_empty_goal_is_refused(goal: str) -> None:
    with pytest.raises(InvalidDataError):
        await AgentTask().run({"goal": goal}, context(ScriptedEngine()))


async def test_it_does_not_offer_itself() -> None:
    engine = ScriptedEngine("There is nothing to do with.")
    await run(context(engine, FakeTool(AgentTask.SPEC), found("bees")))
    assert [tool.name for tool in engine.requests[0].tools] == ["look"]


async def test_files_of_several_calls_are_part_of_the_report(tmp_path: Path) -> None:
    made = Maker(replace(LOOK, name="draw"))
    engine = ScriptedEngine(
        calls(call_event("draw", text="a")), calls(call_event("draw", text="b")), "Drawn."
    )
    output = await run(replace(context(engine, made), folder=tmp_path))
    assert [(file.name, file.path.read_text()) for file in output.files] == [
        ("picture.txt", "a"),
        ("2 picture.txt", "b"),
    ]
    assert all(file.path.is_relative_to(tmp_path) for file in output.files)


class Maker(FakeTool):
    """Makes a file of one name."""

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        assert context.folder is not None
        path = context.folder / "picture.txt"
        path.write_text(str(arguments["text"]))
        return ToolOutput("drawn", files=(OutputFile(path, path.name),))


async def test_files_that_a_restart_has_lost_are_missed(tmp_path: Path) -> None:
    """What was made is not made again; that its files are gone is said."""
    gate = asyncio.Event()

    def reached(_: object) -> bool:
        gate.set()
        return True

    made = Maker(replace(LOOK, name="draw", effect=EffectClass.WRITE, idempotent=False))
    engine = ScriptedEngine(calls(call_event("draw", text="a")))
    engine.answer(asyncio.Event(), when=reached)
    around = replace(context(engine, made, consent=FakeConsent()), folder=tmp_path / "first")
    (tmp_path / "first").mkdir()
    task = asyncio.create_task(AgentTask().run(GOAL, around))
    async with asyncio.timeout(10):
        await gate.wait()
        task.cancel()
        await asyncio.wait({task})
    other = ScriptedEngine("Drawn.")
    (tmp_path / "second").mkdir()
    again = replace(around, engine=other, folder=tmp_path / "second")
    output = await run(again)
    assert output.files == ()
    assert "its files were lost" in str(other.requests[0].messages)
