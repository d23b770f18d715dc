from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_core.access import DeviceRole, Scope
from homing_core.errors import (
    ConflictError,
    InvalidDataError,
    NotFoundError,
    RefusedError,
    TooLongError,
    UnavailableError,
)
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerateRequest,
    GenerationEvent,
    Numbered,
    TextDelta,
)
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_core.tools import Place
from homing_node.rpc.rules import MAIN_RULES
from homing_proto.codec.generation import encode_generate_request
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import inference_pb2 as wire
from homing_proto.v1 import job_pb2, job_pb2_grpc, node_pb2, node_pb2_grpc
from support.node_rig import (
    DEADLINE_S,
    Events,
    NodeRig,
    Phone,
    all_events,
    next_event,
    node_rig,
    refusal,
    send_raw,
    within,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.nodes import NodeInfo

STOP = Done(FinishReason.STOP)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


def ask(text: str = "hello", model: str = "") -> GenerateRequest:
    return GenerateRequest(new_generation_id(), (user(text),), model)


def generate(phone: Phone, request: GenerateRequest) -> Events:
    return phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)


def resume(phone: Phone, request: GenerateRequest, after: int) -> Events:
    message = wire.ResumeRequest(generation_id=request.id, after_seq=after)
    return phone.inference.Resume(message, timeout=DEADLINE_S)


async def get_node(phone: Phone) -> NodeInfo:
    return decode_node_info(await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S))


async def start(rig: NodeRig, phone: Phone, request: GenerateRequest) -> Events:
    call = generate(phone, request)
    started = await within(rig.engine.started.get())
    assert started == replace(request, owner=phone.identity.device_id)
    return call


async def test_a_node_describes_itself(rig: NodeRig) -> None:
    info = await get_node(await rig.phone())
    assert info.id == rig.certificate.device_id
    assert info.name == "den"
    assert info.default_model == "fed-1b:bf16"
    (model,) = info.models
    assert (model.loaded, model.stand_in, model.context_tokens) == (True, True, 4096)
    assert (info.role, info.place) == (DeviceRole.OWNER, Place.HOME)
    assert Scope.INFERENCE in info.scopes
    assert (info.load.running, info.load.max_sequences) == (0, 1)


async def test_it_is_home_to_the_household_only(rig: NodeRig) -> None:
    assert (await get_node(await rig.phone(DeviceRole.MEMBER))).place is Place.HOME
    assert (await get_node(await rig.phone(DeviceRole.GUEST))).place is Place.PEER


async def test_it_answers_while_its_model_loads(tmp_path: Path) -> None:
    async with node_rig(tmp_path, ready=False) as rig:
        phone = await rig.phone()
        assert rig.source.report is not None
        rig.source.report(ModelStatus("fed-1b:bf16", Phase.FETCHING, "fetching", 40, 100))
        (model,) = (await get_node(phone)).models
        assert (model.name, model.loaded) == ("fed-1b:bf16", False)
        error = await refusal(generate(phone, ask()))
        assert isinstance(error, UnavailableError)
        assert "40%" in error.what
        rig.source.finish()
        await within(rig.running.models.settled())
        request = ask()
        call = await start(rig, phone, request)
        rig.engine.feed(request.id, STOP)
        assert await all_events(call) == [Numbered(1, STOP)]


async def test_a_failed_model_is_said_and_not_offered(tmp_path: Path) -> None:
    async with node_rig(tmp_path, ready=False) as rig:
        phone = await rig.phone()
        rig.source.finish(UnavailableError("the hub does not answer", "Use --stand-in."))
        with pytest.raises(UnavailableError, match="hub"):
            await within(rig.running.models.settled())
        info = await get_node(phone)
        assert (info.models, info.default_model) == ((), "")
        assert isinstance(await refusal(generate(phone, ask())), UnavailableError)


async def test_generate_streams_and_repeating_it_attaches(rig: NodeRig) -> None:
    phone = await rig.phone()
    request = ask()
    call = await start(rig, phone, request)
    events: list[GenerationEvent] = [TextDelta("Hi"), TextDelta(" there"), STOP]
    rig.engine.feed(request.id, *events)
    expected = [Numbered(seq, event) for seq, event in enumerate(events, 1)]
    assert await all_events(call) == expected
    assert await all_events(generate(phone, request)) == expected
    assert isinstance(
        await refusal(generate(phone, GenerateRequest(request.id, (user("x"),)))), ConflictError
    )


async def test_a_broken_line_loses_nothing(rig: NodeRig) -> None:
    phone = await rig.phone()
    request = ask()
    call = await start(rig, phone, request)
    rig.engine.feed(request.id, TextDelta("a"))
    assert await next_event(call) == Numbered(1, TextDelta("a"))
    await phone.channel.close()
    rig.engine.feed(request.id, TextDelta("b"))

    again = await rig.dial(phone.identity)
    rest = resume(again, request, 1)
    assert await next_event(rest) == Numbered(2, TextDelta("b"))
    rig.engine.feed(request.id, STOP)
    assert await all_events(rest) == [Numbered(3, STOP)]
    await again.inference.Ack(wire.AckRequest(generation_id=request.id, up_to_seq=3))
    assert await all_events(resume(again, request, 3)) == []
    assert isinstance(await refusal(resume(again, request, 1)), ConflictError)


async def test_cancel_ends_the_stream(rig: NodeRig) -> None:
    phone = await rig.phone()
    request = ask()
    call = await start(rig, phone, request)
    message = wire.CancelRequest(generation_id=request.id)
    assert (await phone.inference.Cancel(message, timeout=DEADLINE_S)).was_running
    assert await all_events(call) == [Numbered(1, Done(FinishReason.CANCELLED))]
    assert not (await phone.inference.Cancel(message, timeout=DEADLINE_S)).was_running
    assert await within(rig.engine.closed.get()) == request.id


@pytest.mark.attack
async def test_another_devices_generation_does_not_exist(rig: NodeRig) -> None:
    phone, other = await rig.phone(), await rig.phone()
    request = ask()
    await start(rig, phone, request)
    assert isinstance(await refusal(resume(other, request, 0)), NotFoundError)
    cancel = wire.CancelRequest(generation_id=request.id)
    assert isinstance(await refusal(other.inference.Cancel(cancel)), NotFoundError)
    assert rig.running.generations.running() == 1


async def test_unknown_model_and_too_long_prompt(rig: NodeRig) -> None:
    phone = await rig.phone()
    error = await refusal(generate(phone, ask(model="gpt-9")))
    assert isinstance(error, NotFoundError)
    assert "fed-1b:bf16" in error.hint
    request = ask("word " * 1000)
    call = await start(rig, phone, request)
    rig.engine.feed(request.id, TooLongError("the prompt is too long", "Shorten it."))
    (only,) = await all_events(call)
    assert isinstance(only.event, Failed)
    assert only.event.code == "too_long"


@pytest.mark.parametrize("generation", ["", "gen-1", "req-" + "0" * 32, "x" * 5000])
async def test_wrong_ids_are_refused(rig: NodeRig, generation: str) -> None:
    phone = await rig.phone()
    for call in (
        phone.inference.Resume(wire.ResumeRequest(generation_id=generation)),
        phone.inference.Ack(wire.AckRequest(generation_id=generation)),
        phone.inference.Cancel(wire.CancelRequest(generation_id=generation)),
        phone.inference.Generate(wire.GenerateRequest(generation_id=generation)),
    ):
        assert isinstance(await refusal(call), InvalidDataError)


STREAMS = {
    "/homing_proto.v1.InferenceService/Generate",
    "/homing_proto.v1.InferenceService/Resume",
    "/grpc.health.v1.Health/Watch",
}


@pytest.mark.attack
@pytest.mark.parametrize("method", sorted(MAIN_RULES))
@pytest.mark.parametrize("garbage", [b"\xff\xff\xff\xff", b"\x0a\xff", b"\x0b\x08"])
async def test_malformed_messages_are_refused_and_the_node_lives(
    rig: NodeRig, method: str, garbage: bytes
) -> None:
    phone = await rig.phone(caller_of(method))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await send_raw(phone.channel, method, garbage, stream=method in STREAMS)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert caught.value.details() == "the request is malformed"
    assert (await get_node(phone)).name == "den"


@pytest.mark.attack
async def test_an_unpaired_device_gets_nowhere(rig: NodeRig) -> None:
    stranger = await rig.phone(paired=False)
    error = await refusal(stranger.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S))
    assert isinstance(error, UnavailableError)


@pytest.mark.attack
async def test_scopes_hold(rig: NodeRig) -> None:
    guest = await rig.phone(DeviceRole.GUEST)
    tools = node_pb2_grpc.ToolsServiceStub(guest.channel)
    assert isinstance(await refusal(tools.ListTools(node_pb2.ListToolsRequest())), RefusedError)
    peer = await rig.phone(DeviceRole.PEER)
    assert isinstance(await refusal(generate(peer, ask())), RefusedError)
    owner = node_pb2_grpc.ToolsServiceStub((await rig.phone()).channel)
    assert not (await owner.ListTools(node_pb2.ListToolsRequest())).tools


async def test_a_device_has_no_jobs_at_first(rig: NodeRig) -> None:
    phone = await rig.phone()
    jobs = job_pb2_grpc.JobsServiceStub(phone.channel)
    assert not (await jobs.ListJobs(job_pb2.ListJobsRequest(), timeout=DEADLINE_S)).jobs


async def test_stopping_tells_every_reader_to_come_back(tmp_path: Path) -> None:
    async with node_rig(tmp_path) as rig:
        phone = await rig.phone()
        request = ask()
        call = await start(rig, phone, request)
        rig.engine.feed(request.id, TextDelta("half"))
        assert await next_event(call) == Numbered(1, TextDelta("half"))
        reading = asyncio.ensure_future(all_events(call))
        await rig.running.generations.stop(0)
        (last,) = await reading
        assert isinstance(last.event, Failed)
        assert (last.event.code, last.event.retryable) == ("unavailable", True)
        error = await refusal(generate(phone, ask()))
        assert isinstance(error, UnavailableError)
        assert "stopping" in error.what
    assert rig.engine.is_closed


async def test_rules_name_exactly_what_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served: set[str] = set()
    kind = type(grpc.aio.server())  # the class behind the abstract one
    real = kind.add_registered_method_handlers

    def note(
        server: grpc.aio.Server,
        service: str,
        handlers: dict[str, grpc.RpcMethodHandler[object, object]],
    ) -> None:
        served.update(f"/{service}/{method}" for method in handlers)
        real(server, service, handlers)

    monkeypatch.setattr(kind, "add_registered_method_handlers", note)
    async with node_rig(tmp_path):
        local = {method for method in served if "ControlService/" in method}
        assert served - local == set(MAIN_RULES)
        assert local


def caller_of(method: str) -> DeviceRole:
    """A role that may call it: an owner's, unless it is for others."""
    roles = MAIN_RULES[method].roles
    return DeviceRole.OWNER if not roles or DeviceRole.OWNER in roles else min(roles, key=str)
