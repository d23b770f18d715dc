"""Pairing, the phone's side, against the node's own pairing server."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
from typing import TYPE_CHECKING

import pytest
from homing_agent.pairing.by_link import PENDING_S
from homing_client.pairing import pair_with, resume_pairings
from homing_client.rpc import pairing_calls
from homing_core.access import DeviceRole
from homing_core.addresses import Address, parse_address
from homing_core.clock import SystemClock
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    InvalidDataError,
    RefusedError,
    UnavailableError,
)
from homing_core.testing import FakeClock
from homing_crypto.node_book import SqliteNodeBook
from homing_crypto.nodes import PendingPairing
from homing_crypto.pairing.link import PairingLink, new_secret, parse_link
from homing_crypto.pairing.outcomes import Burned, Expired, refusal
from homing_crypto.testing import MemoryNodeBook, throwaway_identity
from homing_node.values import Opened, Paired, WrongGuess
from support.fake_home import fake_home
from support.node_rig import NodeRig, node_rig, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from pathlib import Path

    import grpc
    from homing_core.pairing import PairAnswer, PairAttempt
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_node.values import PairingEvent

NOWHERE = Address("127.0.0.1", 1)


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[NodeRig]:
    async with node_rig(tmp_path) as running:
        yield running


class Phone:
    """A phone that pairs."""

    def __init__(self, book: NodeBook | None = None) -> None:
        self.identity: DeviceIdentity = throwaway_identity()
        self.book: NodeBook = book or MemoryNodeBook()

    async def pair(self, link: PairingLink | str, name: str = "Anna's phone") -> KnownNode:
        text = link if isinstance(link, str) else link.to_text()
        return await within(
            pair_with(text, identity=self.identity, book=self.book, name=name, clock=SystemClock())
        )

    async def is_refused(self, link: PairingLink | str) -> HomingError:
        with pytest.raises(HomingError) as told:
            await self.pair(link)
        return told.value

    async def resume(self, now: float | None = None) -> None:
        clock = SystemClock() if now is None else FakeClock(now)
        await within(resume_pairings(identity=self.identity, book=self.book, clock=clock))


@dataclasses.dataclass
class Door:
    """An open pairing at the node."""

    link: PairingLink
    events: AsyncGenerator[PairingEvent, None]

    async def next(self) -> PairingEvent:
        return await within(anext(self.events))


@contextlib.asynccontextmanager
async def opened(rig: NodeRig, role: DeviceRole = DeviceRole.OWNER) -> AsyncGenerator[Door]:
    control = await rig.control()
    async with contextlib.aclosing(control.pair(role, 60)) as events:
        first = await within(anext(events))
        assert isinstance(first, Opened)
        yield Door(parse_link(first.link), events)


async def test_a_node_is_remembered_as_it_says_it_is(rig: NodeRig) -> None:
    phone = Phone()
    async with opened(rig, DeviceRole.MEMBER) as door:
        node = await phone.pair(door.link)
        event = await door.next()
    assert isinstance(event, Paired)
    assert (event.device.id, event.device.name) == (phone.identity.device_id, "Anna's phone")
    assert phone.book.nodes() == (node,)
    assert (node.name, node.role) == ("den", DeviceRole.MEMBER)
    assert node.addresses == (f"127.0.0.1:{rig.running.port}",)
    assert phone.book.pending_pairings() == ()


async def test_a_link_for_a_home_is_not_used_up_by_a_phone(rig: NodeRig) -> None:
    phone = Phone()
    async with opened(rig, DeviceRole.PEER) as door:
        error = await phone.is_refused(door.link)
        assert isinstance(error, RefusedError)
        assert "another home's node" in error.what
        assert rig.running.store.devices() == ()
        # An older node's link does not say whom it is for: at least the phone does not keep it.
        older = dataclasses.replace(door.link, kind=None)
        assert isinstance(await phone.is_refused(older), RefusedError)
    assert (phone.book.nodes(), phone.book.pending_pairings()) == ((), ())


async def test_the_first_address_with_the_right_certificate_is_taken(rig: NodeRig) -> None:
    phone = Phone()
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        silent = Address("127.0.0.1", deaf.getsockname()[1])
        async with opened(rig) as door, fake_home() as stranger:
            addresses = (NOWHERE, silent, parse_address(stranger.address), *door.link.addresses)
            # Well within the time that the silent address alone would take.
            async with asyncio.timeout(4):
                await phone.pair(dataclasses.replace(door.link, addresses=addresses))
    assert len(phone.book.nodes()) == 1


async def test_a_wrong_secret_is_refused_and_forgotten(rig: NodeRig) -> None:
    phone = Phone()
    async with opened(rig) as door:
        guess = dataclasses.replace(door.link, secret=new_secret())
        error = await phone.is_refused(guess)
        assert isinstance(error, RefusedError)
        assert "not the one that is open" in error.what
        assert await door.next() == WrongGuess(2)
        assert phone.book.pending_pairings() == ()
        await phone.pair(door.link)  # the right one still works
    assert len(phone.book.nodes()) == 1


async def test_a_link_that_paired_another_phone_is_refused(rig: NodeRig) -> None:
    second = Phone()
    async with opened(rig) as door:
        await Phone().pair(door.link)
        error = await second.is_refused(door.link)
    assert isinstance(error, ConflictError)
    assert "already used" in error.what
    assert "homing-node pair" in error.hint
    assert second.book.nodes() == ()
    assert second.book.pending_pairings() == ()


async def test_a_link_of_a_closed_pairing_finds_nobody(rig: NodeRig) -> None:
    phone = Phone()
    async with opened(rig) as door:
        pass
    error = await phone.is_refused(door.link)
    assert isinstance(error, UnavailableError)
    assert "three minutes" in error.hint
    assert phone.book.nodes() == ()


@pytest.mark.parametrize("outcome", [Expired(), Burned()], ids=["expired", "burned"])
async def test_a_no_of_the_node_is_passed_on_and_ends_it(
    rig: NodeRig, monkeypatch: pytest.MonkeyPatch, outcome: Expired | Burned
) -> None:
    async def pair(channel: grpc.aio.Channel, attempt: PairAttempt, timeout_s: float) -> PairAnswer:
        del channel, attempt, timeout_s
        raise refusal(outcome)

    monkeypatch.setattr(pairing_calls, "pair", pair)
    phone = Phone()
    async with opened(rig) as door:
        error = await phone.is_refused(door.link)
    assert isinstance(error, RefusedError)
    assert "homing-node pair" in error.hint
    assert phone.book.pending_pairings() == ()


async def test_a_phone_that_is_paired_already_is_told_so(rig: NodeRig) -> None:
    phone = Phone()
    async with opened(rig) as door:
        await phone.pair(door.link)
        closed = dataclasses.replace(door.link, addresses=(NOWHERE,))
    error = await phone.is_refused(closed)
    assert isinstance(error, UnavailableError)
    assert "paired with den already" in error.hint


@pytest.mark.attack
async def test_somebody_else_with_another_certificate_gets_nothing(rig: NodeRig) -> None:
    phone = Phone()
    async with opened(rig) as door, fake_home() as impostor:
        link = dataclasses.replace(door.link, addresses=(parse_address(impostor.address),))
        error = await phone.is_refused(link)
        assert isinstance(error, IntegrityError)
        assert "wrong server key" in error.what
        assert phone.book.nodes() == ()
        assert phone.book.pending_pairings() == ()


@pytest.mark.parametrize(
    "text",
    ["hello", "homing://pair?v=1", "homing://pair?v=2&a=h:1", "https://example.org", ""],
)
async def test_what_is_no_link_is_said_at_once(text: str) -> None:
    phone = Phone()
    error = await phone.is_refused(text)
    assert isinstance(error, InvalidDataError)
    assert error.hint
    assert phone.book.pending_pairings() == ()


@pytest.fixture
def lost_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The node answers, and the answer never arrives."""
    real = pairing_calls.pair

    async def pair(channel: grpc.aio.Channel, attempt: PairAttempt, timeout_s: float) -> PairAnswer:
        await real(channel, attempt, timeout_s)
        msg = "the connection broke"
        raise UnavailableError(msg)

    monkeypatch.setattr(pairing_calls, "pair", pair)


@pytest.mark.usefixtures("lost_replies")
async def test_a_lost_answer_is_asked_for_again_with_the_same_link(
    rig: NodeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone = Phone()
    async with opened(rig) as door:
        assert isinstance(await phone.is_refused(door.link), UnavailableError)
        assert isinstance(await door.next(), Paired)  # as far as the node knows
        assert phone.book.nodes() == ()
        (pending,) = phone.book.pending_pairings()
        assert pending.link == door.link.to_text()
        monkeypatch.undo()
        node = await phone.pair(door.link)
    assert phone.book.nodes() == (node,)
    assert phone.book.pending_pairings() == ()


@pytest.mark.usefixtures("lost_replies")
async def test_what_a_killed_phone_left_is_taken_up_again_at_the_next_start(
    rig: NodeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone = Phone()
    async with opened(rig) as door:
        await phone.is_refused(door.link)
        monkeypatch.undo()
        await phone.resume()
    (node,) = phone.book.nodes()
    assert node.name == "den"
    assert phone.book.pending_pairings() == ()


async def test_a_pending_pairing_survives_while_it_may_succeed_and_no_longer() -> None:
    phone = Phone()
    link = PairingLink((NOWHERE,), bytes(32), new_secret(), expires_at=2_000_000_000)
    now = 1_800_000_000.0
    phone.book.begin_pairing(PendingPairing(link.id, link.to_text(), "phone", now))
    await phone.resume(now + PENDING_S - 1)
    assert len(phone.book.pending_pairings()) == 1
    await phone.resume(now + 2 * PENDING_S)
    assert phone.book.pending_pairings() == ()  # its secret is not kept for ever


async def test_a_definite_no_at_the_next_start_ends_it(rig: NodeRig) -> None:
    phone = Phone()
    async with opened(rig) as door:
        wrong = dataclasses.replace(door.link, secret=new_secret())
        pending = PendingPairing(wrong.id, wrong.to_text(), "phone", SystemClock().now())
        phone.book.begin_pairing(pending)
        await phone.resume()
    assert phone.book.pending_pairings() == ()
    assert phone.book.nodes() == ()


async def test_node_and_pending_pairing_are_on_disk(rig: NodeRig, tmp_path: Path) -> None:
    path = tmp_path / "nodes.db"
    book = SqliteNodeBook(path)
    phone = Phone(book)
    async with opened(rig) as door:
        node = await phone.pair(door.link)
    link = PairingLink((NOWHERE,), bytes(32), new_secret(), expires_at=2_000_000_000)
    assert isinstance(await phone.is_refused(link), UnavailableError)
    # Nobody closes the book: this is what a killed process leaves.
    again = SqliteNodeBook(path)
    assert [found.id for found in again.nodes()] == [node.id]
    assert [pending.link_id for pending in again.pending_pairings()] == [link.id]
    again.close()
    book.close()
