"""Calls of one turn: what only reads runs side by side, what acts waits for its turn."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.events import ToolFinished, ToolStarted
from homing_agent.gathering import gathered, side_by_side
from homing_agent.testing import FakeConsent, FakeTool, fake_spec
from homing_agent.turns import ChosenCall
from homing_core.ids import new_tool_call_id
from homing_core.provenance import Trust
from homing_core.tools import EffectClass, ToolCall, ToolSpec, Topic
from support.agent_world import PlayedEngine, World, ask, call_event, calls, question, text

if TYPE_CHECKING:
    from homing_agent.ports import ConsentAnswer, ConsentQuestion

DONE = "It is done, all of it, as you wished."


def reading(name: str) -> ToolSpec:
    spec = fake_spec(name, EffectClass.READ, idempotent=True)
    return replace(spec, output_trust=Trust.TRUSTED)


def chosen(name: str, **arguments: str) -> ChosenCall:
    return ChosenCall(ToolCall(new_tool_call_id(), name, arguments))


def names(*groups: list[ChosenCall]) -> list[list[str]]:
    return [[one.call.name for one in group] for group in groups]


TOOLS = (reading("look"), reading("find"), fake_spec("act"))


def test_neighbours_that_read_share_a_group_and_what_acts_is_alone() -> None:
    asked = ["look", "find", "act", "act", "find", "look", "unknown", "look"]
    groups = names(*side_by_side([chosen(name, q=str(at)) for at, name in enumerate(asked)], TOOLS))
    assert groups == [["look", "find"], ["act"], ["act"], ["find", "look"], ["unknown"], ["look"]]
    assert not names(*side_by_side([], TOOLS))


def test_the_same_call_is_not_made_twice_at_once() -> None:
    twice = [chosen("look", q="x"), chosen("look", q="x"), chosen("look", q="y")]
    assert names(*side_by_side(twice, TOOLS)) == [["look"], ["look", "look"]]


async def test_two_that_read_run_at_the_same_time_and_keep_their_order() -> None:
    look, find = FakeTool(reading("look")), FakeTool(reading("find"))
    look.hold = find.started  # the first ends only once the second has begun
    engine = PlayedEngine([calls(call_event("look"), call_event("find")), text(DONE)])
    seen = await ask(World(engine, [look, find]).agent(), question("look and find"))
    steps = seen.answer.steps
    assert [step.call.name for step in steps] == ["look", "find"]
    ended = [e.step.call.name for e in seen.events if isinstance(e, ToolFinished)]
    assert sorted(ended) == ["find", "look"]
    results = engine.requests[-1].messages[-1].parts if len(engine.requests) > 1 else ()
    assert len(results) in {0, 2}


async def test_what_acts_begins_only_when_what_stands_before_it_has_ended() -> None:
    look, act = FakeTool(reading("look")), FakeTool()
    engine = PlayedEngine([calls(call_event("look"), call_event("act")), text(DONE)])
    asked = question("look, then act", allowed_tools=frozenset({"act"}))
    seen = await ask(World(engine, [look, act]).agent(), asked)
    order = [
        (type(event).__name__, event.step.call.name)
        for event in seen.events
        if isinstance(event, ToolStarted | ToolFinished)
    ]
    assert order == [
        ("ToolStarted", "look"),
        ("ToolFinished", "look"),
        ("ToolStarted", "act"),
        ("ToolFinished", "act"),
    ]


async def test_a_person_is_asked_one_question_at_a_time() -> None:
    class OneAtATime(FakeConsent):
        open = most = 0

        async def ask(self, question: ConsentQuestion) -> ConsentAnswer:
            self.open += 1
            self.most = max(self.most, self.open)
            await asyncio.sleep(0)
            self.open -= 1
            return await super().ask(question)

    secret = [replace(reading(name), topics=frozenset({Topic.HEALTH})) for name in ("look", "find")]
    engine = PlayedEngine([calls(call_event("look"), call_event("find")), text(DONE)])
    person = OneAtATime()
    world = World(engine, [FakeTool(spec) for spec in secret])
    await ask(world.agent(), question("look and find", interactive=True), person)
    assert (len(person.questions), person.most) == (2, 1)


async def test_a_request_that_is_left_ends_every_call_that_has_begun() -> None:
    look, find = FakeTool(reading("look")), FakeTool(reading("find"))
    look.hold = find.hold = asyncio.Event()
    world = World(PlayedEngine([calls(call_event("look"), call_event("find"))]), [look, find])
    asked = question("look and find")
    task = asyncio.ensure_future(ask(world.agent(), asked))
    await asyncio.gather(look.started.wait(), find.started.wait())
    task.cancel()
    look.hold.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    effects = world.journal.effects(asked.request_id)
    assert [(effect.step, effect.result is not None) for effect in effects] == [
        (1, True),
        (2, True),
    ]


async def test_the_first_failure_ends_the_rest() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")

    async def fails() -> None:
        msg = "no"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="no"):
        await gathered([waits(), fails()])
    assert ended == ["waits"]
