"""Many tools: those that a request is about are offered, and the core always is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.conversation import estimate_tool_tokens
from homing_agent.evaluation.bfcl import read_bfcl
from homing_agent.limits import Limits
from homing_agent.request import RoutePreference
from homing_agent.retrieval import Bm25Retriever, offer
from homing_agent.testing import FakeHomeJobs, FakeHomes, FakeRemote, FakeTool, fake_spec
from homing_core.tools import EffectClass, Place, ToolSpec
from hypothesis import given
from hypothesis import strategies as st
from support.agent_world import PlayedEngine, World, ask, question, text
from support.strategies import json_values

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue

WORDS = "Here you are, that was easy enough."


def about(name: str, description: str, **changes: object) -> ToolSpec:
    spec = replace(fake_spec(name, EffectClass.READ, idempotent=True), description=description)
    return replace(spec, **changes)  # type: ignore[arg-type]  # named by the dataclass


TOOLS = (
    about("get_exchange_rate", "Tells what one currency is worth in another."),
    about("searchFlights", "Finds connections between two airports."),
    about("carbon_footprint", "Calculates the emissions of a vehicle by its mileage."),
)
MANY = tuple(about(f"tool_{number}", f"Does the work of number {number}.") for number in range(200))


@pytest.mark.parametrize(
    ("request_text", "first"),
    [
        ("How many emissions does my vehicle cause?", "carbon_footprint"),
        ("any flight from Oslo to Porto?", "searchFlights"),
        ("the exchange rate of the krone", "get_exchange_rate"),
    ],
)
def test_the_tool_that_is_spoken_of_comes_first(request_text: str, first: str) -> None:
    assert Bm25Retriever().ordered(request_text, TOOLS)[0].name == first


def test_where_nothing_is_in_common_their_own_order_stays() -> None:
    retriever = Bm25Retriever()
    for nothing in ("", "!?", "xyzzy", "日本"):
        assert retriever.ordered(nothing, TOOLS) == TOOLS
    assert retriever.ordered("anything", ()) == ()
    assert retriever.ordered("vehicle emissions", TOOLS[:1]) == TOOLS[:1]


def test_nineteen_of_twenty_requests_find_their_tool_among_hundreds() -> None:
    cases = read_bfcl("multiple")
    tools = tuple({tool.name: tool for case in cases for tool in case.tools}.values())
    assert len(tools) > 300
    retriever = Bm25Retriever()
    found = sum(
        any(tool.name in answer for answer in case.answers)
        for case in cases
        for tool in retriever.ordered(case.request, tools)[:10]
    )
    assert found >= 0.95 * len(cases)


@given(st.dictionaries(st.text(max_size=12), json_values, max_size=4), st.text(max_size=40))
def test_no_schema_and_no_request_breaks_it(
    parameters: dict[str, JsonValue], request_text: str
) -> None:
    odd = replace(TOOLS[0], name="odd", parameters=parameters)
    found = Bm25Retriever().ordered(request_text, (odd, TOOLS[1]))
    assert {tool.name for tool in found} == {"odd", "searchFlights"}


def test_all_are_offered_where_they_fit() -> None:
    offered = offer("anything", MANY[:1], TOOLS, estimate_tool_tokens(TOOLS), Bm25Retriever())
    assert offered.tools == (*MANY[:1], *TOOLS)
    assert not offered.words


def test_of_more_the_core_and_the_likely_ones_are_within_the_budget() -> None:
    budget = estimate_tool_tokens(MANY[:12])
    offered = offer("vehicle emissions", TOOLS[:1], (*MANY, *TOOLS[1:]), budget, Bm25Retriever())
    assert offered.tools[0] == TOOLS[0]
    assert TOOLS[2] in offered.tools
    assert estimate_tool_tokens(offered.tools[1:]) <= budget
    assert offered.words.startswith(f"{len(offered.tools)} of 203 tools are offered")


async def test_a_phone_with_more_tools_than_it_can_hold_offers_those_that_are_meant() -> None:
    tools = [FakeTool(spec) for spec in (*MANY, *TOOLS)]
    engine = PlayedEngine([text(WORDS), text(WORDS)], context_tokens=1024)
    agent = World(engine, tools).agent()
    await agent.warm()
    core = engine.warmed[-1][1]
    assert 0 < len(core) < len(MANY)
    seen = await ask(agent, question("vehicle emissions", route=RoutePreference.PHONE))
    assert any("of 203 tools are offered" in getattr(event, "text", "") for event in seen.events)
    await ask(agent, question("any flight to Porto?", route=RoutePreference.PHONE))
    first, second = (
        next(one.tools for one in engine.requests if word in str(one.messages[-1].parts[0]))
        for word in ("vehicle", "flight")
    )
    assert first[: len(core)] == second[: len(core)] == core  # so that the warm prefix is of use
    assert TOOLS[2] in first
    assert TOOLS[1] in second
    assert len(first) < len(MANY)


async def test_a_node_with_hundreds_of_tools_offers_those_that_are_meant() -> None:
    specs = [replace(spec, place=Place.HOME) for spec in (*MANY, *TOOLS)]
    jobs, remote = FakeHomeJobs(*specs), FakeRemote([text(WORDS)])
    world = World(PlayedEngine([]), homes=FakeHomes(remote), jobs=jobs)
    world.limits = Limits(home_tool_tokens=1000)
    seen = await ask(world.agent(), question("vehicle emissions", route=RoutePreference.HOME))
    (sent,) = remote.requests
    names = [tool.name for tool in sent.tools]
    assert "carbon_footprint" in names
    assert estimate_tool_tokens(sent.tools) <= 1000
    assert any("of 203 tools are offered" in getattr(event, "text", "") for event in seen.events)
