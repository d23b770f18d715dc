"""Attack 25: a paired device tries to use more tokens, streams or calls than it may.

Expected: whatever it says, cancels, repeats, opens or connects with, one account's use is one sum.
Nothing is written beyond what is left of a budget, and what was computed stays counted.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.localsocket import open_local_channel
from homing_core.access import DeviceRole, Limits
from homing_core.errors import NotFoundError, OverloadedError, RefusedError, UnavailableError
from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    Priority,
    Sampled,
    TextDelta,
    Usage,
)
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.config import NodeConfig
from homing_node.devices.ledger import UsageLedger
from homing_node.door.floor import Reason
from homing_node.door_section import SecuritySection
from homing_node.generations.counting import prompt_tokens
from homing_node.limit_sections import CeilingSection, LimitsSection
from homing_node.rpc.device_control import DeviceControlClient
from homing_proto.v1 import devices_pb2, devices_pb2_grpc, inference_pb2
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
    words,
)
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, next_event, node_rig, refusal, within
from support.raw_h2 import (
    ACK,
    DATA,
    END_HEADERS,
    HEADERS,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    RawClient,
    frame,
    headers,
    raw_client,
    tls,
)
from support.told import told

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_crypto.identity import DeviceIdentity
    from homing_node.values import DayView

STOP = Done(FinishReason.STOP)
DAY_S = 24 * 3600
BUDGET = Limits(tokens_per_day=1000)


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def rig(tmp_path: Path, clock: SetClock) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path, clock=clock) as running:
        yield running


def used_up(event: object) -> bool:
    return isinstance(event, Failed) and event.code == "overloaded" and "used up" in event.what


@pytest.mark.attack(25)
async def test_neither_max_tokens_nor_samples_get_round_the_budget(rig: NodeRig) -> None:
    phone = await limited_phone(rig, BUDGET)
    request = question(max_tokens=2_000_000_000, samples=16)
    call = asked(phone, request)
    taken = await within(rig.engine.started.get())
    most = taken.sampling.max_tokens * taken.samples + prompt_tokens(request)
    assert taken.sampling.max_tokens > 0
    assert most <= BUDGET.tokens_per_day
    call.cancel()
    without = question(max_tokens=0)
    second = await limited_phone(rig, BUDGET)
    await started(rig, second, without)
    assert (await refused(second, question())).retryable, "all that is left is promised"


@pytest.mark.attack(25)
async def test_an_engine_that_writes_on_is_stopped_when_the_budget_is_used_up(
    rig: NodeRig, clock: SetClock
) -> None:
    phone = await limited_phone(rig, BUDGET)
    request = question()
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, *words(2000))
    events = await rest(call)
    assert used_up(events[-1])
    assert len(events) <= BUDGET.tokens_per_day + 1
    error = await refused(phone, question())
    assert isinstance(error, OverloadedError)
    assert error.retry_after_ms > 0
    assert "used up" in error.what
    assert (await described(phone)).own.tokens_left == 0
    clock.advance(DAY_S + 120)
    again = question()
    call = await started(rig, phone, again)
    rig.engine.feed(again.id, STOP)
    assert await rest(call) == [STOP]


@pytest.mark.attack(25)
async def test_answers_at_once_over_many_connections_share_one_budget(rig: NodeRig) -> None:
    identity = throwaway_identity()
    phones = [await limited_phone(rig, BUDGET, identity=identity) for _ in range(4)]
    promised = 0
    for phone in phones[:3]:
        request = question(max_tokens=300)
        call = asked(phone, request)
        taken = await within(rig.engine.started.get())
        promised += taken.sampling.max_tokens + prompt_tokens(request)
        rig.engine.feed(request.id, *words(10))
        await next_event(call)
    assert promised <= BUDGET.tokens_per_day
    error = await refused(phones[3], question(max_tokens=300, text="x" * 600))
    assert isinstance(error, OverloadedError)
    assert "promised" in error.what


@pytest.mark.attack(25)
async def test_more_ids_and_connections_give_no_more_streams(rig: NodeRig) -> None:
    identity = throwaway_identity()
    two = Limits(concurrent_streams=2)
    phones = [await limited_phone(rig, two, identity=identity) for _ in range(3)]
    first, second = question(), question()
    calls = [await started(rig, phones[0], first), await started(rig, phones[1], second)]
    error = await refused(phones[2], question())
    assert isinstance(error, OverloadedError)
    assert "2 answers" in error.what
    rig.engine.feed(first.id, STOP)
    assert await rest(calls[0]) == [STOP]
    await started(rig, phones[2], question())


@pytest.mark.attack(25)
async def test_what_is_cancelled_or_left_before_its_end_stays_counted(rig: NodeRig) -> None:
    phone = await limited_phone(rig, BUDGET)
    for _ in range(50):
        request = question("x" * 300, max_tokens=50)
        call = asked(phone, request)
        taken = await within(rig.engine.started.get())
        rig.engine.feed(taken.id, *words(20))
        await next_event(call)
        await phone.inference.Cancel(
            inference_pb2.CancelRequest(generation_id=request.id), timeout=DEADLINE_S
        )
        await within(rig.engine.closed.get())
        if (await described(phone)).own.tokens_left < 170:
            break
    else:
        pytest.fail("it could go on for ever")
    assert isinstance(await refused(phone, question("x" * 300)), OverloadedError)


@pytest.mark.attack(25)
async def test_a_new_key_of_the_same_account_has_no_new_budget(rig: NodeRig) -> None:
    phone = await limited_phone(rig, BUDGET)
    request = question()
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, *words(2000))
    await rest(call)
    rotated = await limited_phone(rig, BUDGET, account=phone.identity.device_id)
    assert (await described(rotated)).own.tokens_left == 0
    assert isinstance(await refused(rotated, question()), OverloadedError)


@pytest.mark.attack(25)
@pytest.mark.parametrize("wall", [0.0, 1_800_000_000.0 - DAY_S, 1_800_000_000.0 + 20 * 365 * DAY_S])
async def test_a_clock_that_is_set_brings_no_tokens(
    tmp_path: Path, clock: SetClock, wall: float
) -> None:
    async with node_rig(tmp_path, clock=clock) as rig:
        phone = await limited_phone(rig, BUDGET)
        request = question()
        call = await started(rig, phone, request)
        rig.engine.feed(request.id, *words(2000))
        await rest(call)
        clock.set(wall)
        assert isinstance(await refused(phone, question()), OverloadedError)
    later = SetClock(wall)
    async with node_rig(tmp_path, clock=later) as rig:
        again = await rig.dial(phone.identity)
        assert isinstance(await refused(again, question()), OverloadedError)
        later.advance(DAY_S + 120)
        await started(rig, again, question())


@pytest.mark.attack(25)
async def test_the_devices_of_another_home_share_that_homes_budget(rig: NodeRig) -> None:
    home = throwaway_identity()
    rig.running.store.add(
        replace(paired_device(home, DeviceRole.PEER, name="attic"), limits=BUDGET)
    )
    first, second = [
        await limited_phone(rig, Limits(), DeviceRole.GUEST, introduced_by=home.device_id)
        for _ in range(2)
    ]
    request = question()
    call = await started(rig, first, request)
    rig.engine.feed(request.id, *words(2000))
    assert used_up((await rest(call))[-1])
    error = await refused(second, question())
    assert isinstance(error, OverloadedError)
    assert "home that vouches" in error.what


@pytest.mark.attack(25)
async def test_a_grant_that_lowers_the_budget_stops_what_runs(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits())
    request = question()
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, *words(60))
    for _ in range(60):
        await next_event(call)
    await grant(rig, phone, Limits(tokens_per_day=50))
    rig.engine.feed(request.id, *words(5))
    assert used_up((await rest(call))[-1])


@pytest.mark.attack(25)
async def test_what_the_engine_counts_is_what_counts(rig: NodeRig) -> None:
    phone = await limited_phone(rig, BUDGET)
    request = question()
    call = await started(rig, phone, request)
    sampled = Sampled(1, TextDelta("w"))
    usage = Usage(500, 200, 90, 1.0, 1.0)
    rig.engine.feed(request.id, sampled, usage, STOP)
    assert await rest(call) == [sampled, usage, STOP]
    assert (await described(phone)).own.tokens_left == 1000 - (500 - 200) - 90


@pytest.mark.attack(25)
async def test_a_limited_device_is_refused_while_its_use_cannot_be_noted(
    rig: NodeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: object) -> None:
        msg = "cannot use the usage ledger now"
        raise UnavailableError(msg)

    monkeypatch.setattr(UsageLedger, "begin", full)
    phone = await limited_phone(rig, BUDGET)
    (event,) = await rest(asked(phone, question()))
    assert isinstance(event, Failed)
    assert "ledger" in event.what
    await started(rig, await rig.phone(), question())


@pytest.mark.attack(25)
async def test_a_guest_does_not_become_a_person_of_the_household_by_saying_so(
    rig: NodeRig,
) -> None:
    guest = await rig.phone(DeviceRole.GUEST)
    request = replace(question(), priority=Priority.INTERACTIVE)
    call = asked(guest, request)
    taken = await within(rig.engine.started.get())
    assert (taken.priority, taken.owner) == (Priority.JOB, guest.identity.device_id)
    call.cancel()
    message = devices_pb2.GrantDeviceRequest(id=guest.identity.device_id, role="DEVICE_ROLE_OWNER")
    change = devices_pb2_grpc.DevicesServiceStub(guest.channel).GrantDevice(
        message, timeout=DEADLINE_S
    )
    assert isinstance(await refusal(change), RefusedError)
    assert (await described(guest)).role is DeviceRole.GUEST


CALLS = LimitsSection(
    calls_per_second=0.5, calls_burst=20, calls_at_once=5, guest=CeilingSection(tokens_per_day=9)
)


@pytest.mark.attack(25)
async def test_many_calls_are_refused_for_the_moment_and_only_for_the_one_who_makes_them(
    tmp_path: Path, clock: SetClock
) -> None:
    config = NodeConfig(LOOPBACK.node, LOOPBACK.listen, LOOPBACK.discovery, limits=CALLS)
    async with node_rig(tmp_path, config, clock=clock) as rig:
        noisy, other = await rig.phone(), await rig.phone()
        for _ in range(CALLS.calls_burst):
            await described(noisy)
        again = await rig.dial(noisy.identity)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await described(again)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await described(other)
        clock.advance(2)
        await described(noisy)


@pytest.mark.attack(25)
async def test_one_device_cannot_hold_all_calls_of_the_node_open(
    tmp_path: Path, clock: SetClock
) -> None:
    config = NodeConfig(LOOPBACK.node, LOOPBACK.listen, LOOPBACK.discovery, limits=CALLS)
    async with node_rig(tmp_path, config, clock=clock) as rig:
        phone = await rig.phone()
        request = question()
        calls = [await started(rig, phone, request)]
        rig.engine.feed(request.id, TextDelta("w"))
        await next_event(calls[0])
        for _ in range(CALLS.calls_at_once - 1):
            calls.append(asked(phone, request))  # the same id: each only attaches
            await next_event(calls[-1])
        error = await refused(phone, request)
        assert isinstance(error, OverloadedError)
        assert "5 calls open" in error.what
        await described(await rig.phone())
        for call in calls:
            call.cancel()


@pytest.mark.attack(25)
@pytest.mark.parametrize("reset", [True, False], ids=["reset_at_once", "asked_and_ignored"])
async def test_a_flood_of_calls_is_cut_at_the_door_and_the_owner_is_served(
    tmp_path: Path, *, reset: bool
) -> None:
    """Calls far beyond the rate, some taken back at once: the refusals alone are work."""
    config = replace(
        LOOPBACK,
        limits=LimitsSection(calls_burst=20),
        security=SecuritySection("preferred"),  # for Python's own TLS
    )
    async with node_rig(tmp_path, config) as rig:
        owner, guest = await rig.phone(), throwaway_identity()
        rig.running.store.add(paired_device(guest, DeviceRole.GUEST))
        with told() as log:
            flooding = asyncio.create_task(flood(rig.running.port, guest, reset=reset))
            for _ in range(20):
                async with asyncio.timeout(2):
                    await described(owner)
            await asyncio.wait_for(flooding, DEADLINE_S)
            await log.until("door.refused", reason=Reason.EXPELLED.value)
            await log.until("call.refused", reason="this device makes far too many calls")
        await described(owner)


async def flood(port: int, guest: DeviceIdentity, *, reset: bool) -> None:
    """Until the node has had enough."""
    end = frame(RST_STREAM, 0, 0, (8).to_bytes(4, "big")) if reset else frame(DATA, 1, 0, bytes(5))
    block = headers("/homing_proto.v1.NodeService/GetNode")
    async with raw_client(port, tls(guest)) as client:
        await client.send(PREFACE, frame(SETTINGS, 0, 0))
        over = asyncio.create_task(polite(client))
        stream = 1
        while not over.done():
            words = b""
            for number in range(stream, stream + 40, 2):
                words += frame(HEADERS, END_HEADERS, number, block)
                words += end[:5] + number.to_bytes(4, "big") + end[9:]
            stream += 40
            with contextlib.suppress(OSError):
                await client.send(words)
            await asyncio.sleep(0.005)
        await over


async def polite(client: RawClient) -> None:
    """Acknowledge what HTTP/2 wants acknowledged, until the connection is cut."""
    async for kind, flags, _stream, content in client.frames():
        if kind in {PING, SETTINGS} and not flags & ACK:
            with contextlib.suppress(OSError):
                await client.send(frame(kind, ACK, 0, content if kind == PING else b""))


@pytest.mark.attack(25)
async def test_guests_leave_places_to_the_household(tmp_path: Path) -> None:
    generations = replace(LOOPBACK.generations, running=4)
    config = NodeConfig(LOOPBACK.node, LOOPBACK.listen, LOOPBACK.discovery, generations=generations)
    async with node_rig(tmp_path, config) as rig:
        for _ in range(3):
            await started(rig, await rig.phone(DeviceRole.GUEST), question())
        error = await refused(await rig.phone(DeviceRole.GUEST), question())
        assert isinstance(error, OverloadedError)
        await started(rig, await rig.phone(), question())


@pytest.mark.attack(25)
async def test_a_refused_request_is_seen_in_the_ledger_and_costs_nothing(rig: NodeRig) -> None:
    phone = await limited_phone(rig, Limits(models=("none",)))
    assert isinstance(await refused(phone, question()), NotFoundError)
    assert rig.engine.started.empty()
    days = await usage(rig, phone.identity.device_id)
    assert [(day.generations, day.refusals) for day in days] == [(0, 1)]


async def usage(rig: NodeRig, account: str) -> list[DayView]:
    async with open_local_channel(rig.paths, "") as channel:
        (found,) = await DeviceControlClient(channel).usage(account, 1)
    return list(found.days)


@pytest.mark.attack(25)
async def test_an_answer_that_the_budget_cut_short_says_so(rig: NodeRig) -> None:
    phone = await limited_phone(rig, BUDGET)
    request = question(max_tokens=5000)
    call = await started(rig, phone, request)
    rig.engine.feed(request.id, TextDelta("word"), Usage(20, 0, 980, 1, 1))
    rig.engine.feed(request.id, Done(FinishReason.LENGTH))
    *_, last = await rest(call)
    assert used_up(last)
    within_it = await limited_phone(rig, BUDGET)
    request = question(max_tokens=5)
    call = await started(rig, within_it, request)
    rig.engine.feed(request.id, *words(5), Done(FinishReason.LENGTH))
    assert (await rest(call))[-1] == Done(FinishReason.LENGTH)
