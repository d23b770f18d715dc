"""What every engine keeps to: the scripted one, and llama.cpp in a child with two real models."""

from __future__ import annotations

import asyncio
import re
from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from homing_core.errors import UnavailableError
from homing_core.generation import Done, Failed, FinishReason, Thinking
from homing_inference.host import ChildEngine, ModelFile
from homing_inference.testing import ScriptedEngine
from support.engines import (
    BOUND_S,
    SYSTEM,
    TOOLS,
    ask,
    collect,
    done_of,
    failure_of,
    substance,
    text_of,
    usage_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_core.generation import GenerationEvent
    from homing_inference.engine import Engine

pytestmark = pytest.mark.asyncio(loop_scope="module")

_WORDS = ("The ", "capital ", "of ", "France ", "is ", "Paris", ".")


async def _open(kind: str, fixtures: pytest.FixtureRequest) -> Engine:
    if kind == "scripted":
        engine = ScriptedEngine()
        engine.answer(*_WORDS, times=None)
        return engine
    path: Path = fixtures.getfixturevalue(kind)
    return await ChildEngine.start(ModelFile(path, kind, stand_in=True), context_tokens=2048)


_KINDS = ["scripted", "tiny_qwen35", pytest.param("stand_in_phone", marks=pytest.mark.model)]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=_KINDS)
async def engine(request: pytest.FixtureRequest) -> AsyncGenerator[Engine, None]:
    opened = await _open(request.param, request)
    yield opened
    await opened.close()


async def test_it_says_what_it_serves(engine: Engine) -> None:
    info = engine.info
    assert info.model
    assert info.quantization
    assert info.context_tokens >= 2048
    assert info.chat_format in {"qwen35-xml", "hermes-json", "plain"}


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
    task = asyncio.create_task(collect(engine, ask("Count to a hundred.")))
    await asyncio.sleep(0)
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


async def test_a_second_request_waits_for_the_first(engine: Engine) -> None:
    seen: list[tuple[str, GenerationEvent]] = []

    async def read(name: str) -> None:
        events = engine.generate(ask(f"Tell me about {name}."))
        seen.extend([(name, event) async for event in events])

    async with asyncio.timeout(BOUND_S):
        await asyncio.gather(read("one"), read("two"))
    names = [name for name, _ in seen]
    assert set(names) == {"one", "two"}
    assert names == sorted(names, key=names.index)
    assert sum(isinstance(event, Done) for _, event in seen) == 2


async def test_a_warm_prefix_is_not_computed_again(engine: Engine) -> None:
    warmed = await engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    assert warmed.tokens > 50
    assert await engine.warm([SYSTEM], TOOLS, Thinking.OFF) == warmed
    assert re.fullmatch(r"[0-9a-f]{64}", warmed.sha256)
    for words in ("Good morning", "Good evening"):
        usage = usage_of(await collect(engine, ask(words, tools=TOOLS)))
        assert usage.cached_tokens == warmed.tokens
        assert usage.prompt_tokens > warmed.tokens


@pytest.mark.parametrize("kind", _KINDS)
async def test_a_closed_engine_stays_closed(kind: str, request: pytest.FixtureRequest) -> None:
    opened = await _open(kind, request)
    await opened.close()
    await opened.close()
    failure = failure_of(await collect(opened, ask()))
    assert failure.code == "unavailable"
    with pytest.raises(UnavailableError, match="closed"):
        await opened.warm([SYSTEM], TOOLS, Thinking.OFF)
