"""A side effect happens once; where nobody knows whether it did, a person is asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_agent.tool import OutputFile, ToolOutput, UnknownOutcomeError
from homing_core.errors import ConflictError, UnavailableError
from homing_core.jobs import JobState, Settlement
from homing_core.tools import EffectClass
from homing_crypto.testing import MemoryTrustStore, throwaway_identity
from homing_node.jobs.testing import MemoryJobStore
from support.job_house import Mortal, ScriptedTool, house, job, tool_spec

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from homing_agent.tool import ToolContext
    from homing_core.canonical import JsonObject
    from homing_core.jobs import JobSpec
    from homing_node.jobs.store import Ending, Fence, JobRow
    from support.job_house import House, Person

WRITE = tool_spec(effect=EffectClass.WRITE)


class Killed:
    """A daemon that is killed: its store stays, what it had in memory is gone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = MemoryJobStore()
        self.trust = MemoryTrustStore()
        self.node = throwaway_identity()

    async def until_killed(
        self, tool: ScriptedTool, begun: asyncio.Event
    ) -> tuple[Person, JobSpec]:
        """Run a job until `begun`; then nothing more of this daemon reaches the store."""
        mortal = Mortal(self.store)
        async with house(
            self.folder, tool, store=mortal.kept, trust=self.trust, node=self.node, stop_s=0.0
        ) as home:
            phone = home.person()
            spec = job(tool)
            await home.submit(phone, spec, phone.consents(spec))
            async with asyncio.timeout(10):
                await begun.wait()
            mortal.dead = True
        return phone, spec

    def again(self, tool: ScriptedTool) -> AbstractAsyncContextManager[House]:
        return house(self.folder, tool, store=self.store, trust=self.trust, node=self.node)


def hanging(begun: asyncio.Event) -> ScriptedTool:
    async def does(_: JsonObject, __: ToolContext) -> ToolOutput:
        begun.set()
        await asyncio.Event().wait()
        return ToolOutput("never")

    return ScriptedTool(WRITE, does)


async def doubtful(home: House, who: Person, spec: JobSpec) -> None:
    events = await home.until(who, spec.id, JobState.UNKNOWN_EFFECT)
    assert events[-1].state is JobState.UNKNOWN_EFFECT


async def killed_in_the_middle(tmp_path: Path) -> tuple[Killed, Person, JobSpec]:
    daemon, begun = Killed(tmp_path), asyncio.Event()
    phone, spec = await daemon.until_killed(hanging(begun), begun)
    return daemon, phone, spec


@pytest.mark.parametrize(
    ("said", "runs", "state", "words"),
    [
        (Settlement.HAPPENED, 0, JobState.SUCCEEDED, "happened, as a person says"),
        (Settlement.RUN_AGAIN, 1, JobState.SUCCEEDED, "worked on it"),
        (Settlement.GIVE_UP, 0, JobState.FAILED, "nobody knows"),
    ],
)
async def test_killed_within_an_effect_the_job_asks_and_does_as_it_is_told(
    tmp_path: Path, said: Settlement, runs: int, state: JobState, words: str
) -> None:
    daemon, phone, spec = await killed_in_the_middle(tmp_path)
    tool = ScriptedTool(WRITE)
    async with daemon.again(tool) as home:
        await doubtful(home, phone, spec)
        assert tool.runs == 0
        await home.parts.desk.settle(phone.device, spec.id, said)
        events = await home.ended(phone, spec.id)
        result, _ = await home.result(phone, spec.id)
        with pytest.raises(ConflictError):
            await home.parts.desk.settle(phone.device, spec.id, said)
    assert events[-1].state is state
    assert tool.runs == runs
    assert words in result.content


async def test_idempotent_and_reading_tools_are_run_again(tmp_path: Path) -> None:
    for number, spec_of in enumerate(
        (tool_spec(), tool_spec(effect=EffectClass.WRITE, idempotent=True))
    ):
        daemon, begun = Killed(tmp_path / str(number)), asyncio.Event()
        first = hanging(begun)
        first.spec = spec_of
        phone, spec = await daemon.until_killed(first, begun)
        tool = ScriptedTool(spec_of)
        async with daemon.again(tool) as home:
            events = await home.ended(phone, spec.id)
        assert events[-1].state is JobState.SUCCEEDED
        assert tool.runs == 1


async def test_killed_behind_an_effect_its_outcome_is_not_lost(tmp_path: Path) -> None:
    reached = asyncio.Event()

    class NoEnd(Mortal):
        def finish(self, fence: Fence, ending: Ending) -> JobRow:
            del fence, ending
            reached.set()
            msg = "the disk is full"
            raise UnavailableError(msg)

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        assert context.folder is not None
        (context.folder / "made").write_text("made once")
        return ToolOutput("done", files=(OutputFile(context.folder / "made", "made.txt"),))

    daemon = Killed(tmp_path)
    mortal = NoEnd(daemon.store)
    first, second = ScriptedTool(WRITE, does), ScriptedTool(WRITE, does)
    async with house(
        tmp_path, first, store=mortal.kept, trust=daemon.trust, node=daemon.node
    ) as home:
        phone = home.person()
        spec = job(first)
        await home.submit(phone, spec, phone.consents(spec))
        async with asyncio.timeout(10):
            await reached.wait()
        mortal.dead = True
    async with daemon.again(second) as home:
        events = await home.ended(phone, spec.id)
        result, data = await home.result(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert (first.runs, second.runs) == (1, 0)
    assert (result.content, data) == ("done", b"made once")


async def test_a_tool_in_doubt_about_something_within_it_is_told_what_a_person_says(
    tmp_path: Path,
) -> None:
    heard: list[object] = []

    async def does(_: JsonObject, context: ToolContext) -> ToolOutput:
        said = context.notebook.get("settled")
        if said is None:
            msg = "the lamp may be on"
            raise UnknownOutcomeError(msg)
        heard.append(said)
        await context.notebook.put("settled", None)
        return ToolOutput("went on")

    tool = ScriptedTool(tool_spec(), does)
    async with house(tmp_path, tool) as home:
        phone = home.person()
        spec = await home.submit(phone, job(tool))
        await doubtful(home, phone, spec)
        await home.parts.desk.settle(phone.device, spec.id, Settlement.HAPPENED)
        events = await home.ended(phone, spec.id)
    assert events[-1].state is JobState.SUCCEEDED
    assert heard == ["happened"]


async def test_a_job_that_always_ends_its_daemon_is_given_up(tmp_path: Path) -> None:
    daemon, spec, phone, runs = Killed(tmp_path), None, None, 0
    for _ in range(5):
        begun = asyncio.Event()
        tool = hanging(begun)
        tool.spec = tool_spec()
        if spec is None:
            phone, spec = await daemon.until_killed(tool, begun)
        else:
            mortal = Mortal(daemon.store)
            async with house(
                tmp_path, tool, store=mortal.kept, trust=daemon.trust, node=daemon.node, stop_s=0.0
            ):
                async with asyncio.timeout(10):
                    await begun.wait()
                mortal.dead = True
        runs += tool.runs
    assert phone is not None
    assert spec is not None
    last = ScriptedTool(tool_spec())
    async with daemon.again(last) as home:
        events = await home.ended(phone, spec.id)
        result, _ = await home.result(phone, spec.id)
    assert events[-1].state is JobState.FAILED
    assert (runs, last.runs) == (5, 0)
    assert "begun 5 times" in result.content


async def test_notes_are_found_by_the_next_attempt(tmp_path: Path) -> None:
    begun, daemon = asyncio.Event(), Killed(tmp_path)

    async def notes(_: JsonObject, context: ToolContext) -> ToolOutput:
        await context.notebook.put("read", ["a", "b"])
        begun.set()
        await asyncio.Event().wait()
        return ToolOutput("never")

    async def goes_on(_: JsonObject, context: ToolContext) -> ToolOutput:
        return ToolOutput(f"had {context.notebook.get('read')}")

    phone, spec = await daemon.until_killed(ScriptedTool(tool_spec(), notes), begun)
    async with daemon.again(ScriptedTool(tool_spec(), goes_on)) as home:
        await home.ended(phone, spec.id)
        result, _ = await home.result(phone, spec.id)
    assert result.content == "had ['a', 'b']"
