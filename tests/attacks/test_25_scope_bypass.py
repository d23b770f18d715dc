"""Attack 25: a paired device tries to use models, tools or hours that it was not given.

Expected: whatever name it asks by, whichever call it makes and however long a call has been open,
it gets what its entry and the operator's ceilings allow, at every call and within five seconds.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.testing import HeldSource
from homing_core.access import DeviceRole, Limits, Scope
from homing_core.errors import NotFoundError, RefusedError, UnpairedError
from homing_core.generation import Done, FinishReason, TextDelta
from homing_core.tools import ToolSpec
from homing_crypto.audit.records import CONSOLE
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.config import NodeConfig
from homing_node.devices.enforcing import TICK_S
from homing_node.limit_sections import CeilingSection, LimitsSection
from homing_node.models.slots import ConfiguredModel
from homing_node.testing import FixedTools
from homing_proto.v1 import inference_pb2 as wire
from homing_proto.v1 import node_pb2, node_pb2_grpc
from support.fed_engine import INFO, FedEngine
from support.limited import (
    SetClock,
    asked,
    described,
    grant,
    limited_phone,
    question,
    refused,
    rest,
    started,
)
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, Phone, next_event, node_rig, refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

STOP = Done(FinishReason.STOP)
NOON = datetime(2026, 11, 5, 12).astimezone().timestamp()
SOON_S = 5.0
"""Within this an open stream ends, in seconds."""


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOON)


@pytest.fixture
async def rig(tmp_path: Path, clock: SetClock) -> AsyncIterator[NodeRig]:
    private = FedEngine(replace(INFO, model="diary"))
    also = ConfiguredModel(
        ModelStatus("diary", Phase.UNLOADED), HeldSource(private), "/models/diary.gguf"
    )
    tools = FixedTools(
        ToolSpec("add", "Adds a note.", {}, server="notes"),
        ToolSpec("open", "Opens a door.", {}, server="doors"),
    )
    async with node_rig(tmp_path, clock=clock, also=(also,), tools=tools) as running:
        yield running


async def code_of(call: object) -> grpc.StatusCode:
    """The status with which a stream ends, soon."""
    assert isinstance(call, grpc.aio.UnaryStreamCall)
    async with asyncio.timeout(SOON_S):
        return await call.code()


@pytest.mark.attack(25)
@pytest.mark.parametrize("name", ["diary", "/models/diary.gguf", "nothing-of-that-name"])
async def test_a_model_outside_the_list_is_refused_by_every_name(rig: NodeRig, name: str) -> None:
    phone = await limited_phone(rig, Limits(models=("fed-*",)))
    error = await refused(phone, question(model=name))
    assert isinstance(error, NotFoundError)
    assert "diary" not in str(error), "which others there are is not told"
    info = await described(phone)
    assert [model.name for model in info.models] == ["fed-1b:bf16"]
    await started(rig, phone, question(model="fed-1b:bf16"))


@pytest.mark.attack(25)
async def test_the_default_model_is_subject_to_the_list_too(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits(models=("diary",)))
    error = await refused(phone, question())
    assert isinstance(error, NotFoundError)
    assert "default model" in error.what
    assert "diary" in error.hint
    info = await described(phone)
    assert (info.default_model, [model.name for model in info.models]) == ("", ["diary"])


@pytest.mark.attack(25)
async def test_an_adapter_is_subject_to_it_as_well(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits(models=("fed-*",)))
    error = await refused(phone, replace(question(), adapter="owners-letters"))
    assert isinstance(error, NotFoundError)
    assert rig.engine.started.empty()
    both = await limited_phone(rig, Limits(models=("fed-*", "owners-*")))
    await started(rig, both, replace(question(), adapter="owners-letters"))


@pytest.mark.attack(25)
async def test_the_operators_ceiling_holds_against_any_grant(tmp_path: Path) -> None:
    limits = LimitsSection(member=CeilingSection(models=("diary",)))
    config = NodeConfig(LOOPBACK.node, LOOPBACK.listen, LOOPBACK.discovery, limits=limits)
    async with node_rig(tmp_path, config) as rig:
        phone = await limited_phone(rig, Limits(models=("*",)))
        assert isinstance(await refused(phone, question()), NotFoundError)


@pytest.mark.attack(25)
async def test_a_model_that_is_taken_away_ends_the_answer_that_it_is_writing(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits())
    request = question()
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, TextDelta("w"))
    await next_event(call)
    async with asyncio.timeout(SOON_S):
        await grant(rig, phone, Limits(models=("diary",)))
        (event,) = await rest(call)
    assert "default model" in str(event)


@pytest.mark.attack(25)
async def test_only_tools_that_match_are_listed(rig: NodeRig) -> None:
    async def listed(limits: Limits) -> list[str]:
        phone = await limited_phone(rig, limits)
        stub = node_pb2_grpc.ToolsServiceStub(phone.channel)
        answer = await stub.ListTools(node_pb2.ListToolsRequest(), timeout=DEADLINE_S)
        return [tool.name for tool in answer.tools]

    assert await listed(Limits()) == ["add", "open"]
    assert await listed(Limits(tools=("notes.*",))) == ["add"]
    assert await listed(Limits(tools=("NOTES.*", "open", "none*"))) == []
    assert await listed(Limits(tools=("none",))) == []


@pytest.mark.attack(25)
async def test_an_open_stream_ends_when_the_hours_of_use_do(rig: NodeRig, clock: SetClock) -> None:
    phone = await limited_phone(rig, Limits(hours="08:00-13:00"))
    request = question()
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, TextDelta("w"))
    await next_event(call)
    clock.advance(3600)
    assert await code_of(call) is grpc.StatusCode.PERMISSION_DENIED
    async with asyncio.timeout(SOON_S):
        assert await rig.engine.closed.get() == request.id
    error = await refused(phone, question())
    assert isinstance(error, RefusedError)
    assert "08:00-13:00" in error.what
    assert (await described(phone)).own.opens_in_s == 19 * 3600
    clock.advance(19 * 3600)
    await started(rig, phone, question())


@pytest.mark.attack(25)
@pytest.mark.parametrize("reads", [True, False], ids=["reading", "gone"])
async def test_an_open_stream_ends_with_the_devices_time_whoever_reads(
    rig: NodeRig, clock: SetClock, *, reads: bool
) -> None:
    phone = await limited_phone(rig, Limits(expires_at=int(NOON) + 60))
    request = question()
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, TextDelta("w"))
    await next_event(call)
    if not reads:
        call.cancel()
        await phone.channel.close()
    clock.advance(61)
    if reads:
        assert await code_of(call) is grpc.StatusCode.PERMISSION_DENIED
        assert isinstance(await refused(phone, question()), UnpairedError)
    async with asyncio.timeout(SOON_S):
        assert await rig.engine.closed.get() == request.id


@pytest.mark.attack(25)
async def test_the_hours_of_the_home_behind_a_device_hold_for_it(
    rig: NodeRig, clock: SetClock
) -> None:
    home = throwaway_identity()
    entry = replace(paired_device(home, DeviceRole.PEER), limits=Limits(hours="08:00-13:00"))
    rig.running.store.add(entry)
    phone = await limited_phone(rig, Limits(), DeviceRole.GUEST, introduced_by=home.device_id)
    await started(rig, phone, question())
    clock.advance(3600)
    assert isinstance(await refused(phone, question()), RefusedError)


def direct_calls(phone: Phone) -> dict[str, object]:
    """Calls that the phone's program would not make then, by name."""
    some = "gen-" + "0" * 32
    timeout = DEADLINE_S
    return {
        "Generate": asked(phone, question()),
        "Resume": phone.inference.Resume(wire.ResumeRequest(generation_id=some), timeout=timeout),
        "Ack": phone.inference.Ack(wire.AckRequest(generation_id=some), timeout=timeout),
        "Cancel": phone.inference.Cancel(wire.CancelRequest(generation_id=some), timeout=timeout),
    }


@pytest.mark.attack(25)
@pytest.mark.parametrize("name", ["Generate", "Resume", "Ack", "Cancel"])
async def test_direct_calls_are_refused_without_the_scope_and_outside_the_hours(
    rig: NodeRig, name: str
) -> None:
    without = await rig.phone(DeviceRole.MEMBER, frozenset({Scope.TOOLS}))
    closed = await limited_phone(rig, Limits(hours="none"))
    for phone in (without, closed):
        call = direct_calls(phone)[name]
        assert isinstance(await refusal(call), RefusedError)  # type: ignore[arg-type]  # of two kinds


@pytest.mark.attack(25)
async def test_a_scope_that_is_taken_away_ends_what_runs(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits())
    request = question()
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, TextDelta("w"))
    await next_event(call)
    await rig.running.desk.grant(
        phone.identity.device_id, DeviceRole.MEMBER, frozenset({Scope.JOBS}), Limits(), CONSOLE
    )
    assert await code_of(call) is grpc.StatusCode.PERMISSION_DENIED
    assert isinstance(await refused(phone, question()), RefusedError)


def test_the_look_at_what_runs_is_often_enough() -> None:
    assert 2 * TICK_S <= SOON_S
