"""Whether any tool fits at all: a look at the first choice between a call and words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from homing_agent.examples import EXAMPLES, Example
from homing_agent.prompts import DEFAULT_PROMPTS
from homing_agent.routing.decide import decide
from homing_agent.routing.decisions import CallInstead, CallTool, Escalate, Speak
from homing_agent.routing.features import CallFacts, Features, Point, Reach
from homing_agent.routing.leaning import Leaning
from homing_agent.testing import FakeTool, fake_spec
from homing_core.generation import CallSignals, TokenSignals, ToolChoice, ToolNamed
from homing_core.tools import EffectClass
from support.agent_world import PlayedEngine, World, ask, call_event, calls, question, text

GROWTH = replace(
    fake_spec("estimate_growth", EffectClass.READ),
    description="Estimate how a city's population grows.",
)
WORDS = "How will the population of the city grow?"
LEANING = Leaning({"estimate_growth": -0.7})


def words_about_a_tool(**changes: object) -> Features:
    features = Features(
        Point.TEXT, text=TokenSignals(0.9, -0.1, 8), best_overlap=0.5, can_require=True, tools=1
    )
    return replace(features, **changes)  # type: ignore[arg-type]  # named by the dataclass


def named(probability: float, overlap: float, **changes: object) -> Features:
    signals = CallSignals(0.6, probability, 0.5)
    call = CallFacts(
        "estimate_growth", EffectClass.READ, signals, None, leaning=LEANING, overlap=overlap
    )
    return replace(Features(Point.NAME, call=call), **changes)  # type: ignore[arg-type]  # as above


def test_words_where_a_tool_is_spoken_of_give_way_to_a_call() -> None:
    assert isinstance(decide(words_about_a_tool()), CallInstead)


@pytest.mark.parametrize(
    "changes",
    [
        {"best_overlap": 0.1},
        {"must_call": True},
        {"failures": 1},
        {"can_require": False},
        {"reach": Reach.THERE},
    ],
)
def test_otherwise_they_stay_words(changes: dict[str, object]) -> None:
    assert not isinstance(decide(words_about_a_tool(**changes)), CallInstead)


def test_a_call_that_cannot_be_read_is_written_again_once() -> None:
    broken = words_about_a_tool(best_overlap=0.0, broken_call=True)
    assert isinstance(decide(broken), CallInstead)
    assert isinstance(decide(replace(broken, must_call=True)), Escalate)
    assert isinstance(decide(replace(broken, can_require=False)), Escalate)


def test_a_call_that_nothing_speaks_for_is_dropped() -> None:
    decision = decide(named(0.3, overlap=0.0))
    assert isinstance(decision, Speak)
    assert decision.reason == "nothing in the request is about estimate_growth"
    assert isinstance(decide(named(0.3, overlap=0.4)), Speak)


def test_a_call_stays_where_belief_rose_or_the_request_is_about_it() -> None:
    assert isinstance(decide(named(0.9, overlap=0.0)), CallTool)
    assert isinstance(decide(named(0.45, overlap=0.4)), CallTool)


def test_a_call_that_had_to_be_made_needs_more_belief() -> None:
    assert isinstance(decide(named(0.45, overlap=0.4, must_call=True)), Speak)
    assert isinstance(decide(named(0.9, overlap=0.4, must_call=True)), CallTool)


async def test_the_model_is_made_to_call_and_its_words_are_never_seen() -> None:
    tool = FakeTool(GROWTH)
    script = (ToolNamed(GROWTH.name, CallSignals(0.1, 0.9, 0.9)), *calls(call_event(GROWTH.name)))
    engine = PlayedEngine([text("It will |double, surely, in a year."), script])
    seen = await ask(World(engine, [tool]).agent(), question(WORDS))
    assert tool.calls == [{}]
    assert "double" not in seen.text
    chosen = [request.tool_choice for request in engine.requests]
    assert chosen[:2] == [ToolChoice.AUTO, ToolChoice.REQUIRED]
    assert ToolChoice.REQUIRED not in chosen[2:]


async def test_if_no_tool_fits_after_all_it_answers_in_words() -> None:
    tool = FakeTool(GROWTH)
    script = (ToolNamed(GROWTH.name, CallSignals(0.1, 0.2, 0.1)), *calls(call_event(GROWTH.name)))
    words = "It grows by a little each year."
    engine = PlayedEngine([text("It will |double, surely, in a year."), script, text(words)])
    seen = await ask(World(engine, [tool]).agent(), question(WORDS))
    assert tool.calls == []
    assert seen.text == words


async def test_a_model_that_examples_have_taught_is_left_alone() -> None:
    prompts = replace(
        DEFAULT_PROMPTS, examples=(*EXAMPLES, Example("grow?", tool="estimate_growth"))
    )
    engine = PlayedEngine([text("It will |double, surely, in a year.")])
    world = World(engine, [FakeTool(GROWTH)])
    world.prompts = prompts
    seen = await ask(world.agent(), question(WORDS))
    assert seen.text == "It will double, surely, in a year."
