"""Attack 3: somebody has a recording of a whole pairing, and replays it."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_client.rpc import code_calls
from homing_core.errors import ConflictError, HomingError
from homing_crypto.credentials import pairing_channel
from homing_crypto.pairing.pinned import fetch_unproven
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import throwaway_identity
from homing_node.values import Paired, WrongCodeTyped
from homing_proto.v1 import pairing_code_pb2 as wire
from homing_proto.v1 import pairing_code_pb2_grpc
from support.code_pairing import CodePhone, code_door
from support.node_pairing import pair
from support.node_rig import DEADLINE_S, NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from homing_core.addresses import Address
    from homing_crypto.pairing.code_proof import CodeReply, CodeStart, Entry, Recognition

Message = wire.StartCodeRequest | wire.ConfirmCodeRequest | wire.AwaitEntryRequest


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """Everything that the phone sends."""
    sent: list[Message] = []
    start, confirm, enter = code_calls.start, code_calls.confirm, code_calls.enter

    async def noted_start(
        channel: grpc.aio.Channel, asked: CodeStart, timeout_s: float
    ) -> CodeReply:
        sent.append(
            wire.StartCodeRequest(
                version=asked.version,
                attempt_id=asked.attempt_id,
                certificate_der=asked.certificate_der,
                hpke_public_key=asked.hpke_public_key,
                hpke_signature=asked.hpke_signature,
                name=asked.name,
                nonce=asked.nonce,
                message=asked.message,
            )
        )
        return await start(channel, asked, timeout_s)

    async def noted_confirm(
        channel: grpc.aio.Channel, attempt_id: str, confirmation: bytes, timeout_s: float
    ) -> Recognition:
        sent.append(wire.ConfirmCodeRequest(attempt_id=attempt_id, confirmation=confirmation))
        return await confirm(channel, attempt_id, confirmation, timeout_s)

    async def noted_enter(channel: grpc.aio.Channel, attempt_id: str, timeout_s: float) -> Entry:
        sent.append(wire.AwaitEntryRequest(attempt_id=attempt_id))
        return await enter(channel, attempt_id, timeout_s)

    monkeypatch.setattr(code_calls, "start", noted_start)
    monkeypatch.setattr(code_calls, "confirm", noted_confirm)
    monkeypatch.setattr(code_calls, "enter", noted_enter)
    return sent


@contextlib.asynccontextmanager
async def stub_at(
    address: Address,
) -> AsyncGenerator[pairing_code_pb2_grpc.CodePairingServiceAsyncStub]:
    node = await fetch_unproven(address)
    async with pairing_channel(str(address), node) as channel:
        yield pairing_code_pb2_grpc.CodePairingServiceStub(channel)


async def replayed(
    stub: pairing_code_pb2_grpc.CodePairingServiceAsyncStub, sent: list[Message]
) -> list[HomingError | None]:
    """Send it all again: the error of each message, or None for an answer."""
    results: list[HomingError | None] = []
    for message in sent:
        try:
            match message:
                case wire.StartCodeRequest():
                    await stub.StartCode(message, timeout=DEADLINE_S)
                case wire.ConfirmCodeRequest():
                    await stub.ConfirmCode(message, timeout=DEADLINE_S)
                case wire.AwaitEntryRequest():
                    await stub.AwaitEntry(message, timeout=DEADLINE_S)
            results.append(None)
        except grpc.aio.AioRpcError as error:
            results.append(error_from_rpc(error))
    return results


@pytest.mark.attack(3)
async def test_a_recorded_code_pairing_opens_no_later_window_and_changes_nothing_in_its_own(
    rig: NodeRig, recording: list[Message]
) -> None:
    """In its own window it is the repetition of a lost answer; in another it is a wrong guess."""
    phone = CodePhone()
    async with code_door(rig) as door:
        pairing = asyncio.create_task(phone.pair(door))
        await door.answer(allow=True)
        await pairing
        await door.expect(Paired)
        before = rig.running.store.devices()
        async with stub_at(door.address) as stub:
            assert await replayed(stub, list(recording)) == [None, None, None]
        assert rig.running.store.devices() == before
    await (await rig.control()).revoke(phone.identity.device_id)
    async with code_door(rig) as later, stub_at(later.address) as stub:
        start, confirm, enter = await replayed(stub, list(recording))
        assert start is None  # anybody may start
        assert "2 tries left" in str(confirm)
        assert "no such pairing" in str(enter)
        assert await later.next() == WrongCodeTyped(2)
    (device,) = rig.running.store.devices()
    assert device.revoked_at


@pytest.mark.attack(3)
async def test_a_used_link_pairs_nobody_again_whichever_way_the_window_was_used(
    rig: NodeRig,
) -> None:
    """Also the link of a window that a code has ended is a used link, then and later."""
    phone, thief = CodePhone(), throwaway_identity()
    async with code_door(rig) as door:
        pairing = asyncio.create_task(phone.pair(door))
        await door.answer(allow=True)
        await pairing
        await door.expect(Paired)
        with pytest.raises(ConflictError, match="already used"):
            await pair(door.link, thief)
    async with code_door(rig) as later:
        with pytest.raises(ConflictError, match="already used"):
            await pair(replace(door.link, addresses=later.link.addresses), thief)
    assert [device.id for device in rig.running.store.devices()] == [phone.identity.device_id]
