"""Attack 4: somebody who knows code and link tries them when no window is open."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from homing_client.rpc import code_calls
from homing_core.errors import ConflictError, RefusedError, UnavailableError
from homing_crypto.testing import throwaway_identity
from homing_node.config import PairingSection
from homing_node.pairing import by_code
from homing_node.values import Closed, CodeOffer, Paired
from support.code_pairing import CodePhone, by_hand, code_door, refused
from support.node_pairing import pair
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, node_rig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(DEADLINE_S)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    config = replace(LOOPBACK, pairing=PairingSection(free_port()))
    async with node_rig(tmp_path, config) as running:
        yield running


@pytest.mark.attack(4)
async def test_before_and_after_the_window_the_port_is_closed(rig: NodeRig) -> None:
    """No listener before; none once the window ran out; code and link find nobody."""
    phone = CodePhone()
    async with code_door(rig, seconds=1) as door:
        port = door.address.port
        assert listens(port)
        await door.expect(Closed)
        assert not listens(port)
        assert isinstance(await phone.is_refused(door), UnavailableError)
        with pytest.raises(UnavailableError):
            await pair(door.link, throwaway_identity())
    assert rig.running.store.devices() == ()
    async with code_door(rig) as later:  # the same port, and another code
        assert later.address.port == port
        assert later.code != door.code
        assert isinstance(await phone.is_refused(later, door.code), RefusedError)
    assert rig.running.store.devices() == ()


@pytest.mark.attack(4)
async def test_a_code_that_nobody_answers_for_lets_nobody_in(
    rig: NodeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person has a while more than the window; then the phone is told, and the port closes."""
    monkeypatch.setattr(by_code, "ANSWER_S", 1.0)
    phone = CodePhone()
    async with code_door(rig, seconds=2) as door:
        pairing = asyncio.create_task(phone.is_refused(door))
        assert (await door.next()) is not None
        closed = await door.expect(Closed)
        assert "nobody said in time" in closed.reason
        error = await pairing
        assert isinstance(error, RefusedError)
        assert "expired" in error.what
        assert not listens(door.address.port)
    assert rig.running.store.devices() == ()
    assert phone.book.pending_pairings() == ()


@pytest.mark.attack(4)
async def test_without_a_code_on_offer_the_port_knows_none(rig: NodeRig) -> None:
    """A window for the link alone refuses every message of the other way."""
    async with code_door(rig, CodeOffer.NONE) as door:
        assert door.code == ""
        async with by_hand(door, "00000000") as hand:
            error = await refused(code_calls.start(hand.channel, hand.asking.start, DEADLINE_S))
            assert "takes the link only" in error.what
        identity = throwaway_identity()
        await pair(door.link, identity)
        await door.expect(Paired)


@pytest.mark.attack(4)
async def test_an_answer_without_a_window_decides_nothing(rig: NodeRig) -> None:
    control = await rig.control()
    with pytest.raises(ConflictError):
        await control.decide("code-0", allow=True)
    async with code_door(rig):
        with pytest.raises(ConflictError):
            await control.decide("code-0", allow=True)
    assert rig.running.store.devices() == ()
