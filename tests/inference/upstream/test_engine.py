"""What every engine keeps to, over a server that behaves; and what is this one's own."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
import re
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest
from homing_core.errors import (
    InvalidDataError,
    OverloadedError,
    TooLongError,
    UnavailableError,
    UsageError,
)
from homing_core.generation import Done, Failed, FinishReason, Priority, Sampling, Thinking
from homing_core.messages import user
from homing_core.scoring import ScoreRequest
from homing_inference.upstream.gate import Gate
from support.engines import (
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
from support.openai_server import FakeOpenAI, Reply, answer, finish, models, raw, sse, text, usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_inference.upstream.engine import UpstreamEngine

    Connect = Callable[..., Awaitable[UpstreamEngine]]

_WORDS = ("The ", "capital ", "of ", "France ", "is ", "Paris", ".")
_CONTEXT = 2048


def _tokens(body: dict[str, Any]) -> int:
    return len(json.dumps([body["messages"], body.get("tools")])) // 4


def _behaves(body: dict[str, Any]) -> Reply:
    """As vLLM answers: it counts, and it refuses what is too long."""
    prompt = _tokens(body)
    if prompt >= _CONTEXT:
        said = f"This model's maximum context length is {_CONTEXT} tokens. However, your request "
        said += f"has {prompt} input tokens."
        return answer({"object": "error", "message": said, "code": 400}, 400)
    counts = {"prompt_tokens": prompt, "completion_tokens": 7}
    if not body.get("stream"):
        choice = {"index": 0, "message": {"content": "T"}, "finish_reason": "length"}
        return answer({"choices": [choice], "usage": counts})
    return sse(*map(text, _WORDS), finish("stop"), usage(prompt, 7))


@pytest.fixture
def behaving(server: FakeOpenAI) -> FakeOpenAI:
    """The fake server as vLLM."""
    server.paths |= {
        "GET /v1/models": models("small", owner="vllm", max_model_len=_CONTEXT),
        "GET /health": raw(b""),
        "POST /tokenize": lambda body: answer({"count": _tokens(body)}),
    }
    server.always(_behaves)
    return server


@pytest.mark.usefixtures("behaving")
async def test_it_says_what_it_serves(connect: Connect) -> None:
    info = (await connect()).info
    assert (info.model, info.context_tokens) == ("small", _CONTEXT)
    assert info.quantization
    assert info.chat_format in {"qwen35-xml", "hermes-json", "plain"}


@pytest.mark.usefixtures("behaving")
async def test_a_generation_ends_once_and_says_what_it_took(connect: Connect) -> None:
    events = await collect(await connect(), ask())
    assert [event for event in events if isinstance(event, Done | Failed)] == events[-1:]
    assert done_of(events).reason is FinishReason.STOP
    usage_ = usage_of(events)
    assert events[-2] == usage_
    assert text_of(events) == "".join(_WORDS)
    assert usage_.prompt_tokens > usage_.cached_tokens >= 0
    assert usage_.completion_tokens == 7


@pytest.mark.usefixtures("behaving")
async def test_the_same_request_gets_the_same_answer(connect: Connect) -> None:
    engine = await connect()
    assert substance(await collect(engine, ask())) == substance(await collect(engine, ask()))


@pytest.mark.usefixtures("behaving")
async def test_a_generator_that_was_never_read_costs_nothing(connect: Connect) -> None:
    engine = await connect()
    await engine.generate(ask()).aclose()
    assert done_of(await collect(engine, ask()))


@pytest.mark.usefixtures("behaving")
async def test_a_prompt_that_does_not_fit_fails_with_both_numbers(connect: Connect) -> None:
    engine = await connect()
    for asked in (ask("river " * 4000), ask(max_context_tokens=50)):
        failure = failure_of(await collect(engine, asked))
        assert (failure.code, failure.retryable) == ("too_long", False)
        found = re.search(r"take (\d+) tokens, but the model holds (\d+)", failure.what)
        assert found
        assert int(found[1]) >= int(found[2])
    assert done_of(await collect(engine, ask()))


@pytest.mark.usefixtures("behaving")
async def test_a_closed_engine_stays_closed(connect: Connect) -> None:
    engine = await connect()
    await engine.close()
    await engine.close()
    assert failure_of(await collect(engine, ask())).code == "unavailable"
    with pytest.raises(UnavailableError, match="closed"):
        await engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    with pytest.raises(UnavailableError, match="closed"):
        await engine.embed(["x"])


async def test_one_id_is_one_generation(server: FakeOpenAI, connect: Connect) -> None:
    server.always(sse(text("One two"), hangs=True, done=False))
    engine = await connect()
    asked = ask()
    async with asyncio.timeout(5), aclosing(engine.generate(asked)) as events:
        await anext(events)
        assert failure_of(await collect(engine, asked)).code == "conflict"
    server.always(_behaves)
    assert done_of(await collect(engine, asked))


async def test_the_answer_is_kept_to_the_room_that_was_given(
    behaving: FakeOpenAI, connect: Connect
) -> None:
    prompt = usage_of(await collect(await connect(), ask())).prompt_tokens
    asked = ask(max_context_tokens=prompt + 5)
    assert done_of(await collect(await connect(), asked))
    assert behaving.chats[-1]["max_tokens"] == 5
    engine = await connect(context_tokens=prompt + 9)
    assert done_of(await collect(engine, ask()))
    assert behaving.chats[-1]["max_tokens"] == 9


async def test_llama_server_counts_what_its_template_makes_of_it(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.paths |= {
        "GET /v1/models": models("small", owner="llamacpp", meta={"n_ctx": 2048}),
        "GET /health": answer({"status": "ok"}),
        "POST /apply-template": answer({"prompt": "<|im_start|>user\nHi"}),
        "POST /tokenize": lambda body: answer({"tokens": list(range(len(body["content"])))}),
    }
    server.always(_behaves)
    assert done_of(await collect(await connect(), ask(max_context_tokens=30)))
    assert server.chats[-1]["max_tokens"] == 11


async def test_ollama_does_not_get_a_prompt_that_it_would_cut(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.paths["GET /v1/models"] = models("small", owner="library")
    server.always(_behaves)
    failure = failure_of(await collect(await connect(), ask("river " * 4000)))
    assert failure.code == "too_long"
    assert server.chats == []


async def test_no_more_is_sent_than_the_server_takes_and_interactive_comes_first(
    server: FakeOpenAI, connect: Connect
) -> None:
    opened = asyncio.Event()
    order: list[str] = []

    def reply(body: dict[str, Any]) -> Reply:
        order.append(body["messages"][-1]["content"])
        return sse(opened, text("Hi"), finish("stop"))

    server.always(reply)
    engine = await connect(max_sequences=1)
    assert engine.info.max_sequences == 1
    asked = [ask("first"), ask("job", priority=Priority.JOB), ask("interactive")]
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        for one in asked:
            group.create_task(collect(engine, one))
            await asyncio.sleep(0)  # it runs up to where it waits
        assert (engine.state.running, engine.state.waiting) == (1, 2)
        opened.set()
    assert order == ["first", "interactive", "job"]
    assert server.most_at_work == 1


async def test_a_deadline_counts_while_a_request_waits(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.always(sse(text("One two"), hangs=True, done=False))
    engine = await connect(max_sequences=1)
    async with asyncio.timeout(5), aclosing(engine.generate(ask())) as events:
        await anext(events)
        failure = failure_of(await collect(engine, ask(deadline_ms=100)))
        assert "not complete after 100 ms" in failure.what
        assert engine.state.waiting == 0
        assert len(server.chats) == 1


async def test_the_queue_has_an_end() -> None:
    gate = Gate(1, max_waiting=1)
    await gate.enter(Priority.JOB)
    waiting = asyncio.create_task(gate.enter(Priority.JOB))
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError) as caught:
        await gate.enter(Priority.INTERACTIVE)
    assert caught.value.retry_after_ms > 0
    gate.leave()
    await waiting
    gate.leave()
    assert (gate.running, gate.waiting) == (0, 0)


async def test_a_place_is_not_lost_when_its_turn_comes_as_it_is_cancelled() -> None:
    gate = Gate(1)
    await gate.enter(Priority.JOB)
    waiting = asyncio.create_task(gate.enter(Priority.JOB))
    await asyncio.sleep(0)
    gate.leave()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    async with asyncio.timeout(1):
        await gate.enter(Priority.JOB)


async def test_warming_lets_the_server_compute_the_prefix(
    behaving: FakeOpenAI, connect: Connect
) -> None:
    engine = await connect()
    warmed = await engine.warm([SYSTEM, user("Hello")], TOOLS, Thinking.OFF)
    assert warmed.tokens > 50
    assert re.fullmatch(r"[0-9a-f]{64}", warmed.sha256)
    assert await engine.warm([SYSTEM], TOOLS, Thinking.OFF) == warmed
    assert (await engine.warm([SYSTEM], (), Thinking.OFF)).sha256 != warmed.sha256
    assert warmed in engine.state.warm
    assert behaving.chats[0]["max_tokens"] == 1
    assert "Hello" not in json.dumps(behaving.chats)


async def test_warming_says_what_went_wrong(server: FakeOpenAI, connect: Connect) -> None:
    engine = await connect()
    long = answer({"error": {"message": "exceeds the available context size"}}, 400)
    server.chat(long, answer({}, 503))
    with pytest.raises(TooLongError):
        await engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    with pytest.raises(UnavailableError):
        await engine.warm([SYSTEM], TOOLS, Thinking.OFF)
    assert engine.state.warm == ()


async def test_scoring_is_said_to_be_beyond_it(connect: Connect) -> None:
    with pytest.raises(UsageError, match="this model server cannot"):
        await (await connect()).score(ScoreRequest((user("Hi"),), TOOLS))


def _vectors(*vectors: Any) -> Reply:  # noqa: ANN401  # any JSON
    entries = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return answer({"data": entries[::-1]})


async def test_texts_become_vectors_of_length_one(server: FakeOpenAI, connect: Connect) -> None:
    server.paths["POST /v1/embeddings"] = _vectors([3.0, 4.0], [0, -2])
    engine = await connect()
    assert await engine.embed(["a", "b"]) == ((0.6, 0.8), (0.0, -1.0))
    assert server.asked[-1].body == {"model": "small", "input": ["a", "b"]}
    assert await engine.embed([]) == ()


async def test_many_texts_are_sent_in_batches(server: FakeOpenAI, connect: Connect) -> None:
    server.paths["POST /v1/embeddings"] = lambda body: _vectors(
        *[[1.0, float(word)] for word in body["input"]]
    )
    vectors = await (await connect()).embed([str(number) for number in range(70)])
    assert [round(vector[1] / vector[0]) for vector in vectors] == list(range(70))
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    "reply",
    [
        _vectors([1.0, 2.0]),
        _vectors([1.0], [1.0, 2.0]),
        _vectors([0.0, 0.0], [1.0, 0.0]),
        _vectors([], []),
        _vectors("base64", [1.0]),
        _vectors([1.0, None], [1.0, 2.0]),
        _vectors([math.nan], [1.0]),
        _vectors([1.7e308, 1.7e308], [1.0, 1.0]),
        answer({"data": [{"index": 1, "embedding": [1]}, {"index": 1, "embedding": [1]}]}),
        answer({"data": [{"index": [], "embedding": [1]}, {"index": {}, "embedding": [1]}]}),
        answer([]),
        raw(b"vectors"),
    ],
)
async def test_what_are_no_vectors_is_refused(
    server: FakeOpenAI, connect: Connect, reply: Reply
) -> None:
    server.paths["POST /v1/embeddings"] = reply
    with pytest.raises(InvalidDataError):
        await (await connect()).embed(["a", "b"])


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (404, "Not Found"),
        (501, "This server does not support embeddings. Start it with `--embeddings`"),
        (500, "Llama model must be created with embedding=True to call this method"),
        (400, "The model does not support Embeddings API"),
    ],
)
async def test_a_server_without_embeddings_says_so(
    server: FakeOpenAI, connect: Connect, status: int, said: str
) -> None:
    server.paths["POST /v1/embeddings"] = answer({"error": {"message": said}}, status)
    with pytest.raises(UsageError, match="cannot turn texts into vectors"):
        await (await connect()).embed(["a"])


async def test_speeds_are_those_of_the_last_answer(server: FakeOpenAI, connect: Connect) -> None:
    more = asyncio.Event()
    server.chat(sse(text("One"), more, text(" two"), finish("stop"), usage(100, 2, cached=20)))
    engine = await connect()
    assert engine.state.decode_tokens_per_second == 0
    async with aclosing(engine.generate(ask())) as events:
        await anext(events)
        more.set()
        rest = [event async for event in events]
    took = usage_of(rest)
    assert engine.state.decode_tokens_per_second == pytest.approx(1000 / took.decode_ms)
    assert engine.state.prefill_tokens_per_second == pytest.approx(80_000 / took.prefill_ms)


async def test_an_endless_request_is_bounded_by_the_context(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.chat(sse(text("Hi"), finish("stop")))
    asked = dataclasses.replace(ask(), sampling=Sampling(max_tokens=0))
    assert done_of(await collect(await connect(), asked))
    assert "max_tokens" not in server.chats[0]
