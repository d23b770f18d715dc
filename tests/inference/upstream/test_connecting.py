"""What an engine learns from a server, and what it says when that is not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from homing_core.errors import (
    ConfigError,
    HomingError,
    InvalidDataError,
    RefusedError,
    UnavailableError,
)
from homing_inference.upstream.engine import UpstreamEngine
from homing_inference.upstream.server import UpstreamServer
from support.engines import ask, collect, done_of, failure_of
from support.openai_server import FakeOpenAI, Reply, answer, finish, models, raw, sse, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Connect = Callable[..., Awaitable[UpstreamEngine]]

LLAMA_MODEL: dict[str, Any] = {
    "owner": "llamacpp",
    "aliases": ["small"],
    "meta": {"n_vocab": 151936, "n_ctx": 2048, "n_ctx_train": 32768, "ftype": "Q4_K - Medium"},
}
"""As llama.cpp's own server says it."""
_TEMPLATE = (
    "{% if tools %}<tool_call> arguments{% endif %}{% if enable_thinking %}<think>{% endif %}"
)


async def test_the_only_model_is_taken(connect: Connect) -> None:
    engine = await connect()
    assert engine.info.model == "small"
    assert engine.info.quantization
    assert engine.info.context_tokens == 4096
    assert (await connect(name="big one")).info.model == "big one"


async def test_a_model_that_is_named_by_its_file_is_served_without_the_folders(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.paths["GET /v1/models"] = models("/srv/models/small-q4.gguf")
    server.chat(sse(text("Hi"), finish("stop")))
    engine = await connect()
    assert engine.info.model == "small-q4"
    assert done_of(await collect(engine, ask()))
    assert server.chats[0]["model"] == "/srv/models/small-q4.gguf"


async def test_llama_server_says_all_about_itself(server: FakeOpenAI, connect: Connect) -> None:
    server.paths |= {
        "GET /v1/models": models("small", **LLAMA_MODEL),
        "GET /health": answer({"status": "ok"}),
        "GET /props": answer(
            {
                "default_generation_settings": {"n_ctx": 1024},
                "total_slots": 2,
                "model_ftype": "Q4_K - Medium",
                "chat_template": _TEMPLATE,
            }
        ),
    }
    info = (await connect()).info
    assert (info.context_tokens, info.max_sequences) == (1024, 2)
    assert (info.quantization, info.chat_format, info.can_think) == ("Q4_K_M", "hermes-json", True)


async def test_vllm_says_its_length_and_its_adapters(server: FakeOpenAI, connect: Connect) -> None:
    listed: list[dict[str, Any]] = [
        {"id": "qwen", "owned_by": "vllm", "max_model_len": 16384, "parent": None},
        {"id": "mine", "owned_by": "vllm", "root": "/lora/mine", "parent": "qwen"},
    ]
    server.paths |= {"GET /v1/models": answer({"data": listed}), "GET /health": raw(b"")}
    info = (await connect()).info
    assert (info.model, info.context_tokens, info.adapters) == ("qwen", 16384, ("mine",))
    assert info.can_think


async def test_ollama_says_what_is_loaded(server: FakeOpenAI, connect: Connect) -> None:
    server.paths |= {
        "GET /v1/models": models("qwen3:8b", owner="library"),
        "POST /api/show": answer(
            {
                "parameters": 'stop  "<|im_end|>"\nnum_ctx                        8192',
                "details": {"quantization_level": "Q4_K_M"},
                "capabilities": ["completion", "tools", "thinking"],
                "model_info": {"qwen3.context_length": 40960},
            }
        ),
    }
    info = (await connect()).info
    assert (info.context_tokens, info.quantization, info.can_think) == (8192, "Q4_K_M", True)
    loaded = {"models": [{"model": "qwen3:8b", "context_length": 32768}]}
    server.paths["GET /api/ps"] = answer(loaded)
    assert (await connect()).info.context_tokens == 32768


async def test_lm_studio_says_how_it_was_loaded(server: FakeOpenAI, connect: Connect) -> None:
    loaded = {"id": "m", "loaded_context_length": 4000, "max_context_length": 9000}
    server.paths |= {
        "GET /v1/models": models("m", owner="organization_owner"),
        "GET /api/v0/models": answer({"data": [{**loaded, "quantization": "Q8_0"}]}),
    }
    info = (await connect()).info
    assert (info.context_tokens, info.quantization) == (4000, "Q8_0")


async def test_a_length_that_a_person_set_only_lowers(server: FakeOpenAI, connect: Connect) -> None:
    server.paths["GET /v1/models"] = models("small", **LLAMA_MODEL)
    assert (await connect(context_tokens=1000)).info.context_tokens == 1000
    assert (await connect(context_tokens=9000)).info.context_tokens == 2048


async def test_of_several_models_one_must_be_named(server: FakeOpenAI, connect: Connect) -> None:
    server.paths["GET /v1/models"] = models("small", "large", "huge")
    with pytest.raises(ConfigError) as caught:
        await connect()
    assert "several models" in caught.value.what
    assert "small, large, huge" in caught.value.hint
    with pytest.raises(ConfigError, match="no such model"):
        await connect(model="tiny")
    assert (await connect(model="large")).info.model == "large"


async def test_names_from_a_server_cannot_paint_a_terminal(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.paths["GET /v1/models"] = models("a\x1b[2J", "b" * 5000, *(f"m{i}" for i in range(400)))
    with pytest.raises(ConfigError) as caught:
        await connect()
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (answer({"error": {"message": "Invalid API Key", "code": 401}}, 401), RefusedError),
        (answer({"detail": "Not Found"}, 404), ConfigError),
        (raw(b"<html>hello", content_type="text/html"), InvalidDataError),
        (raw(b""), InvalidDataError),
        (answer({"data": []}), ConfigError),
        (answer([1, 2]), ConfigError),
        (answer({"data": [{"id": 7}, "x", None]}), ConfigError),
        (answer({"error": {"message": "Loading model", "code": 503}}, 503), UnavailableError),
    ],
)
async def test_what_is_no_such_server_is_a_clear_error(
    server: FakeOpenAI, connect: Connect, reply: Reply, error: type[HomingError]
) -> None:
    server.paths["GET /v1/models"] = reply
    with pytest.raises(error) as caught:
        await connect()
    assert caught.value.hint


async def test_a_server_that_still_loads_is_unavailable(
    server: FakeOpenAI, connect: Connect
) -> None:
    server.paths |= {
        "GET /v1/models": models("small", **LLAMA_MODEL),
        "GET /health": answer({"error": {"message": "Loading model", "code": 503}}, 503),
    }
    with pytest.raises(UnavailableError, match="not ready"):
        await connect()


async def test_connecting_works_once_the_server_is_there() -> None:
    server = FakeOpenAI()
    async with server:
        address = UpstreamServer(server.url, connect_s=2)
        engine = await UpstreamEngine.connect(address)
    failure = failure_of(await collect(engine, ask()))
    assert (failure.code, failure.retryable) == ("unavailable", True)
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await UpstreamEngine.connect(address)
    server.always(sse(text("Back."), finish("stop")))
    async with server:
        assert done_of(await collect(engine, ask()))
        again = await UpstreamEngine.connect(address)
        assert done_of(await collect(again, ask()))
        await again.close()
        await engine.close()


async def test_the_key_goes_along_and_is_seen_nowhere_else(
    server: FakeOpenAI, connect: Connect, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    engine = await connect(api_key=secret)
    said = {"error": {"message": f"Incorrect API key provided: {secret}", "type": secret}}
    server.chat(answer(said, 401))
    failure = failure_of(await collect(engine, ask()))
    assert failure.code == "refused"
    assert [asked.headers["authorization"] for asked in server.asked] == [f"Bearer {secret}"] * 2
    assert secret not in f"{failure}{caplog.text}{engine.info}"
