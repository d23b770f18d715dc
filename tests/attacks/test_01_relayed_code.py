"""Attack 1: a relay with its own certificate stands between phone and node and forwards all."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from homing_core.addresses import Address
from homing_core.errors import IntegrityError, RefusedError
from homing_crypto.credentials import pairing_channel, pairing_server_credentials
from homing_crypto.pairing.pinned import fetch_unproven
from homing_crypto.testing import throwaway_identity
from homing_node.values import Paired, WrongCodeTyped
from homing_proto.v1 import pairing_code_pb2 as wire
from homing_proto.v1 import pairing_code_pb2_grpc
from support.code_pairing import CodePhone, code_door
from support.node_rig import DEADLINE_S, NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    from homing_crypto.identity import DeviceIdentity

Context = grpc.aio.ServicerContext[Any, Any]


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


@dataclass
class Relay(pairing_code_pb2_grpc.CodePairingServiceServicer):
    """Two TLS connections, and every message carried from one to the other.

    Attributes:
        node: the real node's stub.
        me: the relay's own device.
        own_phone: whether it puts its own keys in the place of the phone's.
        own_node: whether it puts its own certificate in the place of the node's.
        seen: the methods that it carried.
    """

    node: pairing_code_pb2_grpc.CodePairingServiceAsyncStub
    me: DeviceIdentity
    own_phone: bool
    own_node: bool
    seen: list[str] = field(default_factory=list[str])

    async def StartCode(  # noqa: N802  # gRPC's name
        self, request: wire.StartCodeRequest, context: Context
    ) -> wire.StartCodeResponse:
        del context
        self.seen.append("start")
        if self.own_phone:
            request.certificate_der = self.me.certificate.der
            request.hpke_public_key = self.me.hpke.public_bytes
            request.hpke_signature = self.me.hpke_signature
        reply = await self.node.StartCode(request, timeout=DEADLINE_S)
        if self.own_node:
            reply.certificate_der = self.me.certificate.der
            reply.hpke_public_key = self.me.hpke.public_bytes
            reply.hpke_signature = self.me.hpke_signature
        return reply

    async def ConfirmCode(  # noqa: N802  # gRPC's name
        self, request: wire.ConfirmCodeRequest, context: Context
    ) -> wire.ConfirmCodeResponse:
        self.seen.append("confirm")
        try:
            return await self.node.ConfirmCode(request, timeout=DEADLINE_S)
        except grpc.aio.AioRpcError as error:
            await context.abort(
                error.code(), error.details() or "", tuple(error.trailing_metadata() or ())
            )
            raise

    async def AwaitEntry(  # noqa: N802  # gRPC's name
        self, request: wire.AwaitEntryRequest, context: Context
    ) -> wire.AwaitEntryResponse:
        del context
        self.seen.append("await")
        return await self.node.AwaitEntry(request, timeout=DEADLINE_S)


@contextlib.asynccontextmanager
async def relayed(
    target: Address, *, own_phone: bool, own_node: bool
) -> AsyncGenerator[tuple[Relay, Address]]:
    me = throwaway_identity()
    real = await fetch_unproven(target)
    async with pairing_channel(str(target), real) as channel:
        stub = pairing_code_pb2_grpc.CodePairingServiceStub(channel)
        relay = Relay(stub, me, own_phone, own_node)
        server = grpc.aio.server()
        pairing_code_pb2_grpc.add_CodePairingServiceServicer_to_server(relay, server)
        port = server.add_secure_port("127.0.0.1:0", pairing_server_credentials(me))
        await server.start()
        try:
            yield relay, Address("127.0.0.1", port)
        finally:
            await server.stop(None)


@pytest.mark.attack(1)
@pytest.mark.parametrize("own_phone", [False, True])
async def test_a_relay_with_its_own_certificate_pairs_nobody_and_burns_one_guess(
    rig: NodeRig,
    own_phone: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    """Phone and node both refuse, neither stores anything, and the code has two tries left."""
    phone = CodePhone()
    async with code_door(rig) as door:
        async with relayed(door.address, own_phone=own_phone, own_node=True) as (relay, at):
            error = await phone.is_refused(door, at=at)
        assert relay.seen == ["start", "confirm"]
        assert isinstance(error, RefusedError)
        assert "2 tries left" in error.what
        assert await door.next() == WrongCodeTyped(2)
        assert phone.book.nodes() == ()
        assert phone.book.pending_pairings() == ()
        assert rig.running.store.devices() == ()


@pytest.mark.attack(1)
async def test_a_relay_that_shows_the_nodes_certificate_in_the_message_is_noticed_at_once(
    rig: NodeRig,
) -> None:
    """The phone compares it with the one of its TLS connection, and confirms nothing."""
    phone = CodePhone()
    async with code_door(rig) as door:
        async with relayed(door.address, own_phone=False, own_node=False) as (relay, at):
            error = await phone.is_refused(door, at=at)
        assert relay.seen == ["start"]
        assert isinstance(error, IntegrityError)
        assert phone.book.nodes() == ()


@pytest.mark.attack(1)
async def test_after_a_relay_the_right_phone_still_pairs(rig: NodeRig) -> None:
    """One guess was burned, not the window: the relay costs the person a second try."""
    phone = CodePhone()
    async with code_door(rig) as door:
        async with relayed(door.address, own_phone=True, own_node=True) as (_, at):
            await phone.is_refused(door, at=at)
        await door.expect(WrongCodeTyped)
        pairing = asyncio.create_task(phone.pair(door))
        await door.answer(allow=True)
        assert (await pairing).id == rig.running.facts.id
        await door.expect(Paired)
