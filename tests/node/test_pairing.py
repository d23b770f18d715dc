from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.access import DEFAULT_SCOPES, DeviceRole, Scope
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    RefusedError,
    UnavailableError,
    UnpairedError,
)
from homing_crypto.credentials import pairing_channel
from homing_crypto.pairing.link import PairingLink, parse_link
from homing_crypto.pairing.pinned import fetch_certificate
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import throwaway_identity
from homing_node.config import PairingSection
from homing_node.values import Closed, Opened, Paired, PairingEvent, WrongGuess
from homing_proto.v1 import node_pb2
from support.node_pairing import pair
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, node_rig, send_raw, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from homing_node.rpc.control_client import ControlClient


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


@dataclass
class Door:
    """An open pairing, as the command line sees it."""

    link: PairingLink
    events: AsyncGenerator[PairingEvent, None]

    async def next(self) -> PairingEvent:
        return await within(anext(self.events))


@contextlib.asynccontextmanager
async def opened(
    rig: NodeRig, role: DeviceRole = DeviceRole.OWNER, seconds: int = 60
) -> AsyncGenerator[Door]:
    control: ControlClient = await rig.control()
    async with contextlib.aclosing(control.pair(role, seconds)) as events:
        first = await within(anext(events))
        assert isinstance(first, Opened)
        yield Door(parse_link(first.link), events)


def guessing(link: PairingLink) -> PairingLink:
    return replace(link, secret=bytes(16))


def listens(link: PairingLink) -> bool:
    with socket.socket() as probe:
        probe.settimeout(DEADLINE_S)
        return probe.connect_ex((link.addresses[0].host, link.addresses[0].port)) == 0


@pytest.mark.parametrize("role", [DeviceRole.OWNER, DeviceRole.MEMBER, DeviceRole.GUEST])
async def test_a_paired_device_is_known_at_once(rig: NodeRig, role: DeviceRole) -> None:
    identity = throwaway_identity()
    async with opened(rig, role) as door:
        node = await pair(door.link, identity)
        event = await door.next()
    assert isinstance(event, Paired)
    assert (event.device.id, event.device.name) == (identity.device_id, "Anna's phone")
    assert (event.device.role, event.device.scopes) == (role, DEFAULT_SCOPES[role])
    assert node.id == rig.running.facts.id
    assert node.name == "den"
    assert node.addresses == (f"127.0.0.1:{rig.running.port}",)
    phone = await rig.dial(identity)
    await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    (device,) = await (await rig.control()).devices()
    assert device.id == identity.device_id
    assert device.paired_at > 0


@pytest.mark.attack
async def test_three_wrong_guesses_close_it_for_good(rig: NodeRig) -> None:
    async with opened(rig) as door:
        for left in (2, 1, 0):
            with pytest.raises(RefusedError):
                await pair(guessing(door.link), throwaway_identity())
            assert await door.next() == WrongGuess(left)
        closed = await door.next()
        assert isinstance(closed, Closed)
        assert "wrong guesses" in closed.reason
        with pytest.raises(StopAsyncIteration):
            await door.next()
        with pytest.raises(UnavailableError):
            await pair(door.link, throwaway_identity())
    assert not rig.running.store.devices()


async def test_a_wrong_guess_does_not_lock_the_owner_out(rig: NodeRig) -> None:
    async with opened(rig) as door:
        with pytest.raises(RefusedError):
            await pair(guessing(door.link), throwaway_identity())
        assert await door.next() == WrongGuess(2)
        await pair(door.link, throwaway_identity())
        assert isinstance(await door.next(), Paired)


@pytest.mark.attack
async def test_a_link_works_once(rig: NodeRig) -> None:
    first, second = throwaway_identity(), throwaway_identity()
    async with opened(rig) as door:
        await pair(door.link, first)
        assert isinstance(await door.next(), Paired)
    with pytest.raises(ConflictError, match="already used"):
        await pair(door.link, second)
    await pair(door.link, first)  # its answer may have been lost: harmless
    async with opened(rig) as later:
        replayed = replace(door.link, addresses=later.link.addresses)
        with pytest.raises(ConflictError, match="already used"):
            await pair(replayed, second)
    assert [device.id for device in rig.running.store.devices()] == [first.device_id]


@pytest.mark.attack
async def test_of_two_devices_one_wins(rig: NodeRig) -> None:
    devices = [throwaway_identity() for _ in range(4)]
    async with opened(rig) as door:
        results = await asyncio.gather(
            *(pair(door.link, device) for device in devices), return_exceptions=True
        )
        event = await door.next()
    won = [result for result in results if not isinstance(result, BaseException)]
    lost = [result for result in results if isinstance(result, ConflictError)]
    assert (len(won), len(lost)) == (1, 3)
    assert isinstance(event, Paired)
    assert [device.id for device in rig.running.store.devices()] == [event.device.id]


@pytest.mark.attack
async def test_it_closes_when_the_time_is_over(rig: NodeRig) -> None:
    async with opened(rig, seconds=1) as door:
        assert listens(door.link)
        closed = await door.next()
        assert isinstance(closed, Closed)
        assert not listens(door.link)
    with pytest.raises(UnavailableError):
        await pair(door.link, throwaway_identity())


async def test_giving_up_closes_it(rig: NodeRig) -> None:
    async with opened(rig) as door:
        assert listens(door.link)
    # The daemon notices when the stream is given up; opening again waits for exactly that.
    async with asyncio.timeout(DEADLINE_S):
        while True:
            try:
                async with opened(rig) as again:
                    assert again.link.secret != door.link.secret
                break
            except ConflictError:
                await asyncio.sleep(0)
    assert not listens(door.link)


async def test_only_one_is_open_at_a_time(rig: NodeRig) -> None:
    async with opened(rig):
        with pytest.raises(ConflictError, match="already open"):
            async with opened(rig):
                pass


async def test_a_fixed_port_can_be_used_again_at_once(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with node_rig(tmp_path, replace(LOOPBACK, pairing=PairingSection(port))) as rig:
        for _ in range(2):
            async with opened(rig) as door:
                assert door.link.addresses[0].port == port
                await pair(door.link, throwaway_identity())
                assert isinstance(await door.next(), Paired)


async def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        async with node_rig(tmp_path, replace(LOOPBACK, pairing=PairingSection(port))) as rig:
            with pytest.raises(ConflictError, match=f"port {port} is in use"):
                async with opened(rig):
                    pass


@pytest.mark.attack
@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"nonce": b""}, InvalidDataError),
        ({"name": "n" * 65}, InvalidDataError),
        ({"certificate_der": b"\x30\x03"}, InvalidDataError),
        ({"version": 9}, InvalidDataError),
        ({"hpke_signature": b"x"}, HomingError),
    ],
)
async def test_malformed_attempts_are_refused_and_are_no_guess(
    rig: NodeRig, changes: dict[str, str | bytes | int], error: type[HomingError]
) -> None:
    async with opened(rig) as door:
        for _ in range(4):
            with pytest.raises(error):
                await pair(door.link, throwaway_identity(), **changes)
        await pair(door.link, throwaway_identity())
        assert isinstance(await door.next(), Paired)


@pytest.mark.attack
async def test_bytes_that_are_no_message(rig: NodeRig) -> None:
    async with opened(rig) as door:
        link = door.link
        certificate = await fetch_certificate(link.addresses[0], link.certificate_sha256)
        async with pairing_channel(str(link.addresses[0]), certificate) as channel:
            for garbage in (b"\xff\xff", b"\x0a" + b"\xff" * 9, bytes(70_000)):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await send_raw(channel, "/homing_proto.v1.PairingService/Pair", garbage)
                assert caught.value.code() in {
                    grpc.StatusCode.INVALID_ARGUMENT,
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                }
        await pair(link, throwaway_identity())
        assert isinstance(await door.next(), Paired)


async def test_somebody_elses_link_is_noticed_before_anything_is_sent(
    rig: NodeRig, tmp_path: Path
) -> None:
    async with node_rig(tmp_path / "other") as other, opened(rig) as door, opened(other) as theirs:
        crossed = replace(door.link, addresses=theirs.link.addresses)
        with pytest.raises(IntegrityError):
            await pair(crossed, throwaway_identity())


@pytest.mark.attack
async def test_the_pairing_port_serves_nothing_else(rig: NodeRig) -> None:
    async with opened(rig) as door:
        certificate = await fetch_certificate(door.link.addresses[0], door.link.certificate_sha256)
        async with pairing_channel(str(door.link.addresses[0]), certificate) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await send_raw(channel, "/homing_proto.v1.NodeService/GetNode", b"")
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_another_home_is_paired_as_a_peer_that_may_only_introduce(rig: NodeRig) -> None:
    identity = throwaway_identity()
    async with opened(rig, DeviceRole.PEER) as door:
        node = await pair(door.link, identity)
    assert (node.role, node.scopes) == (DeviceRole.PEER, frozenset({Scope.INTRODUCE}))
    assert rig.running.store.get(identity.device_id).role is DeviceRole.PEER


async def test_a_revoked_device_may_pair_again(rig: NodeRig) -> None:
    identity = throwaway_identity()
    for role in (DeviceRole.OWNER, DeviceRole.GUEST):
        async with opened(rig, role) as door:
            await pair(door.link, identity)
            event = await door.next()
            assert isinstance(event, Paired)
            assert event.device.role is role
        phone = await rig.dial(identity)
        await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        await (await rig.control()).revoke(identity.device_id[:8])
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        assert isinstance(error_from_rpc(caught.value), UnpairedError)
