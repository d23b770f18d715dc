"""A home, a peer and a phone: introduced, answered, shown, shut out."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import grpc
import pytest
from homing_core.access import DEFAULT_SCOPES, DeviceRole, Limits, Scope
from homing_core.clock import SystemClock
from homing_core.devices import DeviceState
from homing_core.errors import NotFoundError, RefusedError, UnpairedError
from homing_core.generation import GenerateRequest
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_core.testing import FakeClock
from homing_crypto.audit.records import CONSOLE
from homing_crypto.pairing.link import parse_link
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import throwaway_identity
from homing_node.peers.section import PeersSection
from homing_node.peers.views import Standing
from homing_node.values import Opened, Paired
from homing_proto.codec.generation import encode_generate_request
from homing_proto.v1 import node_pb2
from support.node_pairing import pair
from support.node_rig import DEADLINE_S, LOOPBACK, Phone, node_rig, within
from support.peer_rig import (
    Three,
    answered,
    befriend,
    control_of,
    link_for_a_home,
    named,
    offered,
    three,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def trio(tmp_path: Path) -> AsyncIterator[Three]:
    async with three(tmp_path) as made:
        yield made


async def refused(phone: Phone) -> Exception:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await phone.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    return error_from_rpc(caught.value)


async def test_a_phone_of_the_home_is_answered_by_the_peer(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    there = await trio.at_peer(phone)
    assert await answered(trio.peer, there, "stressed") == "desserts"
    entry = trio.peer.running.store.get(phone.identity.device_id)
    assert (entry.role, entry.scopes) == (DeviceRole.GUEST, frozenset({Scope.INFERENCE}))
    assert entry.introduced_by == trio.home.certificate.device_id
    assert entry.hpke_public_key == phone.identity.hpke.public_bytes


async def test_the_home_gives_its_phone_the_peers_certificate(trio: Three) -> None:
    phone, guest = await trio.phone(), await trio.phone(DeviceRole.GUEST)
    await trio.until_known(phone)
    async with asyncio.timeout(DEADLINE_S):
        while not (found := await offered(phone)):  # until the peer's answer has been noted
            pass
    (peer,) = found
    assert peer.certificate_der == trio.peer.certificate.der
    assert peer.name == "Friend"
    assert f"127.0.0.1:{trio.peer.running.port}" in peer.addresses
    assert peer.lease_expires_at > trio.clock.now()
    assert await offered(guest) == []


async def test_a_phone_revoked_at_home_is_refused_at_the_peer_within_a_second(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    there = await trio.at_peer(phone)
    await there.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    async with asyncio.timeout(1.0):
        await trio.home.running.desk.revoke(phone.identity.device_id, CONSOLE)
        await trio.until(lambda: not trio.lives_at_peer(phone.identity))
    assert isinstance(await refused(there), UnpairedError)
    assert (await trio.control.share("Friend")).devices == ()


async def test_a_home_that_is_gone_is_believed_until_its_lease_ends(tmp_path: Path) -> None:
    clock = FakeClock()
    async with node_rig(tmp_path / "friend", named("Friend"), clock=clock) as friend:
        async with node_rig(tmp_path / "attic", named("Attic"), clock=clock) as attic:
            await befriend(attic, friend)
            trio = Three(attic, friend, await control_of(attic), clock)
            phone = await trio.phone()
            await trio.until_known(phone)
        there = await friend.dial(phone.identity)
        clock.advance(PeersSection().lease_s - 10)
        assert await answered(friend, there) == "olleh"
        clock.advance(20)
        assert isinstance(await refused(there), UnpairedError)
        again = await friend.dial(phone.identity)
        assert await refused(again) is not None


async def test_a_lease_is_renewed_while_the_home_is_there(tmp_path: Path) -> None:
    clock = FakeClock()
    async with three(tmp_path, clock=clock) as trio:
        phone = await trio.phone()
        await trio.until_known(phone)
        first = trio.peer.running.store.get(phone.identity.device_id).lease_expires_at
        clock.advance(PeersSection().lease_s / 2)
        await trio.control.share("Friend")
        renewed = trio.peer.running.store.get(phone.identity.device_id).lease_expires_at
        assert renewed == first + PeersSection().lease_s / 2


async def test_guests_are_introduced_only_when_the_owner_says_so(trio: Three) -> None:
    guest, member = await trio.phone(DeviceRole.GUEST), await trio.phone()
    await trio.until_known(member)
    assert not trio.lives_at_peer(guest.identity)
    await trio.control.share("Friend", guests=True)
    assert trio.lives_at_peer(guest.identity)
    await trio.control.share("Friend", guests=False, drop=[member.identity.device_id[:12]])
    assert not trio.lives_at_peer(guest.identity)
    assert not trio.lives_at_peer(member.identity)
    view = await trio.control.share("Friend", add=[guest.identity.device_id])
    assert [(one.id, one.standing) for one in view.devices] == [
        (guest.identity.device_id, Standing.TAKEN)
    ]
    with pytest.raises(NotFoundError):
        await trio.control.share("Friend", add=["0" * 64])


async def test_both_directions_are_listed(trio: Three) -> None:
    phone = await trio.phone(name="Ada's phone")
    await trio.until_known(phone)
    (peer,), homes = await trio.control.views()
    assert (peer.name, homes, peer.error) == ("Friend", (), None)
    assert [one.name for one in peer.devices] == ["Ada's phone"]
    peers, (home,) = await (await control_of(trio.peer)).views()
    assert (peers, home.name, home.devices, home.most_devices) == ((), "Attic", 1, 64)


async def test_leaving_a_peer_takes_everything_back_first(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    view, gone = await trio.control.remove("Friend")
    assert (view.name, view.leaving, gone) == ("Friend", True, True)
    assert not trio.lives_at_peer(phone.identity)
    assert await trio.control.views() == ((), ())
    assert await offered(phone) == []
    with pytest.raises(NotFoundError):
        await trio.control.remove("Friend")


async def test_a_peer_that_is_away_is_left_when_it_comes_back(tmp_path: Path) -> None:
    peer_folder = tmp_path / "friend"
    async with node_rig(tmp_path / "attic", named("Attic")) as attic:
        async with node_rig(peer_folder, named("Friend")) as friend:
            await befriend(attic, friend)
            trio = Three(attic, friend, await control_of(attic), SystemClock())
            phone = await trio.phone()
            await trio.until_known(phone)
            port = friend.running.port
        _, gone = await trio.control.remove("Friend")
        assert not gone
        (view,), _ = await trio.control.views()
        assert view.leaving
        assert view.error is not None
        assert await offered(phone) == []
        back = replace(named("Friend"), listen=replace(LOOPBACK.listen, port=port))
        async with node_rig(peer_folder, back) as friend:
            trio = Three(attic, friend, trio.control, trio.clock)
            attic.running.peers.sharing.nudge()
            await trio.until(lambda: not trio.lives_at_peer(phone.identity))


async def test_a_link_for_a_phone_makes_no_peer(tmp_path: Path) -> None:
    async with (
        node_rig(tmp_path / "attic", named("Attic")) as attic,
        node_rig(tmp_path / "friend", named("Friend")) as friend,
    ):
        control = await friend.control()
        events = control.pair(DeviceRole.MEMBER, 60)
        opened = await within(anext(events))
        assert isinstance(opened, Opened)
        with pytest.raises(RefusedError, match="for a phone"):
            await (await control_of(attic)).add(opened.link)
        # An older node's link does not say whom it is for.
        with pytest.raises(RefusedError, match="not its peer"):
            await (await control_of(attic)).add(opened.link.replace("&k=phone", ""))
        await events.aclose()
        assert await (await control_of(attic)).views() == ((), ())


async def test_a_link_for_a_phone_is_not_used_up_by_a_home(tmp_path: Path) -> None:
    async with (
        node_rig(tmp_path / "attic", named("Attic")) as attic,
        node_rig(tmp_path / "friend", named("Friend")) as friend,
    ):
        events = (await friend.control()).pair(DeviceRole.MEMBER, 60)
        opened = await within(anext(events))
        assert isinstance(opened, Opened)
        with pytest.raises(RefusedError, match="for a phone"):
            await (await control_of(attic)).add(opened.link)
        assert friend.running.store.devices() == ()
        await pair(parse_link(opened.link), throwaway_identity())
        assert isinstance(await within(anext(events)), Paired)
        await events.aclose()


async def test_a_node_is_not_its_own_peer(trio: Three) -> None:
    async with link_for_a_home(trio.home) as link:
        with pytest.raises(RefusedError, match="own"):
            await trio.control.add(link)
        await trio.home.running.keys.rotate()
        with pytest.raises(RefusedError, match="own"):  # an earlier key's
            await trio.control.add(link)
    peers, homes = await trio.control.views()
    assert ([one.name for one in peers], homes) == (["Friend"], ())
    assert all(one.role is not DeviceRole.PEER for one in trio.home.running.store.devices())


async def test_a_home_that_the_peer_revoked_loses_its_devices_there(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    there = await trio.at_peer(phone)
    await there.node.GetNode(node_pb2.GetNodeRequest(), timeout=DEADLINE_S)
    await trio.peer.running.desk.revoke(trio.home.certificate.device_id, CONSOLE)
    assert isinstance(await refused(there), UnpairedError)
    another = await trio.phone()
    view = await trio.control.share("Friend", add=[another.identity.device_id])
    assert isinstance(view.error, UnpairedError)
    _, gone = await trio.control.remove("Friend")
    assert gone


async def test_a_home_that_may_do_less_takes_its_devices_with_it(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    home_id = trio.home.certificate.device_id
    scopes = frozenset({Scope.INTRODUCE})
    limits = Limits(tokens_per_day=100, concurrent_streams=1)
    desk = trio.peer.running.desk
    await desk.grant(home_id, DeviceRole.PEER, scopes, limits, CONSOLE)
    entry = trio.peer.running.store.get(phone.identity.device_id)
    assert entry.limits == limits
    await desk.grant(home_id, DeviceRole.PEER, frozenset(), limits, CONSOLE)
    assert not trio.lives_at_peer(phone.identity)


async def test_a_peer_may_lend_more_than_its_model_to_one_home(trio: Three) -> None:
    home_id = trio.home.certificate.device_id
    scopes = frozenset({Scope.INTRODUCE, Scope.TOOLS})
    desk = trio.peer.running.desk
    await desk.grant(home_id, DeviceRole.PEER, scopes, Limits(), CONSOLE)
    phone = await trio.phone()
    await trio.until_known(phone)
    entry = trio.peer.running.store.get(phone.identity.device_id)
    assert entry.scopes == {Scope.INFERENCE, Scope.TOOLS}


async def test_pairing_again_by_a_new_link_is_harmless(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    async with link_for_a_home(trio.peer) as link:
        view = await trio.control.add(link, "Bo's place")
    assert view.name == "Bo's place"
    assert trio.lives_at_peer(phone.identity)
    peers, _ = await trio.control.views()
    assert [one.name for one in peers] == ["Bo's place"]


async def test_a_home_with_a_new_key_goes_on_vouching(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    await trio.home.running.keys.rotate()
    view = await trio.control.share("Friend")
    assert (view.error, [one.standing for one in view.devices]) == (None, [Standing.TAKEN])
    entry = trio.peer.running.store.get(phone.identity.device_id)
    keys = {one.id for one in trio.peer.running.store.devices() if one.role is DeviceRole.PEER}
    assert entry.introduced_by in keys
    assert await answered(trio.peer, await trio.at_peer(phone)) == "olleh"
    await trio.home.running.desk.revoke(phone.identity.device_id, CONSOLE)
    await trio.until(lambda: not trio.lives_at_peer(phone.identity))


async def test_a_peer_with_a_new_key_is_followed(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    await trio.peer.running.keys.rotate()
    another = await trio.phone()
    await trio.until_known(another)
    view = await trio.control.share("Friend")  # the home has read the peer's answer then
    assert view.id == trio.peer.certificate.device_id
    assert {one.standing for one in view.devices} == {Standing.TAKEN}
    (peer,) = await offered(phone)
    assert peer.certificate_der == trio.peer.certificate.der


async def test_an_open_stream_ends_with_the_lease(tmp_path: Path) -> None:
    clock = FakeClock()
    async with three(tmp_path, clock=clock) as trio:
        phone = await trio.phone()
        await trio.until_known(phone)
        there = await trio.at_peer(phone)
        call = there.inference.Generate(
            encode_generate_request(GenerateRequest(new_generation_id(), (user("go on"),), "")),
            timeout=DEADLINE_S,
        )
        await within(trio.peer.engine.started.get())
        await trio.home.running.peers.sharing.stop()  # as if the home had gone
        clock.advance(PeersSection().lease_s + 1)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await within(call.read())
        assert isinstance(error_from_rpc(caught.value), UnpairedError)


async def test_the_lenders_list_says_who_is_out(trio: Three) -> None:
    phone, other = await trio.phone(), await trio.phone()
    await trio.until_known(phone)
    await trio.until_known(other)

    async def states() -> dict[str, DeviceState]:
        return {one.id: one.state for one in await (await trio.peer.control()).devices()}

    assert set((await states()).values()) == {DeviceState.LET_IN}
    await trio.home.running.desk.revoke(phone.identity.device_id, CONSOLE)
    await trio.until(lambda: not trio.lives_at_peer(phone.identity))
    found = await states()
    assert found[phone.identity.device_id] is DeviceState.OVER
    assert found[other.identity.device_id] is DeviceState.LET_IN


async def test_a_home_that_was_revoked_sees_it_when_it_looks(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    await trio.peer.running.desk.revoke(trio.home.certificate.device_id, CONSOLE)
    (view,), _ = await trio.control.views()
    assert view.error is not None
    assert "does not know this node any more" in view.error.what
    assert [(one.standing, one.reason) for one in view.devices] == [
        (Standing.REFUSED, view.error.what)
    ]


async def test_a_peer_that_does_not_answer_is_said_to_be_away(tmp_path: Path) -> None:
    async with node_rig(tmp_path / "attic", named("Attic")) as attic:
        async with node_rig(tmp_path / "friend", named("Friend")) as friend:
            await befriend(attic, friend)
            control = await control_of(attic)
            assert [one.error for one in (await control.views())[0]] == [None]
        (view,), _ = await control.views()
        assert view.error is not None


async def test_no_grant_makes_a_phone_a_home_or_a_home_a_phone(trio: Three) -> None:
    phone, peer = await trio.phone(), trio.peer.running
    (home,) = (one for one in peer.store.devices() if one.role is DeviceRole.PEER)
    for node, device_id, role in (
        (trio.home.running, phone.identity.device_id, DeviceRole.PEER),
        (peer, home.id, DeviceRole.OWNER),
    ):
        before = node.store.get(device_id)
        with pytest.raises(RefusedError, match="stays one"):
            await node.desk.grant(device_id, role, DEFAULT_SCOPES[role], Limits(), CONSOLE)
        assert node.store.get(device_id) == before
