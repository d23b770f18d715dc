"""Whatever goes wrong at a server is one of our errors, and costs neither memory nor time."""

from __future__ import annotations

import asyncio
import dataclasses
import gzip
import json
import ssl
import tracemalloc
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from homing_core.errors import IntegrityError, UnavailableError
from homing_core.generation import Failed, FinishReason, Sampling, TextDelta
from homing_inference.upstream.engine import UpstreamEngine
from homing_inference.upstream.server import UpstreamServer
from support.certs import Recipe
from support.engines import TOOLS, ask, collect, done_of, failure_of, text_of, usage_of
from support.openai_server import (
    STREAM_HEAD,
    FakeOpenAI,
    Reply,
    answer,
    call,
    event,
    finish,
    models,
    raw,
    role,
    sse,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Connect = Callable[..., Awaitable[UpstreamEngine]]

_PROMPT = "My most private question"
_LLAMA_TOO_LONG = {
    "error": {
        "code": 400,
        "message": "request (5030 tokens) exceeds the available context size (2048 tokens)",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 5030,
        "n_ctx": 2048,
    }
}
_OPENAI_TOO_LONG = {
    "error": {
        "message": "This model's maximum context length is 2048 tokens. However, you requested "
        "5033 tokens (5030 in the messages, 3 in the completion).",
        "code": "context_length_exceeded",
    }
}
_VLLM_TOO_LONG = {
    "object": "error",
    "message": "You passed 1193 input tokens and requested 7000 output tokens. However, the "
    "model's context length is only 1192 tokens. (parameter=input_tokens, value=1193)",
    "code": 400,
}


def _refusal(status: int, message: str = _PROMPT, **headers: str) -> Reply:
    return answer({"error": {"message": message, "type": "x"}}, status, **headers)


@pytest.mark.parametrize(
    ("reply", "code", "retryable"),
    [
        (_refusal(400), "invalid_data", False),
        (_refusal(401), "refused", False),
        (_refusal(403), "refused", False),
        (_refusal(404), "not_found", False),
        (_refusal(408), "unavailable", True),
        (_refusal(422), "invalid_data", False),
        (_refusal(429), "overloaded", True),
        (_refusal(500), "unavailable", True),
        (_refusal(501), "usage", False),
        (_refusal(503), "unavailable", True),
        (_refusal(529), "unavailable", True),
        (_refusal(503, retry_after="3"), "overloaded", True),
        (raw(b"<html>Bad gateway", 502, content_type="text/html"), "unavailable", True),
        (raw(b"", 500), "unavailable", True),
        (answer(_LLAMA_TOO_LONG, 400), "too_long", False),
        (answer(_OPENAI_TOO_LONG, 400), "too_long", False),
        (answer(_VLLM_TOO_LONG, 400), "too_long", False),
        (_refusal(500, "Requested tokens (5030) exceed context window of 2048"), "too_long", False),
        (_refusal(400, "the prompt is too long"), "too_long", False),
        (sse({"error": {"message": _PROMPT, "code": 500}}), "unavailable", True),
        (sse({"error": _PROMPT}), "unavailable", True),
        (sse(_OPENAI_TOO_LONG), "too_long", False),
        (sse(b"data: hello\n\n"), "invalid_data", False),
        (sse(b"data: {\n\n"), "invalid_data", False),
        (sse(b"data: " + b"[" * 100_000 + b"\n\n"), "invalid_data", False),
        (raw(b"hello", content_type="text/html"), "invalid_data", False),
        (raw(b"hello"), "invalid_data", False),
        (raw(b"\xff\xfe", content_type="application/json"), "invalid_data", False),
        (Reply((b"SSH-2.0-OpenSSH_9.2\r\n\r\n",)), "invalid_data", False),
        (Reply(()), "unavailable", True),
        (Reply((b"HTTP/1.1 200 OK\r\n",)), "unavailable", True),
    ],
)  # fmt: skip
async def test_each_failure_has_its_error(
    server: FakeOpenAI, connect: Connect, reply: Reply, code: str, *, retryable: bool
) -> None:
    server.always(reply)
    events = await collect(await connect(), ask(_PROMPT))
    failure = failure_of(events)
    assert (failure.code, failure.retryable) == (code, retryable), failure
    assert failure.hint
    assert _PROMPT not in str(failure)
    assert "Traceback" not in str(failure)


@pytest.mark.parametrize("said", [_LLAMA_TOO_LONG, _OPENAI_TOO_LONG])
async def test_too_long_is_said_with_both_numbers(
    server: FakeOpenAI, connect: Connect, said: dict[str, Any]
) -> None:
    server.chat(answer(said, 400))
    failure = failure_of(await collect(await connect(), ask()))
    assert "would take 5030 tokens, but the model holds 2048" in failure.what


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7000, 7000),
        ("1.5", 1500, 1500),
        ("999999999", 3_600_000, 3_600_000),
        ("soon", 0, 0),
        ("9" * 500, 0, 0),
    ],
)
async def test_when_to_try_again_is_passed_on(
    server: FakeOpenAI, connect: Connect, header: str, least: int, most: int
) -> None:
    server.chat(_refusal(429, retry_after=header))
    failure = failure_of(await collect(await connect(), ask()))
    assert least <= failure.retry_after_ms <= most


@pytest.mark.parametrize("left", [-60, 600])
async def test_when_to_try_again_may_be_a_date(
    server: FakeOpenAI, connect: Connect, left: int
) -> None:
    engine = await connect()
    when = datetime.now(UTC) + timedelta(seconds=left)
    server.chat(_refusal(429, retry_after=format_datetime(when, usegmt=True)))
    failure = failure_of(await collect(engine, ask()))
    assert max(0, left - 300) * 1000 <= failure.retry_after_ms <= max(0, left) * 1000


async def test_what_is_refused_is_left_out_and_not_sent_again(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.chat(
        _refusal(400, "Unrecognized request argument supplied: chat_template_kwargs"),
        _refusal(422, "body.stream_options: extra fields not permitted"),
        sse(text("Hi"), finish("stop")),
        sse(text("Again"), finish("stop")),
    )
    engine = await connect()
    assert text_of(await collect(engine, ask())) == "Hi"
    assert text_of(await collect(engine, ask())) == "Again"
    first, second, third, fourth = server.chats
    assert {"chat_template_kwargs", "stream_options"} <= first.keys()
    assert "chat_template_kwargs" not in second
    assert "stream_options" not in third
    assert "chat_template_kwargs" not in fourth


async def test_other_words_for_the_same_field(server: FakeOpenAI, connect: Connect) -> None:
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server.chat(_refusal(400, said), sse(text("Hi"), finish("stop")))
    assert text_of(await collect(await connect(), ask())) == "Hi"
    assert server.chats[1]["max_completion_tokens"] == 12
    assert "max_tokens" not in server.chats[1]


async def test_a_server_without_a_parser_of_calls_gets_the_tools_all_the_same(
    server: FakeOpenAI, connect: Connect
) -> None:
    said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    written = '<tool_call>\n{"name": "set_timer", "arguments": {"minutes": 5}}\n</tool_call>'
    server.chat(_refusal(400, said), sse(text(written), finish("stop")))
    events = await collect(await connect(), ask(tools=TOOLS))
    assert server.chats[1]["tool_choice"] == "none"
    assert server.chats[1]["tools"]
    assert done_of(events).reason is FinishReason.TOOL_CALLS


async def test_an_answer_is_shortened_where_it_alone_does_not_fit(
    server: FakeOpenAI, connect: Connect
) -> None:
    said = (
        "This model's maximum context length is 4096 tokens. However, you requested 4596 tokens "
        "(3596 in the messages, 1000 in the completion)."
    )
    server.chat(_refusal(400, said), sse(text("Hi"), finish("stop")))
    asked = ask(sampling=Sampling(max_tokens=1000))
    assert text_of(await collect(await connect(), asked)) == "Hi"
    assert server.chats[1]["max_tokens"] == 500


async def test_a_server_that_refuses_everything_comes_to_an_end(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.always(_refusal(400, "top_k seed n logprobs chat_template_kwargs stream_options"))
    assert failure_of(await collect(await connect(), ask())).code == "invalid_data"
    assert len(server.chats) < 10


async def test_an_empty_stream_is_asked_why(server: FakeOpenAI, connect: Connect) -> None:
    """llama-cpp-python so answers a prompt that is too long."""
    server.chat(sse(role(), done=False), answer(_OPENAI_TOO_LONG, 400))
    assert failure_of(await collect(await connect(), ask())).code == "too_long"
    server.chat(sse(done=False), answer({"choices": []}))
    failure = failure_of(await collect(await connect(), ask()))
    assert (failure.code, failure.retryable) == ("unavailable", True)


async def test_a_kept_connection_that_was_closed_meanwhile_is_no_failure(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.chat(Reply(()), sse(text("Hi"), finish("stop")))
    assert text_of(await collect(await connect(), ask())) == "Hi"


@pytest.mark.parametrize("wrapped", [True, False])
async def test_a_stream_that_breaks_off_gives_what_it_had(
    server: FakeOpenAI, connect: Connect, *, wrapped: bool
) -> None:
    head = STREAM_HEAD.replace(b"Connection: close", b"Transfer-Encoding: chunked")
    piece = event(text("Half an ans"))
    chunk = b"%x\r\n%s\r\n" % (len(piece), piece)
    server.chat(Reply((head, chunk)) if wrapped else sse(text("Half an ans"), done=False))
    events = await collect(await connect(), ask())
    failure = failure_of(events)
    assert (failure.code, failure.retryable) == ("unavailable", True)
    assert "broke off" in failure.what
    assert text_of(events) == "Half an ans"
    assert usage_of(events).completion_tokens == 1


async def test_silence_ends_an_answer(server: FakeOpenAI, connect: Connect) -> None:
    engine = await connect(silence_s=0.2, first_token_s=0.5)
    for reply in (
        sse(text("Hm"), hangs=True, done=False),
        sse(hangs=True, done=False),
        Reply((), hangs=True),
        Reply((b"HTTP/1.1 200 OK\r\nX: y",), hangs=True),
        sse(text("Hm"), b"data: ", hangs=True, done=False),
    ):
        server.gone.clear()
        server.chat(reply)
        failure = failure_of(await collect(engine, ask()))
        assert (failure.code, failure.retryable) == ("unavailable", True)
        assert "did not" in failure.what
        async with asyncio.timeout(5):
            await server.gone.wait()


@pytest.mark.attack
async def test_a_drip_of_comments_does_not_count_as_an_answer(
    server: FakeOpenAI, connect: Connect
) -> None:
    drip = [b": ping\n\n"] * 2000
    server.chat(sse(*drip, done=False, hangs=True))
    failure = failure_of(await collect(await connect(first_token_s=0.5), ask()))
    assert "did not" in failure.what


@pytest.mark.attack
async def test_empty_pieces_without_end_come_to_an_end(
    server: FakeOpenAI, connect: Connect
) -> None:
    many = event(text("")) * 1000
    server.chat(sse(*[many] * 11, hangs=True, done=False))
    assert failure_of(await collect(await connect(), ask())).code == "unavailable"


@pytest.mark.attack
async def test_a_server_that_does_not_stop_is_left(server: FakeOpenAI, connect: Connect) -> None:
    server.chat(sse(*[event(text("on ")) * 100] * 50, hangs=True, done=False))
    events = await collect(await connect(), ask())
    assert done_of(events).reason is FinishReason.LENGTH
    async with asyncio.timeout(5):
        await server.gone.wait()


def _bomb() -> Reply:
    packed = gzip.compress(b"data: " + b"a" * (64 << 20), 1)
    return raw(packed, content_type="text/event-stream", content_encoding="gzip")


def _packed_json() -> Reply:
    packed = gzip.compress(b'"' + b"a" * (64 << 20), 1)
    return raw(packed, content_type="application/json", content_encoding="gzip")


@pytest.mark.attack
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (_bomb(), "invalid_data"),
        (_packed_json(), "invalid_data"),
        (sse(b"data: " + b"a" * (3 << 20)), "invalid_data"),
        (sse((b"data: " + b"x" * 990 + b"\n") * 1500), "invalid_data"),
        (Reply((b"HTTP/1.1 200 OK\r\n", *[b"X: " + b"a" * 999 + b"\r\n"] * 500)), "invalid_data"),
        (Reply((b"HTTP/1.1 200 OK\r\nX: " + b"a" * 500_000,)), "invalid_data"),
        (raw(b"x" * (40 << 20), content_type="application/json"), "invalid_data"),
        (raw(b"x" * (1 << 20), 500, content_type="application/json"), "unavailable"),
    ],
)  # fmt: skip
async def test_no_answer_is_too_large_for_us(
    server: FakeOpenAI, connect: Connect, reply: Reply, code: str
) -> None:
    engine = await connect()
    server.always(reply)
    tracemalloc.start()
    try:
        failure = failure_of(await collect(engine, ask()))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert failure.code == code
    assert most < 128 << 20


@pytest.mark.attack
async def test_calls_without_end_are_refused(server: FakeOpenAI, connect: Connect) -> None:
    engine = await connect()
    asked = ask(tools=TOOLS, sampling=Sampling(max_tokens=4000))
    for pieces in (
        [call("a" * 100_000, "f", "x")] * 3,
        [call("{}", "f", f"id{number}") for number in range(65)],
        [call("", "f" * 200, "x"), call("", "g" * 200, "x")],
    ):
        server.chat(sse(*pieces, finish("tool_calls")))
        assert failure_of(await collect(engine, asked)).code == "invalid_data"


@pytest.mark.attack
async def test_a_redirect_is_not_followed_with_the_prompt(
    server: FakeOpenAI, connect: Connect, secret: str
) -> None:
    async with FakeOpenAI() as other:
        engine = await connect(api_key=secret)
        for status in (301, 302, 303, 307, 308):
            server.chat(raw(b"", status, location=f"{other.url}/v1/chat/completions"))
            failure = failure_of(await collect(engine, ask(_PROMPT)))
            assert failure.code == "config"
            assert "elsewhere" in failure.what
        assert other.asked == []


@pytest.mark.attack
async def test_no_proxy_of_the_environment_sees_a_prompt(
    server: FakeOpenAI, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeOpenAI() as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        server.chat(sse(text("Hi"), finish("stop")))
        assert text_of(await collect(await connect(), ask(_PROMPT))) == "Hi"
        assert proxy.asked == []


async def test_a_host_that_no_one_knows_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await UpstreamEngine.connect(UpstreamServer("http://nowhere.invalid.local:9", connect_s=5))


@pytest.mark.attack
async def test_a_certificate_that_nobody_signed_is_not_trusted(tmp_path: Path, secret: str) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = Recipe(key, "localhost").make()
    pem = tmp_path / "pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    async with FakeOpenAI(context) as server:
        with pytest.raises(IntegrityError, match="not trusted"):
            await UpstreamEngine.connect(UpstreamServer(server.url, api_key=secret))
        assert server.asked == []


async def test_a_server_that_speaks_no_tls_is_unavailable(server: FakeOpenAI) -> None:
    url = server.url.replace("http", "https")
    with pytest.raises(UnavailableError, match=r"encrypted|reached"):
        await UpstreamEngine.connect(UpstreamServer(url, connect_s=0.5))


async def test_closing_the_generator_hangs_up_at_once(server: FakeOpenAI, connect: Connect) -> None:
    server.chat(sse(text("One two"), hangs=True, done=False))
    engine = await connect()
    async with asyncio.timeout(5):
        async with aclosing(engine.generate(ask())) as events:
            assert isinstance(await anext(events), TextDelta)
        await server.gone.wait()
    assert engine.state.running == 0


async def test_a_cancelled_reader_hangs_up_and_stays_cancelled(
    server: FakeOpenAI, connect: Connect
) -> None:
    begun = asyncio.Event()

    def reply(_body: dict[str, Any]) -> Reply:
        begun.set()
        return sse(text("One two"), hangs=True, done=False)

    server.chat(reply)
    engine = await connect()
    reading = asyncio.create_task(collect(engine, ask()))
    async with asyncio.timeout(5):
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await server.gone.wait()


async def test_a_deadline_ends_with_what_came_before_it(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.chat(sse(text("One two"), hangs=True, done=False))
    events = await collect(await connect(), ask(deadline_ms=300))
    failure = failure_of(events)
    assert failure.what == "the answer was not complete after 300 ms"
    assert failure.retryable
    assert text_of(events) == "One two"
    assert usage_of(events)


async def test_closing_the_engine_ends_what_is_in_flight(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.always(sse(text("One two"), hangs=True, done=False))
    engine = await connect(max_sequences=1)
    asked = [dataclasses.replace(ask()) for _ in range(2)]
    async with asyncio.timeout(5), aclosing(engine.generate(asked[0])) as events:
        await anext(events)
        waiting = asyncio.create_task(collect(engine, asked[1]))
        await asyncio.sleep(0)
        await engine.close()
        rest = [event async for event in events]
        last = [rest[-1], (await waiting)[-1]]
    for failure in last:
        assert isinstance(failure, Failed)
        assert failure.what == "the engine was closed"


async def test_garbage_about_itself_does_not_stop_a_server_from_serving(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.paths |= {
        "GET /v1/models": models("small", owner="llamacpp", meta=[1], max_model_len="long"),
        "GET /health": raw(b"fine"),
        "GET /props": answer({"chat_template": "{% for %}", "total_slots": -3, "n_ctx": {}}),
    }
    engine = await connect()
    server.chat(sse(text("Hi"), finish("stop")))
    assert text_of(await collect(engine, ask())) == "Hi"
    server.paths["GET /props"] = raw(json.dumps([0] * 10).encode())
    assert (await connect()).info.context_tokens
