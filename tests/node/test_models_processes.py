"""Two real models on one node, each in a process of its own, asked over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.paths import program_paths
from homing_core.clock import SystemClock
from homing_core.generation import Done, Failed, GenerateRequest, Sampling
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.pairing.link import parse_link
from homing_crypto.testing import throwaway_identity
from homing_inference.synthetic import write_qwen35
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import inference_pb2, node_pb2
from support.node_pairing import pair
from support.node_process import NodeProcess, environment, started
from support.node_rig import DEADLINE_S, Phone, all_events, next_event
from support.processes import engines, gone
from support.templates import HERMES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_core.generation import GenerationEvent
    from support.node_rig import Events

SETTINGS = """
[node]
name = "den"
drain_seconds = 0.0

[listen]
host = "127.0.0.1"
port = 0

[discovery]
mdns = false

[model]
name = "{one}"
also = ["{two}"]
memory_mib = {memory}
context_tokens = 1024
max_sequences = 4
checkpoint_mib = 1
state_mib = 8
"""
LONG = 900


@pytest.fixture(scope="module")
def two_models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("models")
    return (
        write_qwen35(folder / "one.gguf", HERMES, seed=1),
        write_qwen35(folder / "two.gguf", HERMES, seed=2),
    )


@contextlib.asynccontextmanager
async def node(
    folder: Path, models: tuple[Path, Path], memory_mib: int
) -> AsyncGenerator[tuple[NodeProcess, Phone]]:
    """A node with both models, and a paired phone."""
    (one, two), settings, data = models, folder / "node.toml", folder / "d"
    settings.write_text(SETTINGS.format(one=one, two=two, memory=memory_mib))
    env = environment(folder)
    places = ("--data-dir", data, "--config", settings)
    async with started("run", "--json", *places, env=env) as running:
        (address,) = (await running.event("up"))["addresses"]
        await running.model("ready")
        identity = throwaway_identity()
        async with started("pair", "--json", *places, env=env) as shown:
            await pair(parse_link((await shown.event("opened"))["link"]), identity)
            await shown.event("paired")
            assert await shown.end() == 0
        paths = program_paths("homing-node", "node", data, environ={})
        certificate = DeviceIdentity.load_or_create(paths.data_dir, SystemClock()).certificate
        async with client_channel(address, identity, certificate) as channel:
            yield running, Phone(identity, channel)
        assert await running.end(signal.SIGTERM) == 0


def ask(model: str, max_tokens: int = 4) -> GenerateRequest:
    sampling = Sampling(max_tokens=max_tokens)
    return GenerateRequest(new_generation_id(), (user("Count."),), model, sampling=sampling)


def generate(phone: Phone, request: GenerateRequest) -> Events:
    return phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)


async def last_event(phone: Phone, model: str) -> GenerationEvent:
    return (await all_events(generate(phone, ask(model))))[-1].event


async def loaded(phone: Phone) -> list[str]:
    info = decode_node_info(await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S))
    assert [model.name for model in info.models] == ["one", "two"]
    return [model.name for model in info.models if model.loaded]


async def test_two_models_take_turns_where_there_is_room_for_one(
    tmp_path: Path, two_models: tuple[Path, Path]
) -> None:
    async with node(tmp_path, two_models, memory_mib=250) as (running, phone):
        assert await loaded(phone) == ["one"]
        for name in ("two", "one", "two"):
            assert isinstance(await last_event(phone, name), Done)
            assert await loaded(phone) == [name]
            assert len(engines(running.process.pid)) == 1

        both = await asyncio.gather(*(last_event(phone, "two") for _ in range(3)))
        assert all(isinstance(event, Done) for event in both)

        long = ask("two", LONG)
        call = generate(phone, long)
        assert await next_event(call) is not None
        refused = await last_event(phone, "one")
        assert isinstance(refused, Failed)
        assert (refused.code, refused.retryable) == ("overloaded", True)
        assert refused.retry_after_ms > 0
        assert "250 MiB" in refused.what
        assert await next_event(call) is not None, "what runs goes on"

        await phone.inference.Cancel(inference_pb2.CancelRequest(generation_id=long.id))
        await all_events(call)
        assert isinstance(await last_event(phone, "one"), Done)
        left = engines(running.process.pid)
    for engine in left:
        await gone(engine)


async def test_one_engine_is_killed_and_the_other_goes_on(
    tmp_path: Path, two_models: tuple[Path, Path]
) -> None:
    async with node(tmp_path, two_models, memory_mib=4000) as (running, phone):
        (first,) = engines(running.process.pid)
        assert isinstance(await last_event(phone, "two"), Done)
        assert await loaded(phone) == ["one", "two"]
        (second,) = set(engines(running.process.pid)) - {first}

        calls = {name: generate(phone, ask(name, LONG)) for name in ("one", "two")}
        for call in calls.values():
            assert await next_event(call) is not None
        os.kill(second, signal.SIGKILL)
        ended = (await all_events(calls["two"]))[-1].event
        assert isinstance(ended, Failed)
        assert ended.retryable
        assert isinstance(await last_event(phone, "two"), Done)
        assert isinstance((await all_events(calls["one"]))[-1].event, Done)
        assert first in engines(running.process.pid)
