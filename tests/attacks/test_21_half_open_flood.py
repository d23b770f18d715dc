"""Attack 21: strangers take connections, half-open or silent, while a paired phone connects.

Expected: the phone is served within 2 s, whether the strangers call from another address or from
its own; nobody already connected notices; a new phone gets in beside 300 silent connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.door.floor import Reason
from homing_node.door_section import DoorSection
from homing_proto.v1 import node_pb2
from support.floods import flood
from support.hellos import GOOD
from support.lone_node import lone_node
from support.node_rig import LOOPBACK, NodeRig, node_rig, within
from support.told import told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

AT_MOST_S = 2.0
NEW_PHONES = 3


async def new_phone_is_served(rig: NodeRig) -> None:
    """A fresh connection of a paired phone, and its first answer."""
    phone = throwaway_identity()
    rig.running.store.add(paired_device(phone))
    async with asyncio.timeout(AT_MOST_S):
        dialled = await rig.dial(phone)
        answer = await dialled.node.GetNode(node_pb2.GetNodeRequest())
    assert answer.name == "den"
    await dialled.channel.close()


@pytest.mark.attack(21)
@pytest.mark.parametrize("source", ["127.0.0.2", "127.0.0.1"], ids=["elsewhere", "phones_own"])
@pytest.mark.parametrize("kind", ["silent", "hello"])
async def test_a_paired_phone_connects_in_time_during_a_flood(
    tmp_path: Path, kind: str, source: str
) -> None:
    """As fast as one process can, for silence; 200 greetings a second, each of which costs gRPC a
    handshake. The phone calls from 127.0.0.1.
    """
    rate = 0 if kind == "silent" else 200
    async with node_rig(tmp_path) as rig:
        before = await rig.phone()
        await before.node.GetNode(node_pb2.GetNodeRequest())
        async with flood(rig.running.port, kind, source, rate) as strangers:
            for _ in range(NEW_PHONES):
                await new_phone_is_served(rig)
            async with asyncio.timeout(AT_MOST_S):
                await before.node.GetNode(node_pb2.GetNodeRequest())
        assert strangers.opened >= 50


@contextlib.asynccontextmanager
async def silent(port: int, count: int, words: bytes = b"") -> AsyncGenerator[list[socket.socket]]:
    """So many connections that say this and then nothing."""
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as stack:
        held: list[socket.socket] = []
        for _ in range(count):
            made = stack.enter_context(socket.socket())
            made.setblocking(False)  # noqa: FBT003  # the method takes nothing else
            await within(loop.sock_connect(made, ("127.0.0.1", port)))
            if words:
                await within(loop.sock_sendall(made, words))
            held.append(made)
        yield held


@pytest.mark.attack(21)
@pytest.mark.parametrize("words", [b"", GOOD[:20], GOOD], ids=["nothing", "half", "greeting"])
async def test_300_silent_connections_keep_no_new_phone_out(tmp_path: Path, words: bytes) -> None:
    """From the phone's own address, and all still open when it comes."""
    async with node_rig(tmp_path) as rig, silent(rig.running.port, 300, words):
        for _ in range(NEW_PHONES):
            await new_phone_is_served(rig)


@pytest.mark.attack(21)
@pytest.mark.parametrize("door", ["true", "false"])
async def test_greetings_by_the_hundred_end_no_node(tmp_path: Path, door: str) -> None:
    """They once did: gRPC freed what other handshakes used (see `homing_crypto.credentials`)."""
    async with lone_node(tmp_path, HOMING_NODE_DOOR_ENABLED=door) as node:
        async with (
            flood(node.port, "hello", "127.0.0.2", most=100, enough=3000),
            flood(node.port, "hello", "127.0.0.3", most=100, enough=3000),
        ):
            pass
        await node.answers()


@pytest.mark.attack(21)
async def test_without_a_door_silence_does_keep_phones_out(tmp_path: Path) -> None:
    """What the door is for: as many silent connections as gRPC takes, and nobody else gets in."""
    config = dataclasses.replace(LOOPBACK, door=DoorSection(enabled=False))
    async with node_rig(tmp_path, config) as rig, silent(rig.running.port, 600):
        with pytest.raises((TimeoutError, grpc.aio.AioRpcError)):
            await new_phone_is_served(rig)


@pytest.mark.attack(21)
async def test_a_flood_fills_no_log(tmp_path: Path) -> None:
    """The first of a kind is told at once, all others in one line a minute."""
    settings = DoorSection(waiting=50, waiting_per_address=20)
    config = dataclasses.replace(LOOPBACK, door=settings)
    with told() as log:
        async with node_rig(tmp_path, config) as rig:
            async with silent(rig.running.port, 200, b"\x16"):
                await log.until("door.refused", reason=Reason.CROWDED_OUT.value)
            await new_phone_is_served(rig)
        assert len(log.of("door.refused")) <= 3
