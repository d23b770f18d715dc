"""What the loop makes of a routing rule: questions, early ends, words instead of a call."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homing_agent.loop import Agent
from homing_agent.parts import Parts
from homing_agent.questions import is_question
from homing_agent.registry import Registry
from homing_agent.request import ExitStatus
from homing_agent.routing.decide import Rules
from homing_agent.routing.features import Point
from homing_agent.routing.score import Judgement
from homing_agent.testing import (
    FakeConsent,
    FakeHomes,
    FakeRemote,
    FakeSigner,
    FakeTool,
    MemoryJournal,
)
from homing_core.errors import UsageError
from homing_core.generation import ToolNamed
from homing_core.scoring import CONTENT_FREE, NameScore, ToolScores
from homing_core.testing import FakeClock
from homing_core.tools import EffectClass, Place, ToolSpec
from support.agent_world import SURE, PlayedEngine, World, ask, call_event, calls, question, text
from support.calibrations import calibration

if TYPE_CHECKING:
    from homing_agent.calibration.file import Calibration, Ties
    from homing_agent.routing.features import Features

REMIND = ToolSpec(
    name="remind",
    description="Remind the user of something at a time.",
    parameters={
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "when": {"type": "string", "description": "time in the user's words"},
        },
        "required": ["text", "when"],
    },
    effect=EffectClass.READ,
)


@dataclass
class Scripted:
    """A rule that judges each point as it is told and remembers what it was shown."""

    judgements: dict[Point, Judgement] = field(default_factory=dict[Point, Judgement])
    seen: list[Features] = field(default_factory=list["Features"])

    def judge(self, features: Features) -> Judgement:
        self.seen.append(features)
        return self.judgements.get(features.point, Judgement(0.9, ""))

    def numbers(self, features: Features) -> dict[str, float]:
        return features.numbers()


def named(name: str = "act") -> ToolNamed:
    return ToolNamed(name, replace(SURE, lowest_argument_probability=1.0))


async def test_what_nobody_said_is_asked_for_and_the_answer_completes_the_call() -> None:
    tool, journal = FakeTool(replace(REMIND, effect=EffectClass.WRITE)), MemoryJournal()
    engine = PlayedEngine(
        [
            calls(call_event("remind", text="call mom", when="tomorrow at 9")),
            calls(call_event("remind", text="call mom", when="at 5")),
        ]
    )
    agent = World(engine, [tool], journal=journal).agent()
    first = await ask(agent, question("remind me to call mom"))
    assert first.text == "What is the when (time in the user's words)?"
    assert first.answer.asks == ("when",)
    assert first.answer.exit_status == ExitStatus.ANSWERED.value
    assert first.answer.reason == "remind needs what was not said: when"
    assert not tool.calls
    conversation = first.answer.conversation_id
    assert is_question(journal.conversation(conversation)[-1])
    consent = FakeConsent()
    second = await ask(
        agent, question("at 5", conversation_id=conversation, interactive=True), consent
    )
    assert tool.calls == [{"text": "call mom", "when": "at 5"}]
    assert second.answer.asks == ()
    # What it was asked about counts as said: alone, "at 5" would sound like no tool at all.
    assert second.answer.features["request_words"] == 7
    assert second.answer.features["overlap"] == first.answer.features["overlap"] > 0


async def test_nobody_is_asked_for_the_same_thing_twice() -> None:
    tool, journal = FakeTool(replace(REMIND, effect=EffectClass.WRITE)), MemoryJournal()
    made_up = call_event("remind", text="call mom", when="tomorrow at 9")
    engine = PlayedEngine([calls(made_up), calls(made_up)])
    home = FakeRemote([text("At what time?")])
    agent = World(engine, [tool], journal=journal, homes=FakeHomes(home)).agent()
    first = await ask(agent, question("remind me to call mom"))
    second = await ask(agent, question("soon", conversation_id=first.answer.conversation_id))
    assert second.answer.place is Place.HOME
    assert second.text == "At what time?"


async def test_a_tool_of_the_phone_asks_in_its_own_words() -> None:
    class Polite(FakeTool):
        def question(self, parameter: str) -> str:
            return {"when": "When shall I remind you?"}.get(parameter, "")

    engine = PlayedEngine([calls(call_event("remind", text="call mom", when="at 5"))])
    tool = Polite(replace(REMIND, effect=EffectClass.WRITE))
    seen = await ask(World(engine, [tool]).agent(), question("remind me to call mom"))
    assert seen.text == "When shall I remind you?"


async def test_a_doubt_at_the_name_goes_home_before_any_argument_is_written() -> None:
    rule = Scripted({Point.NAME: Judgement(0.2, "another tool may be meant")})
    engine = PlayedEngine([(named(), *calls(call_event()))])
    home = FakeRemote([text("done at home")])
    tool = FakeTool()
    world = World(engine, [tool], homes=FakeHomes(home), rules=Rules(score=rule))
    seen = await ask(world.agent(), question())
    assert seen.answer.place is Place.HOME
    assert seen.answer.reason.startswith("another tool may be meant")
    assert [one.point for one in rule.seen][:2] == [Point.START, Point.NAME]
    assert Point.CALL not in [one.point for one in rule.seen]
    assert engine.requests[0].early_names
    assert engine.cancelled == [engine.requests[0].id]
    assert not tool.calls


async def test_where_no_tool_fits_the_model_answers_in_words_without_tools() -> None:
    rule = Scripted({Point.NAME: Judgement(0.9, "", idle="no tool seems to fit: 3%")})
    engine = PlayedEngine([(named(), *calls(call_event())), text("Four.")])
    tool = FakeTool()
    world = World(engine, [tool], homes=FakeHomes(FakeRemote()), rules=Rules(score=rule))
    seen = await ask(world.agent(), question("what is two and two"))
    assert seen.text == "Four."
    assert seen.answer.place is Place.PHONE
    assert engine.requests[0].tools
    assert engine.requests[1].tools == ()
    assert not tool.calls


async def test_a_name_that_no_tool_has_is_left_to_the_call_that_follows() -> None:
    rule = Scripted()
    engine = PlayedEngine([(named("nothing"), *text("No tool does that."))])
    seen = await ask(World(engine, [FakeTool()], rules=Rules(score=rule)).agent(), question())
    assert seen.text == "No tool does that."
    assert Point.NAME not in [one.point for one in rule.seen]


async def test_examples_stand_before_the_request_only_while_their_tools_are_offered() -> None:
    spec = ToolSpec("set_timer", "Start a timer.", {"type": "object", "properties": {}})
    rule = Scripted({Point.NAME: Judgement(0.9, "", idle="no tool seems to fit")})
    engine = PlayedEngine([(named("set_timer"), *calls(call_event("set_timer"))), text("Well.")])
    await ask(World(engine, [FakeTool(spec)], rules=Rules(score=rule)).agent(), question())
    with_tools, without = (str(request.messages[0].parts[0]) for request in engine.requests)
    assert "12 minute egg timer" in with_tools
    assert "set_reminder" not in with_tools
    assert "Examples" not in without


class Book:
    """Calibrations that know one."""

    def __init__(self, known: Calibration | None) -> None:
        self.known = known
        self.asked: list[Ties] = []

    def find(self, ties: Ties) -> Calibration | None:
        self.asked.append(ties)
        return self.known


def calibrated(engine: PlayedEngine, book: Book, tool: FakeTool, homes: FakeHomes) -> Agent:
    return Agent(
        Parts(
            engine=engine,
            registry=Registry([tool]),
            journal=MemoryJournal(),
            homes=homes,
            signer=FakeSigner(),
            clock=FakeClock(),
            calibrations=book,
        )
    )


async def test_a_calibration_for_the_warmed_prefix_decides_from_then_on() -> None:
    engine = PlayedEngine([calls(call_event())])
    engine.score_as(ToolScores((NameScore("act", -0.5),), -1.0))
    book, tool = Book(calibration(keep_from=0.99)), FakeTool()
    home = FakeRemote([text("done at home")])
    agent = calibrated(engine, book, tool, FakeHomes(home))
    warmed = await agent.warm()
    assert book.asked[0].prefix_sha256 == warmed.sha256
    assert book.asked[0].model == "phone-model"
    assert CONTENT_FREE in str(engine.scored[0].messages[-1])
    seen = await ask(agent, question())
    assert seen.answer.place is Place.HOME
    assert "right in about" in seen.answer.reason
    assert "name_gain" in seen.answer.features


async def test_without_a_calibration_the_thresholds_decide() -> None:
    engine = PlayedEngine([calls(call_event())])
    engine.score_as(UsageError("this engine cannot see probabilities"))
    tool = FakeTool()
    agent = calibrated(engine, Book(None), tool, FakeHomes())
    await agent.warm()
    seen = await ask(agent, question(interactive=True))
    assert len(tool.calls) == 1
    assert "name_gain" not in seen.answer.features


async def test_examples_that_leave_no_room_for_a_conversation_are_left_out() -> None:
    spec = ToolSpec("set_timer", "Start a timer.", {"type": "object", "properties": {}})
    for context, kept in ((8192, True), (200, False)):
        engine = PlayedEngine([text("Well, then, here are words.")], context_tokens=context)
        agent = World(engine, [FakeTool(spec)]).agent()
        await agent.warm()
        await ask(agent, question())
        assert ("Examples" in str(engine.requests[0].messages[0].parts[0])) is kept
