"""What every engine keeps to: the scripted one, and llama.cpp in a child with two real models."""

from __future__ import annotations

import asyncio
import math
import re
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from homing_core.errors import TooLongError, UnavailableError, UsageError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    Priority,
    Sampled,
    Sampling,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCallEvent,
    ToolChoice,
    Usage,
)
from homing_core.ids import new_tool_call_id
from homing_core.messages import user
from homing_core.scoring import ScoreRequest
from homing_core.tools import ToolCall, ToolSpec
from homing_inference.engine import EngineState
from homing_inference.host import ChildEngine, ModelFile
from homing_inference.testing import SCRIPTED, ScriptedEngine
from support.engines import (
    BOUND_S,
    SYSTEM,
    TOOLS,
    agree,
    ask,
    collect,
    done_of,
    failure_of,
    running,
    substance,
    text_of,
    tokens_of,
    usage_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_core.generation import GenerateRequest, GenerationEvent
    from homing_inference.engine import Engine

pytestmark = pytest.mark.asyncio(loop_scope="module")

AT_ONCE = 3
MAY_WAIT = 4
SHORT = Sampling(max_tokens=4)
HOLD = "Hold on: count from one to ten thousand, one number a line."
PLACES = ToolSpec(
    "go_to",
    "Goes to a room.",
    {
        "type": "object",
        "properties": {"room": {"type": "string", "enum": ["kitchen", "garden"]}},
        "required": ["room"],
    },
)
_WORDS = ("The ", "capital ", "of ", "France ", "is ", "Paris", ".")


def _scripted() -> ScriptedEngine:
    info = replace(SCRIPTED, max_sequences=AT_ONCE, can_think=True)
    engine = ScriptedEngine(info=info, max_waiting=MAY_WAIT)
    call = ToolCallEvent(ToolCall(new_tool_call_id(), PLACES.name, {"room": "garden"}))
    thoughts = [ThinkingDelta(word) for word in ("Hm. ", "France… ", "Paris? ", "Yes. ")]

    def holds(request: GenerateRequest) -> bool:
        return request.messages[-1].text == HOLD

    engine.answer("One", asyncio.Event(), when=holds, times=None)
    engine.answer(call, when=lambda asked: asked.tool_choice is ToolChoice.REQUIRED, times=None)
    engine.answer(*thoughts, *_WORDS, when=lambda asked: asked.thinking is Thinking.ON, times=None)
    engine.answer(*_WORDS, times=None)
    return engine


async def _open(kind: str, fixtures: pytest.FixtureRequest) -> Engine:
    if kind == "scripted":
        return _scripted()
    path: Path = fixtures.getfixturevalue(kind)
    return await ChildEngine.start(
        ModelFile(path, kind, stand_in=True),
        context_tokens=2048,
        max_sequences=AT_ONCE,
        max_waiting=MAY_WAIT,
    )


_KINDS = ["scripted", "tiny_qwen35", pytest.param("stand_in_phone", marks=pytest.mark.model)]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=_KINDS)
async def engine(request: pytest.FixtureRequest) -> AsyncGenerator[Engine, None]:
    opened = await _open(request.param, request)
    yield opened
    await opened.close()


def _hold() -> GenerateRequest:
    return ask(HOLD, sampling=Sampling(max_tokens=0))


async def _begin(waiting: GenerateRequest, engine: Engine) -> asyncio.Task[list[GenerationEvent]]:
    """A reader whose request has reached the engine."""
    task = asyncio.create_task(collect(engine, waiting))
    await asyncio.sleep(0)
    return task


async def _full(engine: Engine, stack: AsyncExitStack) -> None:
    """All places are taken until the stack is closed."""
    for _ in range(AT_ONCE):
        await stack.enter_async_context(running(engine, _hold()))


# One request


async def test_it_says_what_it_serves(engine: Engine) -> None:
    info = engine.info
    assert info.model
    assert info.quantization
    assert info.context_tokens >= 2048
    assert info.chat_format in {"qwen35-xml", "hermes-json", "plain"}
    assert info.max_sequences == AT_ONCE
    assert info.adapters == ()


async def test_a_generation_ends_once_and_says_what_it_took(engine: Engine) -> None:
    events = await collect(engine, ask())
    assert [event for event in events if isinstance(event, Done | Failed)] == events[-1:]
    assert done_of(events).reason in {FinishReason.STOP, FinishReason.LENGTH}
    usage = usage_of(events)
    assert events[-2] == usage
    assert text_of(events)
    assert usage.prompt_tokens > usage.cached_tokens >= 0
    assert 1 <= usage.completion_tokens <= 12
    assert usage.prefill_ms >= 0
    assert usage.decode_ms >= 0


async def test_the_same_request_gets_the_same_answer(engine: Engine) -> None:
    first = await collect(engine, ask("Name three rivers."))
    between = await collect(engine, ask("Something else altogether"))
    second = await collect(engine, ask("Name three rivers."))
    assert substance(first) == substance(second)
    assert done_of(between)


async def test_closing_the_generator_ends_it_and_the_next_is_served(engine: Engine) -> None:
    async with asyncio.timeout(BOUND_S), aclosing(engine.generate(ask("Count."))) as events:
        first = await anext(events)
    assert not isinstance(first, Failed)
    assert done_of(await collect(engine, ask()))


async def test_a_generator_that_was_never_read_costs_nothing(engine: Engine) -> None:
    events = engine.generate(ask())
    await events.aclose()
    assert done_of(await collect(engine, ask()))


async def test_a_cancelled_reader_stays_cancelled(engine: Engine) -> None:
    task = await _begin(ask("Count to a hundred."), engine)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert done_of(await collect(engine, ask()))


async def test_a_prompt_that_does_not_fit_fails_with_both_numbers(engine: Engine) -> None:
    for asked in (ask("river " * 4000), ask(max_context_tokens=50)):
        failure = failure_of(await collect(engine, asked))
        assert failure.code == "too_long"
        assert not failure.retryable
        found = re.search(r"take (\d+) tokens, but the model holds (\d+)", failure.what)
        assert found
        assert int(found[1]) >= int(found[2])
    assert done_of(await collect(engine, ask()))


@pytest.mark.parametrize("thinking", list(Thinking))
async def test_either_thinking_flag_is_fine_with_any_model(
    engine: Engine, thinking: Thinking
) -> None:
    assert done_of(await collect(engine, ask(thinking=thinking)))


async def test_a_thinking_budget_ends_the_thinking_and_not_the_answer(engine: Engine) -> None:
    asked = ask(thinking=Thinking.ON, sampling=Sampling(max_tokens=24))
    events = await collect(engine, replace(asked, thinking_budget=2))
    thoughts = [event for event in events if isinstance(event, ThinkingDelta)]
    assert len(thoughts) <= 2
    assert text_of(events)
    assert done_of(events)


async def test_log_probabilities_are_given_for_every_token(engine: Engine) -> None:
    events = await collect(engine, replace(ask(), logprobs=3))
    tokens = tokens_of(events)
    assert len(tokens) == usage_of(events).completion_tokens
    for token in tokens:
        assert token.logprob <= 0
        assert 1 <= len(token.top) <= 3
        assert token.top[0] == (token.text, token.logprob)  # greedy
        assert [logprob for _, logprob in token.top] == sorted(
            (logprob for _, logprob in token.top), reverse=True
        )
    assert tokens_of(await collect(engine, ask())) == []


async def test_several_answers_to_one_prompt_come_numbered(engine: Engine) -> None:
    sampling = Sampling(temperature=1.0, seed=7, max_tokens=8)
    events = await collect(engine, replace(ask(sampling=sampling), samples=AT_ONCE))
    *answers, usage, done = events
    assert isinstance(usage, Usage)
    assert isinstance(done, Done)
    assert all(isinstance(event, Sampled) for event in answers)
    numbered = [event for event in answers if isinstance(event, Sampled)]
    for sample in range(1, AT_ONCE + 1):
        mine = [event.event for event in numbered if event.sample == sample]
        assert [event for event in mine if isinstance(event, Done | Failed)] == mine[-1:]
        assert any(isinstance(event, TextDelta) for event in mine)
    assert {event.sample for event in numbered} == set(range(1, AT_ONCE + 1))
    assert AT_ONCE <= usage.completion_tokens <= AT_ONCE * 8


async def test_where_no_call_may_be_written_none_is(engine: Engine) -> None:
    asked = ask("Go to the garden.", tools=(PLACES,), sampling=Sampling(max_tokens=40))
    events = await collect(engine, replace(asked, tool_choice=ToolChoice.NONE))
    assert not any(isinstance(event, ToolCallEvent) for event in events)
    assert done_of(events).reason in {FinishReason.STOP, FinishReason.LENGTH}


async def test_where_a_call_must_be_written_one_is(engine: Engine) -> None:
    asked = ask("What is seven times eight?", tools=(PLACES,), sampling=Sampling(max_tokens=80))
    events = await collect(engine, replace(asked, tool_choice=ToolChoice.REQUIRED))
    calls = [event.call for event in events if isinstance(event, ToolCallEvent)]
    assert calls
    for call in calls:
        assert call.name == PLACES.name
        assert call.arguments["room"] in {"kitchen", "garden"}
    assert done_of(events).reason in {FinishReason.TOOL_CALLS, FinishReason.LENGTH}


# Several requests


async def test_each_of_several_gets_the_answer_that_it_would_get_alone(engine: Engine) -> None:
    words = [f"Tell me about {name} in a sentence." for name in ("Paris", "rain", "chess")]
    asked = [replace(ask(each, sampling=Sampling(max_tokens=16)), logprobs=2) for each in words]
    alone = [await collect(engine, each) for each in asked]
    async with asyncio.timeout(BOUND_S):
        together = await asyncio.gather(*(collect(engine, each) for each in asked))
    for one, other in zip(alone, together, strict=True):
        assert agree(one, other)
        assert usage_of(one).prompt_tokens == usage_of(other).prompt_tokens


async def test_another_is_served_while_one_is_being_written(engine: Engine) -> None:
    async with running(engine, _hold()) as first:
        assert not isinstance(first, Failed)
        assert done_of(await collect(engine, ask(sampling=SHORT)))


async def test_one_that_is_cancelled_disturbs_no_other(engine: Engine) -> None:
    asked = replace(ask("Name three rivers.", sampling=Sampling(max_tokens=16)), logprobs=2)
    alone = await collect(engine, asked)
    async with running(engine, _hold()):
        other = await _begin(asked, engine)
    assert agree(alone, await other)


async def test_more_than_can_run_wait_and_are_served(engine: Engine) -> None:
    async with asyncio.timeout(BOUND_S):
        served = await asyncio.gather(
            *(collect(engine, ask(f"Word {n}", sampling=SHORT)) for n in range(AT_ONCE + MAY_WAIT))
        )
    assert all(done_of(events) for events in served)


async def test_a_full_queue_says_when_to_ask_again(engine: Engine) -> None:
    async with AsyncExitStack() as stack:
        await _full(engine, stack)
        waiting = [await _begin(ask(sampling=SHORT), engine) for _ in range(MAY_WAIT)]
        failure = failure_of(await collect(engine, ask()))
        assert failure.code == "overloaded"
        assert failure.retryable
        assert failure.retry_after_ms > 0
        assert failure.hint
    async with asyncio.timeout(BOUND_S):
        assert all(done_of(events) for events in await asyncio.gather(*waiting))


async def test_jobs_wait_behind_persons(engine: Engine) -> None:
    order: list[str] = []

    async def read(name: str, priority: Priority) -> None:
        await collect(engine, ask(name, priority=priority, sampling=SHORT))
        order.append(name)

    async with AsyncExitStack() as stack:
        async with running(engine, _hold()):
            for _ in range(AT_ONCE - 1):
                await stack.enter_async_context(running(engine, _hold()))
            job = asyncio.create_task(read("job", Priority.JOB))
            await asyncio.sleep(0)
            person = asyncio.create_task(read("person", Priority.INTERACTIVE))
            await asyncio.sleep(0)
        async with asyncio.timeout(BOUND_S):
            await person
    async with asyncio.timeout(BOUND_S):
        await job
    assert order == ["person", "job"]


async def test_a_deadline_counts_while_it_waits(engine: Engine) -> None:
    async with AsyncExitStack() as stack:
        await _full(engine, stack)
        failure = failure_of(await collect(engine, ask(deadline_ms=60)))
    assert failure.code == "unavailable"
    assert "60 ms" in failure.what
    assert failure.retryable
    assert done_of(await collect(engine, ask()))


async def test_it_says_how_busy_it_is(engine: Engine) -> None:
    busy = EngineState()
    async with asyncio.timeout(BOUND_S), aclosing(engine.generate(_hold())) as events:
        async for _ in events:
            busy = engine.state
            if (busy.running, busy.waiting) == (1, 0):  # it was last heard a moment ago
                break
    assert (busy.running, busy.waiting) == (1, 0)


# Prefixes, scores, vectors


async def test_a_warm_prefix_is_not_computed_again(engine: Engine) -> None:
    warmed = await engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    assert warmed.tokens > 50
    assert await engine.warm([SYSTEM], TOOLS, Thinking.OFF) == warmed
    assert re.fullmatch(r"[0-9a-f]{64}", warmed.sha256)
    for words in ("Good morning", "Good evening"):
        usage = usage_of(await collect(engine, ask(words, tools=TOOLS)))
        assert usage.cached_tokens == warmed.tokens
        assert usage.prompt_tokens > warmed.tokens


async def test_every_tool_gets_a_score(engine: Engine) -> None:
    asked = ScoreRequest((SYSTEM, user("Set a timer for ten minutes.")), (*TOOLS, PLACES))
    async with asyncio.timeout(BOUND_S):
        scores = await engine.score(asked)
    logprobs = [score.logprob for score in scores.names]
    assert {score.name for score in scores.names} == {"set_timer", "go_to"}
    assert logprobs == sorted(logprobs, reverse=True)
    assert sum(math.exp(score.logprob) for score in scores.names if score.exact) <= 1.001
    assert scores.call_logprob <= 0
    assert scores.prompt_tokens > scores.cached_tokens >= 0


async def test_a_score_needs_tools_and_room(engine: Engine) -> None:
    with pytest.raises(UsageError):
        await engine.score(ScoreRequest((user("Hello"),), ()))
    with pytest.raises(TooLongError):
        await engine.score(ScoreRequest((user("river " * 4000),), TOOLS))
    assert done_of(await collect(engine, ask(sampling=SHORT)))


async def test_vectors_have_length_one_and_depend_on_the_text_alone(engine: Engine) -> None:
    async with asyncio.timeout(BOUND_S):
        one, other, again = await engine.embed(["a red boat", "tax return", "a red boat"])
        alone = await engine.embed(["a red boat"])
    assert len(one) == len(other) > 1
    assert one == pytest.approx(again, abs=1e-3)
    assert alone[0] == pytest.approx(one, abs=1e-3)
    assert one != other
    for vector in (one, other):
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-3)
    assert await engine.embed([]) == ()


async def test_a_text_that_does_not_fit_is_refused(engine: Engine) -> None:
    with pytest.raises(TooLongError):
        await engine.embed(["river " * 4000])


# The end


@pytest.mark.parametrize("kind", _KINDS)
async def test_a_closed_engine_stays_closed(kind: str, request: pytest.FixtureRequest) -> None:
    opened = await _open(kind, request)
    await opened.close()
    await opened.close()
    failure = failure_of(await collect(opened, ask()))
    assert failure.code == "unavailable"
    with pytest.raises(UnavailableError, match="closed"):
        await opened.warm([SYSTEM], TOOLS, Thinking.OFF)
    with pytest.raises(UnavailableError, match="closed"):
        await opened.score(ScoreRequest((user("Hello"),), TOOLS))
    with pytest.raises(UnavailableError, match="closed"):
        await opened.embed(["Hello"])
    assert opened.state.running == 0
