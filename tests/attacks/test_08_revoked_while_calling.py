"""A device is revoked in the middle of everything, and then tries every way back in.

Expected: its unary, streaming and bidirectional calls end within a second, told why; what it had
running or waiting is dropped and forgotten by the engines; the open connection, a new one and one
with a TLS session ticket from before are all refused. Nobody else notices.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
import ssl
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from homing_core.access import DeviceRole
from homing_core.errors import UnpairedError
from homing_core.generation import GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.audit.records import CONSOLE
from homing_crypto.credentials import client_channel
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.generation import encode_generate_request
from homing_proto.v1 import node_pb2, node_pb2_grpc
from support.echo_node import CLASSIC, echo_node
from support.guarded import Client
from support.node_rig import DEADLINE_S, next_event, node_rig, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_crypto.identity import DeviceIdentity
    from support.node_rig import NodeRig

HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""The first bytes of an HTTP/2 client, and empty settings: an accepted one is answered."""


async def ended(call: asyncio.Future[object]) -> UnpairedError:
    """What a call was told; it must be that this device was revoked."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await within(_value(call))
    assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
    error = error_from_rpc(caught.value)
    assert isinstance(error, UnpairedError)
    assert "revoked" in error.what
    return error


async def _value(call: asyncio.Future[object]) -> object:
    return await call


async def held(first: bytes) -> AsyncIterator[bytes]:
    """A request stream that says something and then stays open."""
    yield first
    await asyncio.Event().wait()


@pytest.mark.attack(8)
async def test_every_open_call_of_a_revoked_device_ends_within_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with echo_node(tmp_path, monkeypatch) as (rig, echo):
        phone, other = await rig.phone(), await rig.phone(DeviceRole.MEMBER)
        client, control = Client(phone.channel), await rig.control()
        running, waiting = (
            GenerateRequest(new_generation_id(), (user("hello"),)) for _ in range(2)
        )
        stream = phone.inference.Generate(encode_generate_request(running), timeout=DEADLINE_S)
        rig.engine.feed(running.id, TextDelta("a"))
        assert await next_event(stream) is not None
        silent = phone.inference.Generate(encode_generate_request(waiting), timeout=DEADLINE_S)
        flood = client.stream("Flood", "x")  # nobody reads it
        await within(echo.started.wait())
        echo.started.clear()
        unary = asyncio.ensure_future(client.unary("Waiting"))
        await within(echo.started.wait())
        path = "/test.Echo/Both"
        both = phone.channel.stream_stream(path, bytes, bytes)(held(b"hi"), timeout=DEADLINE_S)
        assert await within(both.read()) == b"HI"

        loop = asyncio.get_running_loop()
        began = loop.time()
        await control.revoke(phone.identity.device_id)
        ends = [
            unary,
            *(asyncio.ensure_future(call.read()) for call in (stream, silent, both)),
        ]
        for end in ends:
            await ended(end)
        assert loop.time() - began < 1.0
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in flood:
                pass
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED
        assert {await within(rig.engine.closed.get()) for _ in range(2)} == {
            running.id,
            waiting.id,
        }
        assert rig.running.generations.running() == 0
        assert rig.engine.forgotten == [phone.identity.device_id]
        assert await Client(other.channel).unary("Unary", "fine") == "phone: fine"


@pytest.mark.attack(8)
async def test_a_revoked_device_comes_back_neither_on_its_connection_nor_on_a_new_one(
    tmp_path: Path,
) -> None:
    async with node_rig(tmp_path) as rig:
        phone = await rig.phone()
        await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        await (await rig.control()).revoke(phone.identity.device_id)
        call = phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call
        assert isinstance(error_from_rpc(caught.value), UnpairedError)
        again = await rig.dial(phone.identity)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await again.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE  # TLS itself does not let it in


@pytest.mark.attack(8)
async def test_a_session_ticket_from_before_the_revocation_opens_nothing(tmp_path: Path) -> None:
    async with node_rig(tmp_path, CLASSIC) as rig:
        phone = await rig.phone()
        context = tls_context(rig, phone.identity, tmp_path)
        session, said = await asyncio.to_thread(greet, context, rig.running.port, None)
        assert session is not None
        assert session.has_ticket
        assert said  # a node that lets somebody in says its HTTP/2 settings
        # gRPC's own cache of tickets has no public name in Python.
        cache = importlib.import_module("grpc._cython.cygrpc").SSLSessionCacheLRU(4)
        await get_node(rig, phone.identity, cache)

        await rig.running.desk.revoke(phone.identity.device_id, CONSOLE)
        _, said = await asyncio.to_thread(greet, context, rig.running.port, session)
        assert said == b""
        with pytest.raises(grpc.aio.AioRpcError):
            await get_node(rig, phone.identity, cache)


async def get_node(rig: NodeRig, identity: DeviceIdentity, cache: Any) -> None:  # noqa: ANN401  # untyped
    """One call on a new connection that offers whatever ticket the cache holds."""
    options = (("grpc.ssl_session_cache", cache),)
    target = f"127.0.0.1:{rig.running.port}"
    async with client_channel(target, identity, rig.certificate, options) as channel:
        stub = node_pb2_grpc.NodeServiceStub(channel)
        await stub.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)


def tls_context(rig: NodeRig, identity: DeviceIdentity, folder: Path) -> ssl.SSLContext:
    """A TLS client that is not gRPC's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=rig.certificate.pem.decode())
    chain = folder / "chain.pem"
    chain.write_bytes(identity.private_key_pem + identity.certificate.pem)
    context.load_cert_chain(chain)
    context.set_alpn_protocols(["h2"])
    return context


def greet(
    context: ssl.SSLContext, port: int, session: ssl.SSLSession | None
) -> tuple[ssl.SSLSession | None, bytes]:
    """Connect with a ticket, if any; the ticket that came, and what the node said."""
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as plain:
        try:
            with context.wrap_socket(plain, session=session) as tls:
                tls.sendall(HELLO)
                said = tls.recv(1024)
                return tls.session, said
        except OSError:  # cut off: also by an alert
            return None, b""
