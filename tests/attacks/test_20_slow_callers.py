"""Attack 20: callers who take for ever, before TLS and after it.

Expected: who has proved nothing is cut at a deadline, with the reason in the log, however it fills
the time; a paired device holds up nobody else, however slow it is, and a call whose message does
not come is ended in time. The same holds at the pairing port.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole
from homing_crypto.rpc_requests import RequestLimits
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.door.floor import Reason
from homing_node.door_section import DoorSection, SecuritySection
from homing_node.limit_sections import LimitsSection
from homing_node.rpc import servers
from homing_proto.v1 import node_pb2
from support.code_pairing import code_door
from support.hellos import GOOD
from support.node_pairing import pair
from support.node_rig import LOOPBACK, NodeRig, node_rig, within
from support.raw_h2 import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
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

GET_NODE = "/homing_proto.v1.NodeService/GetNode"
CONFIG = dataclasses.replace(
    LOOPBACK,
    door=DoorSection(hello_seconds=0.4, proof_seconds=0.6),
    # Only so that Python's own TLS, which may not know the hybrid, can play the slow caller.
    security=SecuritySection("preferred"),
)
PAUSE_S = 0.02


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path, CONFIG) as running:
        yield running


async def others_are_served(rig: NodeRig) -> None:
    async with asyncio.timeout(2):
        phone = await rig.phone()
        await phone.node.GetNode(node_pb2.GetNodeRequest())


async def trickle(writer: asyncio.StreamWriter, words: bytes) -> None:
    """Byte by byte, until the other side has had enough."""
    with contextlib.suppress(OSError):
        for byte in words:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(PAUSE_S)


@pytest.mark.attack(20)
async def test_a_greeting_byte_by_byte_is_cut_in_time(rig: NodeRig) -> None:
    with told() as log:
        reader, writer = await asyncio.open_connection("127.0.0.1", rig.running.port)
        slow = asyncio.create_task(trickle(writer, GOOD))
        await others_are_served(rig)
        assert await within(reader.read()) == b""
        await log.until("door.refused", reason=Reason.NO_HELLO.value, address="127.0.0.1")
        slow.cancel()
        writer.transport.abort()


@pytest.mark.attack(20)
async def test_a_greeting_and_then_silence_is_cut_in_time(rig: NodeRig) -> None:
    with told() as log:
        reader, writer = await asyncio.open_connection("127.0.0.1", rig.running.port)
        writer.write(GOOD)
        await others_are_served(rig)
        with contextlib.suppress(OSError):
            while await within(reader.read(4096)):
                pass
        await log.until("door.refused", reason=Reason.NO_PROOF.value)
        writer.transport.abort()


@pytest.mark.attack(20)
@pytest.mark.parametrize("words", [b"", PREFACE + frame(SETTINGS, 0, 0)], ids=["silent", "polite"])
async def test_a_whole_handshake_without_a_call_is_cut_in_time(rig: NodeRig, words: bytes) -> None:
    """Even with a paired device's certificate: a connection that asks nothing is of no use."""
    phone = throwaway_identity()
    rig.running.store.add(paired_device(phone))
    with told() as log:
        async with raw_client(rig.running.port, tls(phone)) as client:
            await client.send(words)
            await client.closed()
        await log.until("door.refused", reason=Reason.NO_PROOF.value)
    await others_are_served(rig)


async def proven(client: RawClient) -> None:
    """One whole call."""
    await client.send(
        PREFACE,
        frame(SETTINGS, 0, 0),
        frame(HEADERS, END_HEADERS, 1, headers(GET_NODE)),
        frame(DATA, END_STREAM, 1, bytes(5)),
    )
    assert await client.end_of(1)


@pytest.mark.attack(20)
@pytest.mark.parametrize("part", ["headers", "data", "frame_header"])
async def test_a_paired_device_that_dribbles_holds_up_nobody(rig: NodeRig, part: str) -> None:
    phone = throwaway_identity()
    rig.running.store.add(paired_device(phone))
    block = headers(GET_NODE)
    words = {
        "headers": frame(HEADERS, 0, 3, block[:5])
        + b"".join(frame(CONTINUATION, 0, 3, block[at : at + 1]) for at in range(5, 40)),
        "data": frame(HEADERS, END_HEADERS, 3, block)
        + b"".join(frame(DATA, 0, 3, byte) for byte in [b"\x00", b"\x00", b"\x00", b"\xff"] * 10),
        "frame_header": b"\x00\x00\x40" * 20,
    }[part]
    async with contextlib.AsyncExitStack() as stack:
        slow: list[asyncio.Task[None]] = []
        for _ in range(8):
            client = await stack.enter_async_context(raw_client(rig.running.port, tls(phone)))
            await proven(client)
            slow.append(asyncio.create_task(trickle(client.writer, words)))
        for _ in range(5):
            await others_are_served(rig)
        assert not all(task.done() for task in slow)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
    await others_are_served(rig)


@pytest.mark.attack(20)
async def test_a_revoked_device_cannot_sit_on_its_connection(
    rig: NodeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls are refused at once, and a moment later the connection itself is cut."""
    monkeypatch.setattr("homing_node.entrance.TOLD_S", 0.1)
    phone = throwaway_identity()
    rig.running.store.add(paired_device(phone))
    with told() as log:
        async with raw_client(rig.running.port, tls(phone)) as client:
            await proven(client)
            await rig.running.desk.revoke(phone.device_id, "console")
            await client.closed()
        await log.until("door.refused", reason=Reason.EXPELLED.value)
    await others_are_served(rig)


@pytest.mark.attack(20)
async def test_calls_whose_message_never_comes_keep_no_one_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest begins far more calls than the node takes at once, on many connections."""
    quick = RequestLimits(seconds=1.0)
    monkeypatch.setattr(servers, "MAIN_REQUESTS", quick)
    limits = LimitsSection(calls_per_second=10_000, calls_burst=10_000, calls_at_once=20)
    async with node_rig(tmp_path, dataclasses.replace(CONFIG, limits=limits)) as rig:
        owner = await rig.phone()
        await owner.node.GetNode(node_pb2.GetNodeRequest())
        guest = throwaway_identity()
        rig.running.store.add(paired_device(guest, DeviceRole.GUEST))
        unread = [
            frame(HEADERS, END_HEADERS, stream, headers(GET_NODE)) for stream in range(3, 143, 2)
        ]
        async with contextlib.AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(raw_client(rig.running.port, tls(guest)))
                for _ in range(16)
            ]
            for client in clients:
                await proven(client)
            for client in clients:  # 1,120 calls
                await client.send(*unread)
            for _ in range(10):
                async with asyncio.timeout(2):
                    await owner.node.GetNode(node_pb2.GetNodeRequest())
            assert await clients[0].end_of(3), "it is told that its request did not come in time"


@pytest.mark.attack(20)
async def test_strangers_unfinished_calls_do_not_close_a_pairing_window(rig: NodeRig) -> None:
    """More calls than the pairing port takes at once; none of them ever says anything."""
    pairing = "/homing_proto.v1.PairingService/Pair"
    begun = [frame(HEADERS, END_HEADERS, stream, headers(pairing)) for stream in range(1, 33, 2)]
    async with code_door(rig) as door, contextlib.AsyncExitStack() as stack:
        for _ in range(40):
            client = await stack.enter_async_context(raw_client(door.address.port, tls()))
            await client.send(PREFACE, frame(SETTINGS, 0, 0), *begun)
        phone = throwaway_identity()
        await within(pair(door.link, phone))
        assert rig.running.store.lookup(phone.device_id) is not None
