"""Attack 2: somebody types wrong codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.errors import RefusedError
from homing_crypto.testing import throwaway_identity
from homing_node.values import Closed, CodeOffer, Paired, WrongCodeTyped, WrongGuess
from support.code_pairing import CodePhone, code_door, wrong_guesses
from support.node_pairing import pair
from support.node_rig import NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


@pytest.mark.attack(2)
@pytest.mark.parametrize("offer", [CodeOffer.ASK, CodeOffer.ACCEPT])
async def test_three_wrong_codes_burn_the_code_and_the_link_still_works(
    rig: NodeRig, offer: CodeOffer
) -> None:
    """Each is told how many are left; then even the right code is refused, and the link is not."""
    phone = CodePhone()
    async with code_door(rig, offer) as door:
        told = await wrong_guesses(door, 3)
        assert ["2 tries left" in told[0], "one try left" in told[1]] == [True, True]
        assert "too many wrong codes" in told[2]
        assert [await door.next() for _ in range(3)] == [
            WrongCodeTyped(2),
            WrongCodeTyped(1),
            WrongCodeTyped(0),
        ]
        error = await phone.is_refused(door)
        assert isinstance(error, RefusedError)
        assert "too many wrong codes" in error.what
        assert rig.running.store.devices() == ()
        identity = throwaway_identity()
        await pair(door.link, identity)
        assert (await door.expect(Paired)).device.id == identity.device_id


@pytest.mark.attack(2)
async def test_wrong_codes_and_wrong_links_together_close_the_window(rig: NodeRig) -> None:
    """Three of each, and nothing more: then the port is closed."""
    async with code_door(rig) as door:
        wrong = type(door.link)(
            door.link.addresses, door.link.certificate_sha256, bytes(16), door.link.expires_at
        )
        for left in (2, 1, 0):
            with pytest.raises(RefusedError):
                await pair(wrong, throwaway_identity())
            assert await door.next() == WrongGuess(left)
        await wrong_guesses(door, 3)
        for left in (2, 1, 0):
            assert await door.next() == WrongCodeTyped(left)
        closed = await door.expect(Closed)
        assert "too many wrong guesses" in closed.reason
    assert rig.running.store.devices() == ()
