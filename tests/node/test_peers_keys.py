"""A home and its peer replace their keys; what the home vouches for stays vouched for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.access import DeviceRole
from support.peer_rig import Three, answered, three

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
