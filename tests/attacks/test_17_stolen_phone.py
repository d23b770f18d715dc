"""A phone is stolen, with its key.

Expected: a member's is shut out from its owner's phone, at once. An owner's can look after members
and guests until it is shut out, and no more: it touches no owner, makes none, raises nothing of its
own, and uses up nobody's attempts with the recovery secret; the other owner's phone shuts it out
with that secret, and so does the node's console.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_agent.runtime.localsocket import open_local_channel
from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits, Scope
from homing_core.errors import OverloadedError, RefusedError, UnpairedError, UsageError
from homing_core.generation import GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.devices import Rewrite
from homing_crypto.recovery_secret import new_recovery_secret
from homing_crypto.rpc_errors import error_from_rpc
from homing_node.devices.recovery import ATTEMPTS
from homing_node.rpc.recovery_service import RecoveryClient
from homing_proto.codec.access import encode_device_role, encode_limits, encode_scopes
from homing_proto.codec.generation import encode_generate_request
from homing_proto.v1 import devices_pb2, devices_pb2_grpc, node_pb2
from support.node_rig import DEADLINE_S, next_event, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from homing_core.ids import DeviceId
    from support.node_rig import NodeRig, Phone

NO_LIMITS = Limits()


@dataclass
class Home:
    """A node with two owners' phones and one of a member; the first is the one that is stolen."""

    rig: NodeRig
    stolen: Phone
    mine: Phone
    member: Phone
    secret: str

    async def is_in(self, phone: Phone) -> bool:
        again = await self.rig.dial(phone.identity)
        try:
            await again.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
        except grpc.aio.AioRpcError:
            return False
        return True


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    async with node_rig(tmp_path) as rig:
        async with open_local_channel(rig.paths, "homing-node run") as channel:
            secret, made_at = await RecoveryClient(channel).make(if_missing=True)
            await RecoveryClient(channel).confirm(made_at)
        yield Home(
            rig,
            await rig.phone(),
            await rig.phone(),
            await rig.phone(DeviceRole.MEMBER),
            secret,
        )


async def revoke(phone: Phone, device: Phone, secret: str = "") -> list[str]:
    """What a phone asks the node to do; the ids that were shut out."""
    request = devices_pb2.RevokeDeviceRequest(id=device.identity.device_id, recovery_secret=secret)
    stub = devices_pb2_grpc.DevicesServiceStub(phone.channel)
    try:
        answer = await stub.RevokeDevice(request, timeout=DEADLINE_S)
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
    return [one.id for one in answer.devices]


async def grant(  # noqa: PLR0913, PLR0917  # what a grant is made of
    phone: Phone,
    device: DeviceId,
    role: DeviceRole,
    scopes: frozenset[Scope] | None = None,
    limits: Limits = NO_LIMITS,
    secret: str = "",
) -> None:
    request = devices_pb2.GrantDeviceRequest(
        id=device,
        role=encode_device_role(role),
        scopes=encode_scopes(DEFAULT_SCOPES[role] if scopes is None else scopes),
        limits=encode_limits(limits),
        recovery_secret=secret,
    )
    try:
        stub = devices_pb2_grpc.DevicesServiceStub(phone.channel)
        await stub.GrantDevice(request, timeout=DEADLINE_S)
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error


@pytest.mark.attack(17)
async def test_a_stolen_member_phone_is_shut_out_from_its_owners_phone(home: Home) -> None:
    request = GenerateRequest(new_generation_id(), (user("hello"),))
    stream = home.member.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)
    home.rig.engine.feed(request.id, TextDelta("a"))
    assert await next_event(stream) is not None
    assert await revoke(home.mine, home.member) == [home.member.identity.device_id]
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await next_event(stream)
    assert isinstance(error_from_rpc(caught.value), UnpairedError)
    assert home.rig.running.generations.running() == 0
    assert not await home.is_in(home.member)
    # Its answer may have been lost: asking again is harmless.
    assert await revoke(home.mine, home.member) == [home.member.identity.device_id]


@pytest.mark.attack(17)
async def test_a_stolen_owner_phone_cannot_touch_owners_or_make_any(home: Home) -> None:
    mine, own = home.mine.identity.device_id, home.stolen.identity.device_id
    member = home.member.identity.device_id
    with pytest.raises(RefusedError, match="among owners"):
        await revoke(home.stolen, home.mine)
    for role in (DeviceRole.MEMBER, DeviceRole.GUEST, DeviceRole.OWNER):
        with pytest.raises(RefusedError, match="among owners"):
            await grant(home.stolen, mine, role, limits=Limits(tokens_per_day=1))
    with pytest.raises(RefusedError, match="among owners"):
        await grant(home.stolen, member, DeviceRole.OWNER)
    for role, scope in (
        (DeviceRole.MEMBER, Scope.DEVICES),
        (DeviceRole.MEMBER, Scope.INTRODUCE),
        (DeviceRole.GUEST, Scope.TOOLS),
    ):
        scopes = DEFAULT_SCOPES[role] | {scope}
        with pytest.raises(RefusedError, match="more than"):
            await grant(home.stolen, member, role, scopes)
    with pytest.raises(RefusedError, match="peer"):
        await grant(home.stolen, member, DeviceRole.PEER)
    home.rig.running.store.grant(
        own, DeviceRole.OWNER, DEFAULT_SCOPES[DeviceRole.OWNER], Limits(tokens_per_day=5)
    )
    with pytest.raises(RefusedError, match="among owners"):
        await grant(home.stolen, own, DeviceRole.OWNER)
    assert home.rig.running.store.get(own).limits.tokens_per_day == 5
    assert home.rig.running.store.get(mine).role is DeviceRole.OWNER
    assert home.rig.running.store.get(member).role is DeviceRole.MEMBER
    assert await home.is_in(home.mine)


@pytest.mark.attack(17)
async def test_a_peer_with_an_owner_behind_it_is_no_way_to_shut_an_owner_out(home: Home) -> None:
    """Whatever hangs on what is revoked goes too: so an owner among it needs the secret."""
    store = home.rig.running.store
    node = home.member.identity.device_id
    peer = replace(store.get(node), role=DeviceRole.PEER, scopes=DEFAULT_SCOPES[DeviceRole.PEER])
    key = await home.rig.phone()
    owner = store.get(key.identity.device_id)

    def hang(_: object) -> Rewrite:
        return Rewrite(put=(peer, replace(owner, account=node)))

    store.rewrite(hang)
    with pytest.raises(RefusedError, match="among owners"):
        await revoke(home.stolen, home.member)
    assert await home.is_in(key)


@pytest.mark.attack(17)
async def test_a_stolen_owner_phone_is_shut_out_by_the_other_one_with_the_secret(
    home: Home,
) -> None:
    for _ in range(ATTEMPTS):  # it guesses first
        with pytest.raises(RefusedError, match="not this node's"):
            await revoke(home.stolen, home.mine, new_recovery_secret())
    with pytest.raises(OverloadedError, match="too many"):
        await revoke(home.stolen, home.mine, home.secret)  # even the right one, now
    with pytest.raises(RefusedError, match="among owners"):
        await revoke(home.mine, home.stolen)
    with pytest.raises(UsageError, match="wrong"):
        await revoke(home.mine, home.stolen, slipped(home.secret))
    with pytest.raises(RefusedError, match="not this node's"):
        await revoke(home.mine, home.stolen, new_recovery_secret())
    typed = home.secret.lower().replace("-", " ")
    assert await revoke(home.mine, home.stolen, typed) == [home.stolen.identity.device_id]
    with pytest.raises(UnpairedError):
        await revoke(home.stolen, home.member)
    assert not await home.is_in(home.stolen)
    assert await home.is_in(home.mine)


@pytest.mark.attack(17)
async def test_guessing_does_not_keep_the_console_from_shutting_it_out(home: Home) -> None:
    for _ in range(ATTEMPTS):
        with pytest.raises(RefusedError):
            await revoke(home.stolen, home.mine, new_recovery_secret())
    async with open_local_channel(home.rig.paths, "homing-node run") as channel:
        recovery = RecoveryClient(channel)
        fresh, made_at = await recovery.make()
        await recovery.confirm(made_at)
    control = await home.rig.control()
    assert (await control.revoke(home.stolen.identity.device_id)).role is DeviceRole.OWNER
    assert not await home.is_in(home.stolen)
    with pytest.raises(RefusedError, match="not this node's"):
        await revoke(home.mine, home.stolen, home.secret)  # the old secret is void
    assert await revoke(home.mine, home.stolen, fresh)


@pytest.mark.attack(17)
async def test_a_member_phone_can_only_leave(home: Home) -> None:
    """What owners may do is closed to it, with the secret too; nothing tells it who is there."""
    stub = devices_pb2_grpc.DevicesServiceStub(home.member.channel)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.ListDevices(devices_pb2.ListDevicesRequest(), timeout=DEADLINE_S)
    assert type(error_from_rpc(caught.value)) is RefusedError
    stranger = await home.rig.phone(paired=False)
    for device in (home.stolen, home.mine, stranger):
        with pytest.raises(RefusedError, match="not an owner"):
            await revoke(home.member, device, home.secret)
    with pytest.raises(RefusedError):
        await grant(home.member, home.member.identity.device_id, DeviceRole.MEMBER)
    assert await revoke(home.member, home.member) == [home.member.identity.device_id]
    assert not await home.is_in(home.member)


def slipped(secret: str) -> str:
    """The secret with one character misread."""
    return ("1" if secret[0] == "0" else "0") + secret[1:]
