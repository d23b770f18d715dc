"""What becomes of a server's answers."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import math
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    Sampled,
    Sampling,
    TextDelta,
    Thinking,
    ThinkingDelta,
    TokenLogprobs,
    TokenSignals,
    ToolCallEvent,
    ToolChoice,
    Usage,
)
from homing_core.messages import assistant, user
from support.engines import TOOLS, ask, collect, done_of, failure_of, text_of, usage_of
from support.openai_server import (
    DONE,
    FakeOpenAI,
    Reply,
    answer,
    call,
    delta,
    event,
    finish,
    models,
    role,
    sse,
    text,
    thought,
    usage,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent
    from homing_inference.upstream.engine import UpstreamEngine

    Connect = Callable[..., Awaitable[UpstreamEngine]]


_PLAIN_CALL: dict[str, Any] = {"name": "set_timer", "arguments": {"minutes": 5}}
_FENCED = (
    "```",
    "json",
    '\n{\n  "name": "set_',
    'timer",\n "arguments": {"minutes": 5}\n}',
    "\n```",
)
_HERMES = ("<tool_call>\n", json.dumps(_PLAIN_CALL), "\n</tool_call>")
_XML = ("<tool_call>\n<function=set_timer>\n<parameter=minutes>\n5\n</parameter>", "\n</function>")


def _ask(**changes: Any) -> GenerateRequest:  # noqa: ANN401  # fields of the request
    return dataclasses.replace(ask(), **changes)


async def _events(
    server: FakeOpenAI, connect: Connect, reply: Reply, asked: GenerateRequest | None = None
) -> list[GenerationEvent]:
    server.chat(reply)
    return await collect(await connect(), asked or ask())


def _calls(events: Sequence[GenerationEvent]) -> list[tuple[str, Any]]:
    return [
        (event.call.name, event.call.arguments)
        for event in events
        if isinstance(event, ToolCallEvent)
    ]


def _thoughts(events: Sequence[GenerationEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ThinkingDelta))


async def test_text_comes_as_it_is_written(server: FakeOpenAI, connect: Connect) -> None:
    more = asyncio.Event()
    server.chat(
        sse(role(), text("The "), more, text("Nile."), finish("stop"), usage(33, 2, cached=20))
    )
    engine = await connect()
    async with asyncio.timeout(10), aclosing(engine.generate(ask())) as events:
        assert await anext(events) == TextDelta("The")
        assert engine.state.running == 1
        more.set()
        rest = [event async for event in events]
    assert text_of(rest) == " Nile."
    assert rest[-1] == Done(FinishReason.STOP)
    counts = rest[-2]
    assert isinstance(counts, Usage)
    assert (counts.prompt_tokens, counts.cached_tokens, counts.completion_tokens) == (33, 20, 2)
    assert engine.state.running == 0
    assert engine.state.prefill_tokens_per_second > 0


async def test_a_server_that_does_not_count_gets_estimates(
    server: FakeOpenAI, connect: Connect
) -> None:
    events = await _events(server, connect, sse(text("The "), text("Nile"), finish("length")))
    assert usage_of(events).completion_tokens == 2
    assert usage_of(events).prompt_tokens > 50
    assert done_of(events).reason is FinishReason.LENGTH


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
async def test_thinking_is_told_apart(server: FakeOpenAI, connect: Connect, key: str) -> None:
    reply = sse(thought("Let me ", key=key), thought("see.", key=key), text("4"), finish("stop"))
    events = await _events(server, connect, reply, _ask(thinking=Thinking.ON))
    assert (_thoughts(events), text_of(events)) == ("Let me see.", "4")


async def test_thinking_that_was_left_in_the_text_is_told_apart(
    server: FakeOpenAI, connect: Connect
) -> None:
    reply = sse(text("<thi"), text("nk>\nHm."), text("\n</think>\n\n4"), finish("stop"))
    events = await _events(server, connect, reply)
    assert (_thoughts(events).strip(), text_of(events)) == ("Hm.", "4")


async def test_calls_are_put_together_from_their_pieces(
    server: FakeOpenAI, connect: Connect
) -> None:
    reply = sse(
        role(),
        text("At once. "),
        call("", "set_timer", "a1", 0),
        call('{"minu', None, None, 0),
        call('{"minutes": 7}', "set_timer", "b2", 1),
        call('tes": 5}', None, None, 0),
        finish("tool_calls"),
        usage(150, 30),
    )
    events = await _events(server, connect, reply, ask(tools=TOOLS))
    assert _calls(events) == [("set_timer", {"minutes": 5}), ("set_timer", {"minutes": 7})]
    assert done_of(events).reason is FinishReason.TOOL_CALLS
    assert text_of(events).strip() == "At once."
    made = [event.call.id for event in events if isinstance(event, ToolCallEvent)]
    assert all(identity.startswith("call-") for identity in made)
    assert len(set(made)) == 2


@pytest.mark.parametrize(
    "chunks",
    [
        # llama-cpp-python repeats name and id with each piece.
        (call('{"', "set_timer", "x"), call('minutes": 5}', "set_timer", "x")),
        # Ollama sends whole calls, in older versions all with the number 0.
        (call('{"minutes": 5}', "set_timer", "x"), call("{}", "other", "y")),
        # No number at all, and arguments that nobody wrote as a text.
        (delta({"tool_calls": [{"function": _PLAIN_CALL}]}),),
        # Encoded twice.
        (call(json.dumps('{"minutes": 5}'), "set_timer", "x", None),),
        (call('{"minutes": 5}', "set_"), call("", "timer")),
    ],
)  # fmt: skip
async def test_odd_calls_are_read(
    server: FakeOpenAI, connect: Connect, chunks: tuple[dict[str, Any], ...]
) -> None:
    reply = sse(*chunks, finish("stop"))
    events = await _events(server, connect, reply, ask(tools=TOOLS))
    assert _calls(events)[0] == ("set_timer", {"minutes": 5})
    assert done_of(events).reason is FinishReason.TOOL_CALLS


@pytest.mark.parametrize("written", ['{"minutes": ', "five", "[1]", '{"a":NaN}', "{" * 9000])
async def test_a_broken_call_is_text(server: FakeOpenAI, connect: Connect, written: str) -> None:
    reply = sse(call(written, "set_timer", "a"), finish("tool_calls"))
    events = await _events(server, connect, reply, ask(tools=TOOLS))
    assert _calls(events) == []
    assert written in text_of(events)
    assert "set_timer" in text_of(events)
    assert done_of(events).reason is FinishReason.STOP


async def test_a_call_that_was_cut_off_is_not_made(server: FakeOpenAI, connect: Connect) -> None:
    reply = sse(call("", "set_timer", "a"), finish("length"))
    events = await _events(server, connect, reply, ask(tools=TOOLS))
    assert _calls(events) == []
    assert done_of(events).reason is FinishReason.LENGTH


@pytest.mark.parametrize("pieces", [_FENCED, _HERMES, _XML])
async def test_calls_that_were_left_in_the_text_are_found(
    server: FakeOpenAI, connect: Connect, pieces: tuple[str, ...]
) -> None:
    reply = sse(*map(text, pieces), finish("stop"))
    events = await _events(server, connect, reply, ask(tools=TOOLS))
    assert _calls(events) == [("set_timer", {"minutes": 5})]
    assert text_of(events) == ""


async def test_no_call_is_made_where_none_may_be(server: FakeOpenAI, connect: Connect) -> None:
    reply = sse(text("<tool_call>x"), call("{}", "set_timer", "a"), finish("tool_calls"))
    for asked in (_ask(), _ask(tools=TOOLS, tool_choice=ToolChoice.NONE)):
        events = await _events(server, connect, reply, asked)
        assert _calls(events) == []
        assert "<tool_call>x" in text_of(events)
        assert "set_timer" in text_of(events)


async def test_probabilities_come_with_the_tokens(server: FakeOpenAI, connect: Connect) -> None:
    chunks = [text(word, logprob=-0.5) for word in ("The", " river")]
    chunks.append(text(" Nile", logprob=-math.inf))
    events = await _events(server, connect, sse(*chunks, finish("stop")), _ask(logprobs=2))
    listed = [event.tokens[0] for event in events if isinstance(event, TokenLogprobs)]
    assert [token.text for token in listed] == ["The", " river", " Nile"]
    assert listed[0].top == (("The", -0.5), ("One", -2.5))
    assert listed[2].logprob < -1000
    (signals,) = [event for event in events if isinstance(event, TokenSignals)]
    assert signals.tokens == 3
    assert signals.first_probability == pytest.approx(math.exp(-0.5))


async def test_probabilities_beside_tools_come_all_at_once(
    server: FakeOpenAI, connect: Connect
) -> None:
    refusal = "logprobs is not supported with tools + stream"
    message = {"role": "assistant", "content": "Hi", "tool_calls": None}
    logs: dict[str, Any] = {"content": [{"token": "Hi", "logprob": -0.25, "top_logprobs": []}]}
    choice: dict[str, Any] = {
        "finish_reason": "stop",
        "index": 0,
        "message": message,
        "logprobs": logs,
    }
    counts = {"prompt_tokens": 9, "completion_tokens": 1}
    server.chat(
        answer({"error": {"code": 400, "message": refusal}}, 400),
        answer({"choices": [choice], "object": "chat.completion", "usage": counts}),
    )
    events = await collect(await connect(), _ask(tools=TOOLS, logprobs=1))
    assert text_of(events) == "Hi"
    assert any(isinstance(event, TokenLogprobs) for event in events)
    assert usage_of(events).prompt_tokens == 9
    assert server.chats[1]["stream"] is False


async def test_several_answers_from_one_prompt(server: FakeOpenAI, connect: Connect) -> None:
    """As llama.cpp's server mixes them, with counts for each."""
    reply = sse(
        role(1), text("The", 1), role(0), text("A", 0), text(" Nile", 1), text(" river", 0),
        finish("length", 1), usage(33, 3, 32), text("!", 0), finish("stop", 0), usage(33, 3, 32),
    )  # fmt: skip
    events = await _events(server, connect, reply, _ask(samples=2))
    assert server.chats[0]["n"] == 2
    assert _sampled(events) == {1: "A river!", 2: "The Nile"}
    ends = [event for event in events if isinstance(event, Sampled)]
    reasons = {end.sample: end.event.reason for end in ends if isinstance(end.event, Done)}
    assert reasons == {1: FinishReason.STOP, 2: FinishReason.LENGTH}
    assert usage_of(events).completion_tokens == 6
    assert usage_of(events).prompt_tokens == 33
    assert done_of(events)


@pytest.mark.parametrize("refuses", [True, False])
async def test_a_server_without_several_answers_is_asked_several_times(
    server: FakeOpenAI, connect: Connect, *, refuses: bool
) -> None:
    refusal = answer({"error": {"message": "n must be 1", "type": "invalid_request_error"}}, 400)
    replies = [sse(text(word), finish("stop"), usage(30, 1)) for word in ("one", "two", "three")]
    server.chat(*([refusal] if refuses else []), *replies)
    asked = _ask(samples=3, sampling=Sampling(temperature=1, seed=5))
    events = await collect(await connect(), asked)
    assert _sampled(events) == {1: "one", 2: "two", 3: "three"}
    assert usage_of(events).completion_tokens == 3
    seeds = [body.get("seed") for body in server.chats if "n" not in body]
    assert seeds == ([5, 6, 7] if refuses else [6, 7])


def _sampled(events: Sequence[GenerationEvent]) -> dict[int, str]:
    found: dict[int, str] = {}
    for event_ in events:
        if isinstance(event_, Sampled) and isinstance(event_.event, TextDelta):
            found[event_.sample] = found.get(event_.sample, "") + event_.event.text
    return found


async def test_one_answer_may_fail_alone(server: FakeOpenAI, connect: Connect) -> None:
    reply = sse(text("x", 0), finish("content_filter", 0), text("y", 1), finish("stop", 1))
    events = await _events(server, connect, reply, _ask(samples=2))
    failed = [e for e in events if isinstance(e, Sampled) and isinstance(e.event, Failed)]
    assert [one.sample for one in failed] == [1]
    assert done_of(events)


async def test_thoughts_over_the_budget_give_way_to_an_answer(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.chat(
        sse(*[thought("hm ")] * 20, text("never read"), finish("stop")),
        sse(thought("no more"), text("It is 4."), finish("stop"), usage(40, 5)),
    )
    events = await collect(await connect(), _ask(thinking=Thinking.ON, thinking_budget=10))
    assert _thoughts(events) == "hm " * 11
    assert text_of(events) == "It is 4."
    assert server.chats[1]["chat_template_kwargs"] == {"enable_thinking": False}
    assert done_of(events).reason is FinishReason.STOP
    assert usage_of(events).completion_tokens == 16


async def test_a_model_that_cannot_stop_thinking_comes_to_an_end(
    server: FakeOpenAI, connect: Connect
) -> None:
    endless = sse(*[thought("hm ")] * 50, hangs=True)
    server.chat(endless, endless)
    events = await collect(await connect(), _ask(thinking=Thinking.ON, thinking_budget=10))
    assert done_of(events).reason is FinishReason.LENGTH
    assert len(server.chats) == 2


async def test_a_server_that_keeps_the_budget_is_left_to_it(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.paths |= {"GET /v1/models": models("small", owner="llamacpp"), "GET /health": answer({})}
    server.chat(sse(*[thought("hm ")] * 14, text("4"), finish("stop")))
    events = await collect(await connect(), _ask(thinking=Thinking.ON, thinking_budget=10))
    assert text_of(events) == "4"
    assert len(server.chats) == 1


@pytest.mark.parametrize("echo", [("1, 2, ", "3"), ("1, 2,", " 3"), ("1", ", 2, 3"), (" 3",)])
async def test_a_continued_answer_does_not_begin_anew(
    server: FakeOpenAI, connect: Connect, echo: tuple[str, ...]
) -> None:
    server.paths |= {"GET /v1/models": models("small", owner="vllm"), "GET /health": answer({})}
    asked = _ask(messages=(user("Count."), assistant("1, 2,")), continue_last=True)
    events = await _events(server, connect, sse(*map(text, echo), finish("stop")), asked)
    assert text_of(events) == " 3"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("eos", FinishReason.STOP),
        ("tool_calls", FinishReason.STOP),
    ],
)
async def test_reasons_are_read(
    server: FakeOpenAI, connect: Connect, reason: str, expected: FinishReason
) -> None:
    events = await _events(server, connect, sse(text("x"), finish(reason)))
    assert done_of(events).reason is expected


async def test_the_servers_filter_is_a_refusal(server: FakeOpenAI, connect: Connect) -> None:
    events = await _events(server, connect, sse(text("x"), finish("content_filter")))
    assert failure_of(events).code == "refused"
    assert text_of(events) == "x"


@pytest.mark.parametrize(
    "reply",
    [
        sse(text("Hi"), done=True),  # no reason, but an end
        sse(text("Hi"), finish("stop"), done=False),  # a reason, but no end
        sse(b": ping\n\n", text("Hi"), b"event: message\nid: 4\nretry: 9\n", finish("stop")),
        sse(event(text("Hi")).replace(b"\n", b"\r\n"), finish("stop")),
        sse(event(text("Hi")).replace(b"data: ", b"data:"), finish("stop")),
        sse(text("Hi"), finish("stop"), usage(3, 1), usage(3, 1), hangs=True),
        sse(text("Hi"), {"choices": [None, 3, {"delta": []}]}, {"choices": {}}, finish("stop")),
        sse(text("Hi"), {"choices": [{"index": 99, "delta": {"content": "no"}}]}, finish("stop")),
        sse(text("Hi"), {"usage": None, "error": None, "choices": []}, finish("stop")),
        answer({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}),
    ],
)
async def test_odd_streams_are_read(server: FakeOpenAI, connect: Connect, reply: Reply) -> None:
    events = await _events(server, connect, reply)
    assert text_of(events) == "Hi"
    assert done_of(events).reason is FinishReason.STOP


async def test_a_server_that_does_not_hang_up_costs_no_wait(
    server: FakeOpenAI, connect: Connect
) -> None:
    reply = sse(text("Hi"), finish("stop"), done=False, hangs=True)
    server.chat(reply)
    async with asyncio.timeout(4):
        events = await collect(await connect(silence_s=300), ask())
    assert done_of(events).reason is FinishReason.STOP


async def test_lone_surrogates_do_not_get_in(server: FakeOpenAI, connect: Connect) -> None:
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":"a\\ud800b"}}]}\n\n'
    events = await _events(server, connect, sse(chunk, finish("stop")))
    assert text_of(events) == "a\ufffdb"


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_where_the_network_cuts_does_not_matter(
    server: FakeOpenAI, connect: Connect, size: int
) -> None:
    whole = b"".join(event(text(word)) for word in ("Grüße", " 🐦", "\n")) + event(finish("stop"))
    pieces = [whole[place : place + size] for place in range(0, len(whole), size)]
    events = await _events(server, connect, sse(*pieces, DONE, done=False))
    assert text_of(events) == "Grüße 🐦\n"
