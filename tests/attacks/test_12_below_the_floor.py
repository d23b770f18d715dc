"""Attack 12: old TLS, classical key exchange, or none at all.

Expected: the front door refuses before gRPC has computed anything, says why in the log and, where
TLS has a word for it, to the caller; the node goes on. Without a door, every call is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import ssl
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from homing_client.dial_failures import explain
from homing_client.rpc.node_calls import NodeCalls
from homing_core.errors import HomingError, UnavailableError
from homing_crypto.credentials import client_channel
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.door.floor import Reason, alert
from homing_node.door_section import DoorSection, SecuritySection
from homing_proto.v1 import node_pb2, node_pb2_grpc
from support.hellos import P256, TLS_1_2, X25519, X25519MLKEM768, client_hello, records
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, node_rig, within
from support.raw_h2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    SETTINGS,
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
HELLO_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
"""The random value of a ServerHello that asks for another key (RFC 8446, 4.1.3)."""


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


async def goes_on(rig: NodeRig) -> bool:
    """Whether a paired phone is served."""
    phone = await rig.phone()
    return (await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)).name == "den"


async def answer(rig: NodeRig, words: bytes) -> bytes:
    """What comes back until the other side closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.running.port)
    writer.write(words)
    try:
        return await within(reader.read())
    finally:
        await closed(writer)


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await within(writer.wait_closed())


@pytest.mark.attack(12)
@pytest.mark.parametrize(
    ("most", "word", "reason"),
    [
        (ssl.TLSVersion.TLSv1_2, "PROTOCOL_VERSION", Reason.OLD_TLS),
        (ssl.TLSVersion.TLSv1_3, "INSUFFICIENT_SECURITY", Reason.NOT_HYBRID),
    ],
)
async def test_an_old_handshake_even_of_a_paired_device_is_refused_and_said(
    rig: NodeRig, most: ssl.TLSVersion, word: str, reason: Reason
) -> None:
    phone = throwaway_identity()
    rig.running.store.add(paired_device(phone))
    with told() as log:
        with pytest.raises(ssl.SSLError, match=word):
            async with raw_client(rig.running.port, tls(phone, most)):
                pass
        entry = await log.until("door.refused", reason=reason.value)
        assert entry["address"] == "127.0.0.1"
        assert await goes_on(rig)


@pytest.mark.attack(12)
@pytest.mark.parametrize(
    ("words", "reply", "reason"),
    [
        (records(client_hello((TLS_1_2,))), alert(Reason.OLD_TLS), Reason.OLD_TLS),
        (records(client_hello(())), alert(Reason.OLD_TLS), Reason.OLD_TLS),
        (records(client_hello(groups=(X25519, P256))), alert(Reason.NOT_HYBRID), Reason.NOT_HYBRID),
        (PREFACE + frame(SETTINGS, 0, 0), b"", Reason.PLAINTEXT),
        (b"GET / HTTP/1.1\r\nHost: node\r\n\r\n", b"", Reason.PLAINTEXT),
        (b"SSH-2.0-OpenSSH_9.9\r\n", b"", Reason.NOT_TLS),
        (bytes(64), b"", Reason.NOT_TLS),
        (records(b"\x01\x00\x00\x05short"), alert(Reason.MALFORMED), Reason.MALFORMED),
    ],
    ids=lambda value: value.name if isinstance(value, Reason) else "",
)
async def test_whatever_is_below_the_floor_is_refused_with_its_reason_in_the_log(
    rig: NodeRig, words: bytes, reply: bytes, reason: Reason
) -> None:
    with told() as log:
        assert await answer(rig, words) == reply
        await log.until("door.refused", reason=reason.value, address="127.0.0.1", count=1)
        assert await goes_on(rig)


@pytest.mark.attack(12)
async def test_grpc_without_tls_is_refused(rig: NodeRig) -> None:
    with told() as log:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{rig.running.port}") as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await node_pb2_grpc.NodeServiceStub(channel).GetNode(
                    node_pb2.GetNodeRequest(), timeout=10
                )
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        await log.until("door.refused", reason=Reason.PLAINTEXT.value)
        assert await goes_on(rig)


@pytest.mark.attack(12)
async def test_who_offers_the_hybrid_without_a_key_for_it_is_asked_for_one(rig: NodeRig) -> None:
    """No refusal: a HelloRetryRequest, so that the hybrid is what comes of it."""
    hello = records(client_hello(groups=(X25519MLKEM768, X25519), shares=(X25519,)))
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.running.port)
    writer.write(hello)
    reply = await within(reader.readuntil(HELLO_RETRY))
    assert reply[:1] == b"\x16"
    assert X25519MLKEM768.to_bytes(2, "big") in await within(reader.read(200))
    await closed(writer)


@pytest.mark.attack(12)
@pytest.mark.parametrize(
    ("most", "floor", "let_in"),
    [
        (ssl.TLSVersion.TLSv1_2, "required", False),
        (ssl.TLSVersion.TLSv1_2, "preferred", False),
        (ssl.TLSVersion.TLSv1_3, "required", False),
        (ssl.TLSVersion.TLSv1_3, "preferred", True),
    ],
)
async def test_without_a_door_every_call_below_the_floor_is_refused(
    tmp_path: Path, most: ssl.TLSVersion, floor: str, *, let_in: bool
) -> None:
    """The second line: gRPC takes the handshake, the guard no call; the log says which and why."""
    config = dataclasses.replace(
        LOOPBACK, door=DoorSection(enabled=False), security=SecuritySection(floor)
    )
    phone = throwaway_identity()
    with told() as log:
        async with node_rig(tmp_path, config) as rig:
            rig.running.store.add(paired_device(phone))
            async with raw_client(rig.running.port, tls(phone, most)) as client:
                await client.send(
                    PREFACE,
                    frame(SETTINGS, 0, 0),
                    frame(HEADERS, END_HEADERS, 1, headers(GET_NODE)),
                    frame(DATA, END_STREAM, 1, bytes(5)),
                )
                status = await client.end_of(1)
            assert status
            refused = log.of("call.refused", method=GET_NODE, address="127.0.0.1")
            assert bool(refused) is not let_in
            assert all(entry["device"] == phone.device_id for entry in refused)
            assert await goes_on(rig)


@pytest.mark.attack(12)
@pytest.mark.parametrize(
    ("reason", "says"),
    [(Reason.NOT_HYBRID, "post-quantum"), (Reason.OLD_TLS, "TLS 1.3")],
)
async def test_a_phone_that_is_refused_can_say_why(reason: Reason, says: str) -> None:
    """Its gRPC may be an old one: here a stand-in for the door refuses a good greeting."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        writer.write(alert(reason))
        await closed(writer)

    phone, node = throwaway_identity(), throwaway_identity()
    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with client_channel(f"127.0.0.1:{port}", phone, node.certificate) as channel:
            with pytest.raises(HomingError) as caught:
                await NodeCalls(channel).get_node(10)
    told_person = explain("den", {"127.0.0.1:1": caught.value}, "", knows_us_not=False)
    assert isinstance(told_person, UnavailableError)
    assert says in told_person.what
    assert told_person.hint == "Update Homing on this device."
