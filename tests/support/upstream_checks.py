"""What `UpstreamEngine` must do over a real server, whichever it is.

    python tests/support/upstream_checks.py http://127.0.0.1:8080

runs every check against a server that is up already, with a model that can call tools, and prints
one line for each. A server's own limits are known by its kind.
"""

from __future__ import annotations

import asyncio
import dataclasses
import math
import sys
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from homing_core.errors import UsageError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    Sampled,
    Sampling,
    TextDelta,
    Thinking,
    TokenLogprobs,
    TokenSignals,
    ToolCallEvent,
    ToolChoice,
    Usage,
)
from homing_core.ids import new_generation_id, new_tool_call_id
from homing_core.messages import (
    Message,
    Role,
    ToolCallPart,
    ToolResultPart,
    assistant,
    system,
    user,
)
from homing_core.provenance import MODEL
from homing_core.tools import ToolCall, ToolResult, ToolSpec
from homing_inference.upstream.engine import UpstreamEngine
from homing_inference.upstream.served import Kind
from homing_inference.upstream.server import UpstreamServer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from homing_core.generation import GenerationEvent

    Check = Callable[[UpstreamEngine], Awaitable[None]]

BOUND_S = 120
"""No check takes longer."""

_TIMER = ToolSpec(
    "set_timer",
    "Starts a countdown.",
    {
        "type": "object",
        "properties": {"minutes": {"type": "integer"}},
        "required": ["minutes"],
    },
)
_SYSTEM = system("You are a helpful assistant. " * 8 + "Use the tools.")
_CONTINUES = frozenset({Kind.LLAMA_SERVER, Kind.VLLM})


def _ask(words: str, **changes: Any) -> GenerateRequest:  # noqa: ANN401  # fields of the request
    asked = GenerateRequest(new_generation_id(), (user(words),), sampling=Sampling(max_tokens=8))
    return dataclasses.replace(asked, **changes)


async def _collect(engine: UpstreamEngine, asked: GenerateRequest) -> list[GenerationEvent]:
    return [event async for event in engine.generate(asked)]


def _text(events: Sequence[GenerationEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def _reason(events: Sequence[GenerationEvent]) -> FinishReason:
    last = events[-1]
    assert isinstance(last, Done), last
    return last.reason


async def it_says_what_it_serves(engine: UpstreamEngine) -> None:
    assert engine.info.model
    assert engine.info.context_tokens >= 1024


async def the_most_likely_words_are_the_same_each_time(engine: UpstreamEngine) -> None:
    first = await _collect(engine, _ask("Name three rivers."))
    second = await _collect(engine, _ask("Name three rivers."))
    assert _text(first)
    assert _text(first) == _text(second)
    assert _reason(first) is FinishReason.LENGTH
    counts = first[-2]
    assert isinstance(counts, Usage)
    assert 1 <= counts.completion_tokens <= 8
    assert counts.prompt_tokens > 0


async def it_stops_at_a_word(engine: UpstreamEngine) -> None:
    sampling = Sampling(max_tokens=40, stop=("5",))
    events = await _collect(engine, _ask("Count from 1 to 9, digits only.", sampling=sampling))
    assert _reason(events) is FinishReason.STOP
    assert "5" not in _text(events)
    assert "3" in _text(events)


async def it_calls_a_tool(engine: UpstreamEngine) -> None:
    sampling = Sampling(max_tokens=80)
    asked = _ask("Set a timer for 5 minutes.", tools=(_TIMER,), sampling=sampling)
    for choice in (ToolChoice.AUTO, ToolChoice.REQUIRED):
        events = await _collect(engine, dataclasses.replace(
            asked, id=new_generation_id(), messages=(_SYSTEM, *asked.messages), tool_choice=choice
        ))  # fmt: skip
        calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
        assert calls, _text(events)
        assert calls[0].name == "set_timer"
        assert calls[0].arguments == {"minutes": 5}


async def it_reads_the_result_of_a_tool(engine: UpstreamEngine) -> None:
    call = ToolCall(new_tool_call_id(), "set_timer", {"minutes": 5})
    result = ToolResult(call.id, "The timer runs.", is_error=False, provenance=MODEL)
    said = (
        _SYSTEM,
        user("Set a timer for 5 minutes."),
        Message(Role.ASSISTANT, (ToolCallPart(call),)),
        Message(Role.TOOL, (ToolResultPart(result),)),
    )
    events = await _collect(engine, _ask("", messages=said, tools=(_TIMER,)))
    assert _reason(events)


async def it_writes_several_answers(engine: UpstreamEngine) -> None:
    sampling = Sampling(temperature=1.0, seed=7, max_tokens=6)
    events = await _collect(engine, _ask("Name a river.", samples=2, sampling=sampling))
    assert _reason(events)
    ended = [e.sample for e in events if isinstance(e, Sampled) and isinstance(e.event, Done)]
    assert sorted(ended) == [1, 2]
    counts = events[-2]
    assert isinstance(counts, Usage)
    assert 2 <= counts.completion_tokens <= 12


async def it_gives_probabilities(engine: UpstreamEngine) -> None:
    # llama-cpp-python has none beside tools, and takes most of a second for each token's.
    plain = engine.kind is Kind.LLAMA_CPP_PYTHON
    for tools in ((),) if plain else ((), (_TIMER,)):
        few = Sampling(max_tokens=3)
        asked = _ask("Name a river.", logprobs=2, tools=tools, sampling=few)
        events = await _collect(engine, asked)
        assert _reason(events)
        tokens = [t for e in events if isinstance(e, TokenLogprobs) for t in e.tokens]
        assert tokens
        assert all(token.logprob <= 0 and len(token.top) <= 2 for token in tokens)
        signals = [event for event in events if isinstance(event, TokenSignals)]
        assert len(signals) == 1
        assert math.isclose(math.log(signals[0].first_probability), tokens[0].logprob)


async def it_goes_on_with_an_answer_or_says_that_it_cannot(engine: UpstreamEngine) -> None:
    said = (user("Count from 1 to 9."), assistant("1, 2, 3,"))
    events = await _collect(engine, _ask("", messages=said, continue_last=True))
    if engine.kind in _CONTINUES:
        assert _text(events).strip().startswith("4")
    else:
        last = events[-1]
        assert isinstance(last, Failed)
        assert last.code == "usage"


async def thinking_either_way_is_fine(engine: UpstreamEngine) -> None:
    for thinking in Thinking:
        asked = _ask("What is 2 + 2?", thinking=thinking, thinking_budget=4)
        assert _reason(await _collect(engine, asked))


async def a_prompt_that_does_not_fit_is_too_long(engine: UpstreamEngine) -> None:
    events = await _collect(engine, _ask("river " * engine.info.context_tokens * 2))
    last = events[-1]
    assert isinstance(last, Failed)
    assert last.code == "too_long", last
    events = await _collect(engine, _ask("river " * 500, max_context_tokens=100))
    last = events[-1]
    assert isinstance(last, Failed)
    assert last.code == "too_long", last


async def closing_the_reader_frees_the_server(engine: UpstreamEngine) -> None:
    sampling = Sampling(max_tokens=1500)
    asked = _ask("Count from 1 to 1000, one number a line.", sampling=sampling)
    began = time.monotonic()
    async with aclosing(engine.generate(asked)) as events:
        assert isinstance(await anext(events), TextDelta)
    assert _reason(await _collect(engine, _ask("Name a river.")))
    assert time.monotonic() - began < 20  # all 1,500 tokens would take longer
    assert engine.state.running == 0


async def several_at_once_are_all_answered(engine: UpstreamEngine) -> None:
    asked = [_ask(f"Name a river in {place}.") for place in ("Italy", "Ghana", "Peru")]
    for events in await asyncio.gather(*[_collect(engine, one) for one in asked]):
        assert _text(events)
        assert _reason(events) is FinishReason.LENGTH


async def a_warm_prefix_is_of_use(engine: UpstreamEngine) -> None:
    warmed = await engine.warm([_SYSTEM], (_TIMER,), Thinking.OFF)
    assert warmed.tokens > 50
    events = await _collect(engine, _ask("", messages=(_SYSTEM, user("Hi")), tools=(_TIMER,)))
    counts = events[-2]
    assert isinstance(counts, Usage)
    if engine.kind is Kind.LLAMA_SERVER:
        assert counts.cached_tokens > warmed.tokens // 2


async def texts_become_vectors_or_it_says_that_it_cannot(engine: UpstreamEngine) -> None:
    try:
        vectors = await engine.embed(["a river", "a timer"])
    except UsageError:
        return
    assert len(vectors) == 2
    assert all(math.isclose(math.hypot(*vector), 1) for vector in vectors)


CHECKS: tuple[Check, ...] = (
    it_says_what_it_serves,
    the_most_likely_words_are_the_same_each_time,
    it_stops_at_a_word,
    it_calls_a_tool,
    it_reads_the_result_of_a_tool,
    it_writes_several_answers,
    it_gives_probabilities,
    it_goes_on_with_an_answer_or_says_that_it_cannot,
    thinking_either_way_is_fine,
    a_prompt_that_does_not_fit_is_too_long,
    closing_the_reader_frees_the_server,
    several_at_once_are_all_answered,
    a_warm_prefix_is_of_use,
    texts_become_vectors_or_it_says_that_it_cannot,
)


async def run_checks(url: str, **settings: Any) -> None:  # noqa: ANN401  # fields of the server
    """Run every check; the first that fails raises.

    Args:
        url: of a server that is up.
        settings: further fields of `UpstreamServer`.
    """
    engine = await UpstreamEngine.connect(UpstreamServer(url, **settings))
    try:
        for check in CHECKS:
            began = time.monotonic()
            async with asyncio.timeout(BOUND_S):
                await check(engine)
            name = check.__name__.replace("_", " ")
            print(f"{time.monotonic() - began:6.2f} s  {name}")  # noqa: T201  # its result
    finally:
        await engine.close()


if __name__ == "__main__":
    asyncio.run(run_checks(sys.argv[1]))
