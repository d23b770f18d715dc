"""What a paired device and the command line see of several models."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.testing import HeldSource
from homing_core.access import DeviceRole
from homing_core.errors import NotFoundError, OverloadedError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    Sampled,
    TextDelta,
    Usage,
)
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_core.nodes import WarmPrefix
from homing_inference.engine import EngineState, WarmedPrefix
from homing_node.models.slots import ConfiguredModel
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import inference_pb2, node_pb2
from support.fed_engine import INFO, FedEngine
from support.node_process import environment, finished
from support.node_rig import DEADLINE_S, NodeRig, Phone, all_events, node_rig, refusal, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.nodes import NodeInfo
    from support.node_rig import Events

STOP = Done(FinishReason.STOP)
SECRET = WarmedPrefix(2900, "5e" * 32)


@pytest.fixture
def big() -> FedEngine:
    return FedEngine(replace(INFO, model="big-2b:q8_0", quantization="Q8_0", max_sequences=4))


@pytest.fixture
def source(big: FedEngine) -> HeldSource:
    return HeldSource(big)


@pytest.fixture
async def rig(tmp_path: Path, source: HeldSource) -> AsyncIterator[NodeRig]:
    status = ModelStatus("big-2b:q8_0", Phase.UNLOADED, quantization="Q8_0")
    also = (ConfiguredModel(status, source, "big-2b"),)
    async with node_rig(tmp_path, also=also) as running:
        yield running


def ask(model: str = "", samples: int = 1) -> GenerateRequest:
    return GenerateRequest(new_generation_id(), (user("hello"),), model, samples=samples)


def generate(phone: Phone, request: GenerateRequest) -> Events:
    return phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)


async def get_node(phone: Phone) -> NodeInfo:
    return decode_node_info(await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S))


async def test_all_models_are_listed_and_the_one_asked_for_is_loaded(
    rig: NodeRig, big: FedEngine
) -> None:
    phone = await rig.phone()
    info = await get_node(phone)
    assert info.default_model == "fed-1b:bf16"
    assert [(model.name, model.loaded) for model in info.models] == [
        ("fed-1b:bf16", True),
        ("big-2b:q8_0", False),
    ]
    assert info.models[1].quantization == "Q8_0"
    assert info.load.max_sequences == INFO.max_sequences

    request = ask("big-2b")
    call = generate(phone, request)
    taken = await within(big.started.get())
    assert (taken.id, taken.owner) == (request.id, phone.identity.device_id)
    info = await get_node(phone)
    assert [model.loaded for model in info.models] == [True, True]
    assert (info.load.running, info.load.waiting) == (1, 0)
    assert info.load.max_sequences == INFO.max_sequences + 4
    big.feed(request.id, STOP)
    assert [item.event for item in await all_events(call)] == [STOP]

    error = await refusal(generate(phone, ask("gpt-9")))
    assert isinstance(error, NotFoundError)
    assert "fed-1b:bf16, big-2b:q8_0" in error.hint


async def test_a_request_that_waits_for_its_model_keeps_its_deadline_and_can_be_cancelled(
    tmp_path: Path, big: FedEngine
) -> None:
    source = HeldSource(big, ready=False)
    also = (ConfiguredModel(ModelStatus("big-2b:q8_0", Phase.UNLOADED), source),)
    async with node_rig(tmp_path, also=also) as rig:
        phone = await rig.phone()
        hurried = replace(ask("big-2b:q8_0"), deadline_ms=50)
        (late,) = await all_events(generate(phone, hurried))
        assert isinstance(late.event, Failed)
        assert (late.event.code, late.event.retryable) == ("unavailable", True)

        patient, unwanted = ask("big-2b:q8_0"), ask("big-2b:q8_0")
        calls = [generate(phone, patient), generate(phone, unwanted)]
        async with asyncio.timeout(DEADLINE_S):
            while (await get_node(phone)).load.waiting < 2:
                pass  # both have been taken, and wait
        await phone.inference.Cancel(inference_pb2.CancelRequest(generation_id=unwanted.id))
        assert [item.event for item in await all_events(calls[1])] == [Done(FinishReason.CANCELLED)]
        source.finish()
        assert (await within(big.started.get())).id == patient.id
        big.feed(patient.id, STOP)
        assert [item.event for item in await all_events(calls[0])] == [STOP]
        assert big.started.empty()
        assert source.loads == 1


async def test_how_busy_it_is_comes_from_the_engines(rig: NodeRig) -> None:
    phone = await rig.phone()
    rig.engine.state = EngineState(
        running=1, waiting=3, decode_tokens_per_second=40.0, prefill_tokens_per_second=900.0
    )
    load = (await get_node(phone)).load
    assert (load.running, load.waiting) == (1, 3)
    assert (load.decode_tokens_per_second, load.prefill_tokens_per_second) == (40.0, 900.0)
    assert (await (await rig.control()).daemon()).load == load


@pytest.mark.attack
async def test_only_the_owner_sees_what_is_warm(rig: NodeRig) -> None:
    """A hash confirms to whoever guesses a set of tools that somebody here has it."""
    rig.engine.state = EngineState(warm=(SECRET,))
    owner = await get_node(await rig.phone())
    assert owner.warm_prefixes == (WarmPrefix("fed-1b:bf16", SECRET.sha256, SECRET.tokens),)
    for role in (DeviceRole.MEMBER, DeviceRole.GUEST, DeviceRole.PEER):
        phone = await rig.phone(role)
        answer = await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        assert not answer.warm_prefixes
        assert SECRET.sha256.encode() not in answer.SerializeToString()


@pytest.mark.attack
async def test_each_device_leaves_and_finds_only_its_own_states(rig: NodeRig) -> None:
    phones = [await rig.phone(), await rig.phone(DeviceRole.GUEST)]
    for phone in phones:
        request = replace(ask(), owner=phones[0].identity.device_id)  # it never travels
        call = generate(phone, request)
        taken = await within(rig.engine.started.get())
        assert taken.owner == phone.identity.device_id
        rig.engine.feed(request.id, STOP)
        assert [item.event for item in await all_events(call)] == [STOP]


async def test_one_of_several_answers_ending_is_not_the_end(rig: NodeRig) -> None:
    phone = await rig.phone()
    request = ask(samples=2)
    call = generate(phone, request)
    await within(rig.engine.started.get())
    events = (
        Sampled(1, TextDelta("a")),
        Sampled(1, STOP),
        Sampled(2, Failed("internal", "x")),
        Usage(3, 0, 2, 10.0, 20.0),
        STOP,
    )
    rig.engine.feed(request.id, *events)
    assert tuple(item.event for item in await all_events(call)) == events
    assert rig.running.generations.last_usage == events[3]


async def test_a_full_queue_is_told_with_when_to_come_back(rig: NodeRig) -> None:
    phone = await rig.phone()
    request = ask()
    call = generate(phone, request)
    await within(rig.engine.started.get())
    full = OverloadedError("16 requests wait already", "Try again in a moment.", 1500)
    rig.engine.feed(request.id, Failed.from_error(full))
    (only,) = await all_events(call)
    assert isinstance(only.event, Failed)
    assert only.event.to_error().retryable
    assert only.event.retry_after_ms == 1500


async def test_the_command_line_shows_what_is_in_memory(rig: NodeRig) -> None:
    folder = rig.paths.data_dir
    env = environment(folder.parent)
    shown = await finished("models", "served", "--data-dir", folder, env=env)
    assert shown.status == 0, shown.err
    assert [line.split()[:3] for line in shown.out.splitlines()[1:3]] == [
        ["fed-1b:bf16", "(stand-in)", "BF16"],
        ["big-2b:q8_0", "Q8_0", "no"],
    ]
    assert "0 answering" in shown.out
    listed = await finished("models", "served", "--json", "--data-dir", folder, env=env)
    assert '"loaded": true' in listed.out.splitlines()[0]
    assert '"stand_in": true' in listed.out.splitlines()[0]
    assert '"event": "load"' in listed.out.splitlines()[-1]


async def test_without_a_daemon_nothing_is_served(tmp_path: Path) -> None:
    done = await finished(
        "models", "served", "--data-dir", tmp_path / "d", env=environment(tmp_path)
    )
    assert done.status == 1
    assert "does not run" in done.err
