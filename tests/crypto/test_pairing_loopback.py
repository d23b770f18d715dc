"""A whole pairing over loopback, with real TLS on both ports."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from homing_core.access import DeviceRole
from homing_core.addresses import Address
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    RefusedError,
    UnavailableError,
)
from homing_core.testing import FakeClock
from homing_crypto.credentials import pairing_channel, pairing_server_credentials
from homing_crypto.pairing.client import PhoneSide, accept_answer, start_pairing
from homing_crypto.pairing.link import PairingLink, new_secret, parse_link
from homing_crypto.pairing.machine import NodeSide, Pairing, answer_to, open_pairing, step
from homing_crypto.pairing.outcomes import Accepted, refusal
from homing_crypto.pairing.pinned import fetch_certificate
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.rpc_guard import RpcGuard
from homing_crypto.testing import MemoryTrustStore, throwaway_identity
from homing_crypto.transport import SERVER_OPTIONS
from homing_proto.codec.pairing import (
    decode_pair_answer,
    decode_pair_attempt,
    encode_pair_answer,
    encode_pair_attempt,
)
from homing_proto.v1 import devices_pb2, devices_pb2_grpc
from support.guarded import guarded_server, same

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.pairing import PairAnswer
    from homing_crypto.identity import DeviceIdentity

NOW = FakeClock().now()


@dataclass
class PairingServer(devices_pb2_grpc.PairingServiceServicer):
    """What a node's pairing service does with this package, in a few lines."""

    identity: DeviceIdentity
    store: MemoryTrustStore
    secret: bytes = field(default_factory=new_secret)
    pairing: Pairing | None = None
    port: int = 0
    lose_replies: int = 0

    @property
    def link(self) -> PairingLink:
        address = Address("127.0.0.1", self.port)
        sha256 = self.identity.certificate.sha256
        return parse_link(PairingLink((address,), sha256, self.secret, int(NOW) + 180).to_text())

    async def Pair(  # noqa: N802  # gRPC's name
        self, request: devices_pb2.PairRequest, context: grpc.aio.ServicerContext[Any, Any]
    ) -> devices_pb2.PairResponse:
        attempt = decode_pair_attempt(request)
        assert self.pairing is not None
        used = self.store.link_used(attempt.link_id)
        self.pairing, outcome = step(self.pairing, attempt, NOW, used_before=used)
        if not isinstance(outcome, Accepted):
            raise refusal(outcome)
        answer = answer_to(self.pairing, attempt, self.store.add(outcome.device, attempt.link_id))
        if self.lose_replies:
            self.lose_replies -= 1
            await context.abort(grpc.StatusCode.UNAVAILABLE, "lost")
        return encode_pair_answer(answer)


@contextlib.asynccontextmanager
async def pairing_server(
    identity: DeviceIdentity, store: MemoryTrustStore, addresses: tuple[str, ...] = ()
) -> AsyncGenerator[PairingServer]:
    running = PairingServer(identity, store)
    side = NodeSide.of(identity, "attic", addresses)
    running.pairing = open_pairing(side, DeviceRole.MEMBER, running.secret, NOW)
    server = grpc.aio.server(interceptors=[RpcGuard(None)], options=list(SERVER_OPTIONS))
    devices_pb2_grpc.add_PairingServiceServicer_to_server(running, server)
    running.port = server.add_secure_port("127.0.0.1:0", pairing_server_credentials(identity))
    await server.start()
    try:
        yield running
    finally:
        await server.stop(0)


async def begin(link: PairingLink, phone: DeviceIdentity, name: str = "Ada's phone") -> PhoneSide:
    node = await fetch_certificate(link.addresses[0], link.certificate_sha256)
    return start_pairing(link, phone, node, name)


async def send(side: PhoneSide) -> PairAnswer:
    request = encode_pair_attempt(side.attempt)
    async with pairing_channel(str(side.link.addresses[0]), side.node) as channel:
        stub = devices_pb2_grpc.PairingServiceStub(channel)
        try:
            response = await stub.Pair(request, timeout=10)
        except grpc.aio.AioRpcError as error:
            raise error_from_rpc(error) from error
    return decode_pair_answer(response)


async def failure(side: PhoneSide) -> HomingError:
    with pytest.raises(HomingError) as caught:
        await send(side)
    return caught.value


async def test_a_link_pairs_a_phone_which_then_reaches_the_main_port() -> None:
    phone = throwaway_identity()
    async with (
        guarded_server() as main,
        pairing_server(main.identity, main.store, (main.target,)) as server,
    ):
        side = await begin(server.link, phone)
        node = accept_answer(side, await send(side), NOW)
        assert node.id == main.identity.device_id
        assert node.addresses == (main.target,)
        async with main.client(phone) as client:
            assert await client.unary("Unary", "home") == "Ada's phone: home"


async def test_a_lost_reply_is_asked_for_again() -> None:
    phone, store = throwaway_identity(), MemoryTrustStore()
    async with pairing_server(throwaway_identity(), store) as server:
        server.lose_replies = 1
        side = await begin(server.link, phone)
        assert isinstance(await failure(side), UnavailableError)
        node = accept_answer(side, await send(side), NOW)
    assert node.role is DeviceRole.MEMBER
    assert [device.id for device in store.devices()] == [phone.device_id]


async def test_a_replayed_link_is_told_that_it_was_used() -> None:
    store, identity = MemoryTrustStore(), throwaway_identity()
    async with pairing_server(identity, store) as server:
        used = server.link
        await send(await begin(used, throwaway_identity()))
        error = await failure(await begin(used, throwaway_identity()))
        assert isinstance(error, ConflictError)
    async with pairing_server(identity, store) as later:  # another pairing, another day
        replayed = dataclasses.replace(used, addresses=later.link.addresses)
        error = await failure(await begin(replayed, throwaway_identity()))
        assert isinstance(error, ConflictError)
        assert "already used" in error.what
        await send(await begin(later.link, throwaway_identity()))
    assert len(store.devices()) == 2


async def test_three_wrong_secrets_close_the_pairing() -> None:
    phone, store = throwaway_identity(), MemoryTrustStore()
    async with pairing_server(throwaway_identity(), store) as server:
        for _ in range(3):
            guess = dataclasses.replace(server.link, secret=new_secret())
            assert isinstance(await failure(await begin(guess, phone)), RefusedError)
        error = await failure(await begin(server.link, phone))
    assert isinstance(error, RefusedError)
    assert "too many" in error.what
    assert store.devices() == ()


@pytest.mark.attack
async def test_a_server_with_another_key_than_the_links_is_refused_before_anything_is_sent() -> (
    None
):
    store = MemoryTrustStore()
    async with pairing_server(throwaway_identity(), store) as attacker:
        link = dataclasses.replace(
            attacker.link, certificate_sha256=throwaway_identity().certificate.sha256
        )
        with pytest.raises(IntegrityError, match="wrong server key"):
            await begin(link, throwaway_identity())
    assert store.devices() == ()


@pytest.mark.attack
async def test_a_relay_that_shows_the_right_certificate_cannot_read_or_answer() -> None:
    """It fetched the node's certificate, but does not hold its key."""
    honest = throwaway_identity()
    async with pairing_server(throwaway_identity(), MemoryTrustStore()) as attacker:
        link = dataclasses.replace(attacker.link, certificate_sha256=honest.certificate.sha256)
        side = start_pairing(link, throwaway_identity(), honest.certificate, "phone")
        error = await failure(side)
    assert isinstance(error, IntegrityError)


async def test_malformed_requests_are_told_so_and_cost_no_guess() -> None:
    phone = throwaway_identity()
    async with pairing_server(throwaway_identity(), MemoryTrustStore()) as server:
        side = await begin(server.link, phone)
        for _ in range(4):
            odd = dataclasses.replace(side.attempt, certificate_der=b"garbage")
            assert isinstance(
                await failure(dataclasses.replace(side, attempt=odd)), InvalidDataError
            )
        async with pairing_channel(str(server.link.addresses[0]), side.node) as channel:
            raw = channel.unary_unary("/homing_proto.v1.PairingService/Pair", same, same)
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await raw(b"\xff" * 20, timeout=10)
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert accept_answer(side, await send(side), NOW).name == "attic"


async def test_nobody_there_and_something_else_there_are_told_plainly() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def chatty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    for behaviour, timeout in ((silent, 0.2), (chatty, 5.0)):
        server = await asyncio.start_server(behaviour, "127.0.0.1", 0)
        address = Address("127.0.0.1", server.sockets[0].getsockname()[1])
        with pytest.raises(UnavailableError, match="cannot be reached"):
            await fetch_certificate(address, bytes(32), timeout)
        server.close()
        await server.wait_closed()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await fetch_certificate(address, bytes(32))
    with pytest.raises(UnavailableError, match="cannot be reached"):
        await fetch_certificate(Address("no-such-host.invalid", 1), bytes(32))
