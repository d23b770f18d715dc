"""Attack 11: a device that is not paired calls every method of the main port.

Expected, for each method of each service that the node really serves there: where TLS stands in
between the connection is closed (UNAVAILABLE); where it does not, because the connection is from
before or the bundle is too generous, the call ends as UNAUTHENTICATED before a byte of it is
parsed. The methods are taken from the running server, so those of later services are tried too.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.access import DeviceRole
from homing_crypto.audit.records import CONSOLE
from homing_crypto.devices import Rewrite
from homing_node.rpc.rules import MAIN_RULES
from homing_proto.v1 import node_pb2
from support.node_rig import DEADLINE_S, NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from pathlib import Path

    from homing_crypto.devices import PairedDevice
    from support.node_rig import Phone

MARK = "/homing_proto.v1.NodeService/GetNode"
GARBAGE = b"\xff\xff\xff\xff"
"""No message: whoever parses it says INVALID_ARGUMENT."""
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED


@pytest.fixture
async def served(monkeypatch: pytest.MonkeyPatch) -> dict[int, set[str]]:
    """Methods by server, as they are put on it."""
    found: dict[int, set[str]] = {}
    kind = type(grpc.aio.server())  # the class behind the abstract one
    real = kind.add_registered_method_handlers

    def note(
        server: grpc.aio.Server,
        service: str,
        handlers: dict[str, grpc.RpcMethodHandler[object, object]],
    ) -> None:
        methods = found.setdefault(id(server), set())
        methods.update(f"/{service}/{method}" for method in handlers)
        real(server, service, handlers)

    monkeypatch.setattr(kind, "add_registered_method_handlers", note)
    return found


@pytest.fixture
async def rig(tmp_path: Path, served: dict[int, set[str]]) -> AsyncIterator[NodeRig]:
    del served
    async with node_rig(tmp_path) as running:
        yield running


def main_methods(served: dict[int, set[str]]) -> list[str]:
    """Every method of the server that has `GetNode`."""
    (methods,) = [methods for methods in served.values() if MARK in methods]
    return sorted(methods)


async def status(channel: grpc.aio.Channel, method: str) -> grpc.StatusCode:
    """How a call with garbage ends, whatever kind of method it is."""
    call: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(method)
    return await call(GARBAGE, timeout=DEADLINE_S).code()


async def outcomes(channel: grpc.aio.Channel, methods: Iterable[str]) -> dict[str, object]:
    """The status of each method."""
    found: dict[str, object] = {}
    for method in methods:
        async with asyncio.timeout(DEADLINE_S):
            found[method] = await status(channel, method)
    return found


def all_are(methods: Iterable[str], code: grpc.StatusCode) -> dict[str, object]:
    return dict.fromkeys(methods, code)


def drop(rig: NodeRig, phone: Phone) -> None:
    """Let the store forget a device, behind everybody's back."""

    def forget(_: tuple[PairedDevice, ...]) -> Rewrite:
        return Rewrite(drop=(phone.identity.device_id,))

    rig.running.store.rewrite(forget)


async def connected(rig: NodeRig, role: DeviceRole = DeviceRole.OWNER) -> Phone:
    """A paired device whose connection is open."""
    phone = await rig.phone(role)
    await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    return phone


@pytest.mark.attack(11)
async def test_what_is_tried_is_what_is_served(rig: NodeRig, served: dict[int, set[str]]) -> None:
    methods = main_methods(served)
    assert set(methods) == set(MAIN_RULES)
    # The garbage is garbage: whoever is let in is told so.
    owner = await connected(rig)
    assert await status(owner.channel, MARK) is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.attack(11)
async def test_an_unpaired_device_gets_no_connection_for_any_method(
    rig: NodeRig, served: dict[int, set[str]]
) -> None:
    methods = main_methods(served)
    stranger = await rig.phone(paired=False)
    assert await outcomes(stranger.channel, methods) == all_are(methods, UNAVAILABLE)


@pytest.mark.attack(11)
async def test_nor_does_a_caller_without_a_certificate_or_without_tls(
    rig: NodeRig, served: dict[int, set[str]]
) -> None:
    methods = main_methods(served)
    target = f"127.0.0.1:{rig.running.port}"
    options = [("grpc.ssl_target_name_override", rig.certificate.tls_name)]
    bare = grpc.ssl_channel_credentials(rig.certificate.pem)
    async with grpc.aio.secure_channel(target, bare, options=options) as channel:
        assert await outcomes(channel, methods) == all_are(methods, UNAVAILABLE)
    async with grpc.aio.insecure_channel(target) as channel:
        assert await outcomes(channel, methods) == all_are(methods, UNAVAILABLE)


@pytest.mark.attack(11)
async def test_a_connection_that_tls_let_in_is_refused_on_every_method_before_it_is_parsed(
    rig: NodeRig, served: dict[int, set[str]]
) -> None:
    methods = main_methods(served)
    phone = await connected(rig)
    drop(rig, phone)
    assert await outcomes(phone.channel, methods) == all_are(methods, UNAUTHENTICATED)


@pytest.mark.attack(11)
async def test_a_revoked_device_is_refused_on_every_method_old_connection_or_new(
    rig: NodeRig, served: dict[int, set[str]]
) -> None:
    methods = main_methods(served)
    phone = await connected(rig)
    await rig.running.desk.revoke(phone.identity.device_id, CONSOLE)
    assert await outcomes(phone.channel, methods) == all_are(methods, UNAUTHENTICATED)
    anew = await rig.dial(phone.identity)
    assert await outcomes(anew.channel, methods) == all_are(methods, UNAVAILABLE)


@pytest.mark.attack(11)
@pytest.mark.parametrize("role", list(DeviceRole), ids=lambda role: role.value)
async def test_a_paired_device_gets_no_further_than_its_role_and_scopes(
    rig: NodeRig, served: dict[int, set[str]], role: DeviceRole
) -> None:
    methods = main_methods(served)
    phone = await connected(rig, role)
    device = rig.running.store.get(phone.identity.device_id)
    for method, code in (await outcomes(phone.channel, methods)).items():
        rule = MAIN_RULES[method]
        kept_out = bool(rule.roles) and role not in rule.roles
        kept_out |= rule.scope is not None and rule.scope not in device.scopes
        assert (code is grpc.StatusCode.PERMISSION_DENIED) == kept_out, (method, code)


@pytest.mark.attack(11)
async def test_what_is_not_served_here_is_nobodys(
    rig: NodeRig, served: dict[int, set[str]]
) -> None:
    """Methods of the local socket, of the pairing port, of reflection, and of nothing at all."""
    elsewhere = {method for methods in served.values() for method in methods}
    elsewhere -= set(main_methods(served))
    elsewhere |= {
        "/homing_proto.v1.PairingService/Pair",
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.channelz.v1.Channelz/GetServers",
        "/nothing/AtAll",
    }
    assert any("Control" in method for method in elsewhere)
    owner = await connected(rig)
    unimplemented = all_are(elsewhere, grpc.StatusCode.UNIMPLEMENTED)
    assert await outcomes(owner.channel, elsewhere) == unimplemented
