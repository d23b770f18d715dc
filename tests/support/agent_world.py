"""An agent made of fakes, for tests of the loop."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homing_agent.events import FinalAnswer
from homing_agent.limits import Limits
from homing_agent.loop import Agent
from homing_agent.parts import Parts
from homing_agent.prompts import DEFAULT_PROMPTS, Prompts
from homing_agent.registry import Registry
from homing_agent.request import AskInput
from homing_agent.routing.decide import DEFAULT_RULES, Rules
from homing_agent.testing import (
    FakeConsent,
    FakeHomeJobs,
    FakeHomes,
    FakeSigner,
    FakeTool,
    MemoryJournal,
    Script,
)
from homing_core.generation import (
    CallSignals,
    Done,
    FinishReason,
    TextDelta,
    TokenSignals,
    ToolCallEvent,
)
from homing_core.ids import new_request_id, new_tool_call_id
from homing_core.testing import FakeClock
from homing_core.tools import ToolCall
from homing_inference.engine import EngineInfo
from homing_inference.testing import ScriptedEngine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_agent.events import AgentEvent
    from homing_agent.journal.base import Journal
    from homing_agent.ports import Consent
    from homing_core.canonical import JsonValue

SURE = CallSignals(0.99, 0.98, 0.9, 0.9, 0.99)
UNSURE = CallSignals(0.9, 0.52, 0.11, 0.9, 0.99)
FLUENT = TokenSignals(0.9, -0.1, 8)
HALTING = TokenSignals(0.3, -2.5, 8)
STOP = Done(FinishReason.STOP)
CALLS = Done(FinishReason.TOOL_CALLS)


PHONE_MODEL = EngineInfo(
    model="phone-model",
    quantization="Q4_K_M",
    context_tokens=4096,
    chat_format="hermes-json",
    can_think=False,
)


class PlayedEngine(ScriptedEngine):
    """The phone's model, which plays one script a turn."""

    def __init__(self, scripts: Sequence[Script], context_tokens: int = 4096) -> None:
        super().__init__(*scripts, info=replace(PHONE_MODEL, context_tokens=context_tokens))


def text(words: str, signals: TokenSignals | None = FLUENT) -> Script:
    """A plain answer."""
    pieces = [TextDelta(piece) for piece in words.split("|")]
    middle = () if signals is None else (signals,)
    return (*pieces[:1], *middle, *pieces[1:], STOP)


def call_event(
    name: str = "act", signals: CallSignals | None = SURE, **arguments: JsonValue
) -> ToolCallEvent:
    return ToolCallEvent(ToolCall(new_tool_call_id(), name, arguments), signals)


def calls(*events: ToolCallEvent) -> Script:
    """A turn of calls."""
    return (*events, CALLS)


@dataclass
class World:
    """An agent and what it stands on."""

    engine: PlayedEngine
    tools: Sequence[FakeTool] = ()
    homes: FakeHomes = field(default_factory=FakeHomes)
    journal: Journal = field(default_factory=MemoryJournal)
    limits: Limits = field(default_factory=Limits)
    rules: Rules = DEFAULT_RULES
    clock: FakeClock = field(default_factory=FakeClock)
    jobs: FakeHomeJobs | None = None
    prompts: Prompts = DEFAULT_PROMPTS

    def agent(self) -> Agent:
        return Agent(
            Parts(
                engine=self.engine,
                registry=Registry(self.tools),
                journal=self.journal,
                homes=self.homes,
                signer=FakeSigner(),
                clock=self.clock,
                rules=self.rules,
                limits=self.limits,
                jobs=self.jobs,
                prompts=self.prompts,
            )
        )


@dataclass(frozen=True)
class Seen:
    """Everything a request showed."""

    events: list[AgentEvent]

    @property
    def answer(self) -> FinalAnswer:
        assert isinstance(self.events[-1], FinalAnswer)
        return self.events[-1]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))


def question(words: str = "please act now", **changes: object) -> AskInput:
    return AskInput(**{"request_id": new_request_id(), "text": words, **changes})  # type: ignore[arg-type]  # named by the dataclass


async def ask(agent: Agent, asked: AskInput, consent: Consent | None = None) -> Seen:
    """One request to its end."""
    events: list[AgentEvent] = []
    async with asyncio.timeout(10), aclosing(agent.ask(asked, consent or FakeConsent())) as stream:
        async for event in stream:
            events.append(event)  # noqa: PERF401  # bounded by the timeout, not by a comprehension
    return Seen(events)
