"""A home and its peer replace their keys; what the home vouches for stays vouched for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole
from homing_core.tools import Place
from homing_crypto.nodes import KnownNode
from support.key_world import REACH_S, introduce, key_phone
from support.node_rig import within
from support.peer_rig import Three, answered, offered, three

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def trio(tmp_path: Path) -> AsyncIterator[Three]:
    async with three(tmp_path) as made:
        yield made


async def test_a_home_tells_its_peer_of_its_new_key_and_goes_on_to_vouch(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    old = trio.home.running.keys.current.device_id
    await trio.home.running.keys.rotate()
    new = trio.home.running.keys.current.device_id
    store = trio.peer.running.store
    await trio.until(lambda: store.get(old).retires_at == 1)
    entry = store.get(new)
    assert (entry.role, entry.owner, entry.retires_at) == (DeviceRole.PEER, old, 0)
    assert store.get(phone.identity.device_id).introduced_by == entry.owner
    assert await answered(trio.peer, await trio.at_peer(phone)) == "olleh"
    another = await trio.phone()
    await trio.until_known(another)
    assert store.get(another.identity.device_id).introduced_by == entry.owner


async def test_a_home_follows_its_peers_new_key(trio: Three) -> None:
    phone = await trio.phone()
    await trio.until_known(phone)
    old = trio.peer.running.keys.current
    await trio.peer.running.keys.rotate()
    new = trio.peer.running.keys.current
    another = await trio.phone()
    await trio.until_known(another)
    (view,), _ = await trio.control.views()
    assert view.id == new.device_id != old.device_id
    assert await answered(trio.peer, await trio.at_peer(another)) == "olleh"


async def test_a_phones_new_key_reaches_a_peer_through_its_home(
    trio: Three, tmp_path: Path
) -> None:
    async with key_phone(tmp_path / "phone") as phone:
        introduce(phone, trio.home)
        await trio.home.running.desk.changed()
        old, friend = phone.current, trio.peer.running.keys.current
        await trio.until(lambda: trio.lives_at_peer(old))
        phone.book.add(
            KnownNode(
                id=friend.device_id,
                certificate_der=friend.certificate.der,
                hpke_public_key=b"",
                name="Friend",
                place=Place.PEER,
                role=DeviceRole.GUEST,
                scopes=frozenset(),
                addresses=(f"127.0.0.1:{trio.peer.running.port}",),
                introduced_by=trio.home.certificate.device_id,
            )
        )
        link = (await phone.homes.links())[1]
        await within(link.verify(REACH_S))  # a connection with the old key, which is kept open

        own, _ = await within(phone.desk.rotate())
        assert own[0].id == phone.current.device_id != old.device_id
        (offer,) = await offered(await trio.home.dial(phone.current))
        assert offer.node_id == friend.device_id, "the phone keeps the peer meanwhile"
        await trio.until(lambda: trio.lives_at_peer(phone.current) and not trio.lives_at_peer(old))
        store, new = trio.peer.running.store, phone.current.device_id
        assert (store.get(new).owner, store.get(new).introduced_by != "") == (new, True)

        link = (await phone.homes.links())[1]
        await within(link.verify(REACH_S))
        await within(link.renew(REACH_S))
        assert not link.behind
        assert phone.book.get(friend.device_id).known_as == new
        assert [one.device_id for one in phone.ring.identities] == [new]
        assert store.get(new).retires_at == 0, "the phone said nothing of keys at the peer"
