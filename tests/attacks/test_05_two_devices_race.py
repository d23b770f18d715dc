"""Attack 5: two devices race for one window."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import ConflictError, HomingError
from homing_crypto.nodes import KnownNode
from homing_crypto.testing import throwaway_identity
from homing_node.values import Asks, CodeOffer, Paired
from support.code_pairing import CodePhone, code_door
from support.node_pairing import pair
from support.node_rig import NodeRig, node_rig, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


@pytest.mark.attack(5)
@pytest.mark.parametrize("offer", [CodeOffer.ASK, CodeOffer.ACCEPT])
async def test_of_two_devices_with_the_right_code_one_is_stored_and_the_other_told(
    rig: NodeRig, offer: CodeOffer
) -> None:
    """Exactly one; the person is asked about exactly one; the other learns that it was slower."""
    phones = [CodePhone("first"), CodePhone("second")]
    async with code_door(rig, offer) as door:
        racing = asyncio.gather(*(phone.pair(door) for phone in phones), return_exceptions=True)
        if offer is CodeOffer.ASK:
            await door.answer(allow=True)
        paired = await door.expect(Paired)
        results = await within(_done(racing))
    (lost,) = (result for result in results if isinstance(result, BaseException))
    assert isinstance(lost, ConflictError)
    assert "another device was quicker" in lost.what
    assert [device.id for device in rig.running.store.devices()] == [paired.device.id]
    winners = [phone for phone in phones if phone.book.nodes()]
    assert [phone.identity.device_id for phone in winners] == [paired.device.id]


@pytest.mark.attack(5)
async def test_a_link_beats_a_code_that_still_waits_for_the_person(rig: NodeRig) -> None:
    """The link's device is in at once; the code's is told; the person's answer comes too late."""
    phone, other = CodePhone(), throwaway_identity()
    async with code_door(rig) as door:
        pairing = asyncio.create_task(phone.is_refused(door))
        asks = await door.expect(Asks)
        await pair(door.link, other)
        assert (await door.expect(Paired)).device.id == other.device_id
        error = await pairing
        assert isinstance(error, ConflictError)
        assert "another device was quicker" in error.what
        with pytest.raises(ConflictError):
            await door.control.decide(asks.attempt_id, allow=True)
    assert [device.id for device in rig.running.store.devices()] == [other.device_id]
    assert phone.book.nodes() == ()
    assert phone.book.pending_pairings() == ()


@pytest.mark.attack(5)
async def test_links_and_codes_at_once_store_exactly_one(rig: NodeRig) -> None:
    """Whoever wins, by whichever way, everybody else is refused."""
    phones = [CodePhone(), CodePhone()]
    identities = [throwaway_identity() for _ in range(2)]
    async with code_door(rig, CodeOffer.ACCEPT) as door:
        racing = asyncio.gather(
            *(phone.pair(door) for phone in phones),
            *(pair(door.link, identity) for identity in identities),
            return_exceptions=True,
        )
        paired = await door.expect(Paired)
        results = await within(_done(racing))
    won = [result for result in results if isinstance(result, KnownNode)]
    lost = [result for result in results if isinstance(result, HomingError)]
    assert (len(won), len(lost)) == (1, 3)
    assert [device.id for device in rig.running.store.devices()] == [paired.device.id]


async def _done(
    racing: asyncio.Future[list[KnownNode | BaseException]],
) -> list[KnownNode | BaseException]:
    return await racing
