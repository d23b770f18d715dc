"""What the decision costs: the first thing shown by the agent, against the engine by itself.

Both get the very same prompt. Of a call, the engine's time is when the whole call is there, since
no assistant could show it sooner; of words, when the first of them is there. The agent's time is
when it says where the answer is made, which is the first that anybody sees.
"""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_agent.conversation import system_message
from homing_agent.evaluation.trial import InertTool, NoHome
from homing_agent.events import RouteChosen
from homing_agent.loop import Agent
from homing_agent.registry import Registry
from homing_agent.request import AskInput, RoutePreference
from homing_agent.testing import FakeConsent
from homing_core.generation import (
    GenerateRequest,
    Sampling,
    TextDelta,
    ToolCallEvent,
    Usage,
)
from homing_core.ids import new_generation_id, new_request_id
from homing_core.messages import user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_agent.calibration.book import CalibrationBook
    from homing_agent.evaluation.cases import Case
    from homing_agent.parts import Parts
    from homing_agent.ports import Need, Remote
    from homing_client.laboratory import Laboratory

_WARM_UP = 2


async def decision_times(
    lab: Laboratory, book: CalibrationBook, cases: Sequence[Case]
) -> dict[str, list[float]]:
    """Milliseconds, one of each for every request that the phone keeps.

    Args:
        lab: the phone.
        book: its calibrations.
        cases: requests.
    """
    found: dict[str, list[float]] = {"extra_ms": [], "warm_first_token_ms": []}
    homes = _Counting()
    tools = [InertTool(tool, []) for tool in lab.phone_tools]
    agent = Agent(replace(lab.parts, registry=Registry(tools), homes=homes, calibrations=book))
    await agent.warm()
    for number, case in enumerate(cases):
        homes.asked = False
        seen = None
        if number % 2:  # whoever comes second finds the prompt computed, so they take turns
            seen = await _decided(agent, case.request)
        alone, first, is_call = await _alone(lab.parts, case.request)
        if not number % 2:
            seen = await _decided(agent, case.request)
        if number < _WARM_UP or homes.asked or alone is None or seen is None:
            continue
        found["extra_ms"].append(seen - alone)
        found["warm_first_token_ms"].append(first)
        found.setdefault("extra_call_ms" if is_call else "extra_words_ms", []).append(seen - alone)
    return found


class _Counting(NoHome):
    """Knows whether the phone wanted to hand a step over."""

    def __init__(self) -> None:
        self.asked = False

    async def pick(self, need: Need) -> Remote:
        self.asked = True
        return await super().pick(need)


async def _decided(agent: Agent, request: str) -> float | None:
    asked = AskInput(new_request_id(), request, route=RoutePreference.AUTO)
    started = time.perf_counter()
    async with aclosing(agent.ask(asked, FakeConsent())) as events:
        async for event in events:
            if isinstance(event, RouteChosen):
                return (time.perf_counter() - started) * 1000
    return None


async def _alone(parts: Parts, request: str) -> tuple[float | None, float, bool]:
    tools = parts.registry.offered()
    text = parts.prompts.for_phone(tools, parts.engine.info.chat_format)
    asked = GenerateRequest(
        new_generation_id(),
        (system_message(text), user(request)),
        tools=tools,
        sampling=Sampling(max_tokens=parts.limits.phone_tokens),
    )
    started = time.perf_counter()
    seen: float | None = None
    first, is_call = 0.0, False
    async with aclosing(parts.engine.generate(asked)) as events:
        async for event in events:
            if seen is None and isinstance(event, TextDelta | ToolCallEvent):
                seen = (time.perf_counter() - started) * 1000
                is_call = isinstance(event, ToolCallEvent)
            if isinstance(event, Usage):
                first = event.prefill_ms
    return seen, first, is_call
