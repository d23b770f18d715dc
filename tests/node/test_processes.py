"""The daemon as a real process, with a real engine and a tiny model."""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.paths import program_paths
from homing_core.clock import SystemClock
from homing_core.generation import Done, GenerateRequest, Numbered, Sampling, TextDelta, Usage
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.pairing.link import parse_link
from homing_crypto.testing import throwaway_identity
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import node_pb2
from support.node_pairing import pair
from support.node_process import NodeProcess, environment, finished, started
from support.node_rig import DEADLINE_S, Phone, all_events, within
from support.processes import engines, gone

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


@contextlib.asynccontextmanager
async def daemon(folder: Path, model: Path, state: str = "ready") -> AsyncGenerator[NodeProcess]:
    """`homing-node run --json`, its model in a state."""
    words = ["run", "--json", "--no-mdns", "--host", "127.0.0.1", "--port", "0", "--name", "den"]
    places: list[str | Path] = ["--data-dir", folder / "d", "--model", model]
    async with started(*words, *places, env=environment(folder)) as running:
        await running.event("up")
        await running.model(state)
        yield running


@contextlib.asynccontextmanager
async def dialled(
    folder: Path, running: NodeProcess, identity: DeviceIdentity
) -> AsyncGenerator[Phone]:
    (address,) = next(item for item in running.seen if item["event"] == "up")["addresses"]
    paths = program_paths("homing-node", "node", folder / "d", environ={})
    node = DeviceIdentity.load_or_create(paths.data_dir, SystemClock()).certificate
    async with client_channel(address, identity, node) as channel:
        yield Phone(identity, channel)


async def paired(folder: Path) -> DeviceIdentity:
    """Pair a new device through the real command."""
    identity = throwaway_identity()
    env = environment(folder)
    async with started("pair", "--json", "--data-dir", folder / "d", env=env) as shown:
        await pair(parse_link((await shown.event("opened"))["link"]), identity)
        await shown.event("paired")
        assert await shown.end() == 0
    return identity


def ask(words: str, max_tokens: int = 8) -> GenerateRequest:
    return GenerateRequest(
        new_generation_id(), (user(words),), sampling=Sampling(max_tokens=max_tokens)
    )


def texts(events: list[Numbered]) -> str:
    return "".join(item.event.text for item in events if isinstance(item.event, TextDelta))


async def test_pair_ask_stop(tmp_path: Path, small_model: Path) -> None:
    async with daemon(tmp_path, small_model) as running:
        identity = await paired(tmp_path)
        async with dialled(tmp_path, running, identity) as phone:
            info = decode_node_info(await phone.node.GetNode(node_pb2.GetNodeRequest()))
            assert (info.name, info.default_model) == ("den", small_model.stem)
            assert info.models[0].file_sha256
            request = ask("Say hello.")
            message = encode_generate_request(request)
            events = await all_events(phone.inference.Generate(message, timeout=DEADLINE_S))
            assert isinstance(events[-1].event, Done)
            assert any(isinstance(item.event, Usage) for item in events)
            again = await all_events(phone.inference.Generate(message, timeout=DEADLINE_S))
            assert again == events
            long = encode_generate_request(ask("word " * 60_000))
            (failed,) = await all_events(phone.inference.Generate(long, timeout=DEADLINE_S))
            assert getattr(failed.event, "code", "") == "too_long"
        assert await running.end(signal.SIGTERM) == 0
        assert running.process.returncode == 0
        log = await running.rest()
    assert '"event": "node.stopped"' in log
    assert "Say hello" not in log
    assert texts(events) == "" or texts(events) not in log


async def test_stop_while_the_model_loads(tmp_path: Path, small_model: Path) -> None:
    async with daemon(tmp_path, small_model, "loading") as running:
        left = engines(running.process.pid)
        assert await running.end(signal.SIGTERM) == 0
        assert "node.stopped" in await running.rest()
    for engine in left:
        await gone(engine)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_second_signal_does_not_wait(
    tmp_path: Path, small_model: Path, number: signal.Signals
) -> None:
    async with daemon(tmp_path, small_model) as running:
        identity = await paired(tmp_path)
        async with dialled(tmp_path, running, identity) as phone:
            message = encode_generate_request(ask("Count.", max_tokens=3000))
            call = phone.inference.Generate(message, timeout=DEADLINE_S)
            await within(call.read())
            running.process.send_signal(number)
            await running.event("stopping")
            assert await running.end(number) == 128 + number


async def test_kill_9_loses_no_pairing_and_leaves_nothing_in_the_way(
    tmp_path: Path, small_model: Path
) -> None:
    async with daemon(tmp_path, small_model) as running:
        identity = await paired(tmp_path)
        (engine,) = engines(running.process.pid)
        assert await running.end(signal.SIGKILL) == -signal.SIGKILL
    await gone(engine)
    assert (tmp_path / "d" / "run" / "control.sock").is_socket()
    async with daemon(tmp_path, small_model) as running:
        async with dialled(tmp_path, running, identity) as phone:
            info = decode_node_info(await phone.node.GetNode(node_pb2.GetNodeRequest()))
            assert info.models[0].loaded
        done = await finished(
            "devices", "--json", "--data-dir", tmp_path / "d", env=environment(tmp_path)
        )
        assert identity.device_id in done.out
        assert await running.end(signal.SIGTERM) == 0


async def test_the_engine_dies_and_the_daemon_goes_on(tmp_path: Path, small_model: Path) -> None:
    async with daemon(tmp_path, small_model) as running:
        identity = await paired(tmp_path)
        async with dialled(tmp_path, running, identity) as phone:
            (engine,) = engines(running.process.pid)
            message = encode_generate_request(ask("Count.", max_tokens=3000))
            call = phone.inference.Generate(message, timeout=DEADLINE_S)
            await within(call.read())
            os.kill(engine, signal.SIGKILL)
            last = (await all_events(call))[-1]
            assert getattr(last.event, "retryable", False)
            events = await all_events(
                phone.inference.Generate(encode_generate_request(ask("Hi.")), timeout=DEADLINE_S)
            )
            assert isinstance(events[-1].event, Done)
        (revived,) = engines(running.process.pid)
        assert revived != engine
        assert await running.end(signal.SIGTERM) == 0
    await gone(revived)
