"""Dialling one node: the key decides, and what failed is said as exactly as it can be."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import time
from typing import TYPE_CHECKING

import pytest
from homing_client.keys import OneKey
from homing_client.link import NodeLink
from homing_core.addresses import parse_address
from homing_core.clock import SystemClock
from homing_core.errors import (
    HomingError,
    IntegrityError,
    OverloadedError,
    UnavailableError,
    UnpairedError,
)
from homing_crypto.testing import MemoryNodeBook, throwaway_identity
from support.fake_home import FakeHome, fake_home
from support.node_rig import node_rig, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator
    from pathlib import Path

    from homing_core.addresses import Address
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode

NOWHERE = "127.0.0.1:1"
REACH_S = 5.0


@pytest.fixture
def phone() -> DeviceIdentity:
    return throwaway_identity()


@pytest.fixture
async def home(phone: DeviceIdentity) -> AsyncIterator[FakeHome]:
    async with fake_home(phone) as node:
        yield node


@pytest.fixture
def deaf() -> Iterator[str]:
    """An address where connections are taken and nothing is ever said."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


class Dialling:
    """A link to a node, and the book it notes in."""

    def __init__(self, node: KnownNode, phone: DeviceIdentity, *addresses: str) -> None:
        self.book = MemoryNodeBook()
        self.book.add(node)
        self.addresses = list(addresses or node.addresses)
        self.link = NodeLink(node, OneKey(phone), self.book, self._candidates, SystemClock())

    def _candidates(self) -> list[Address]:
        return [parse_address(text) for text in self.addresses]

    async def fails(self, seconds: float = REACH_S) -> HomingError:
        with pytest.raises(HomingError) as failed:
            await within(self.link.verify(seconds))
        return failed.value


@contextlib.asynccontextmanager
async def dialling(
    home: FakeHome, phone: DeviceIdentity, *addresses: str
) -> AsyncGenerator[Dialling]:
    made = Dialling(home.known(), phone, *addresses)
    try:
        yield made
    finally:
        await made.link.drop()


async def test_the_first_address_that_proves_the_key_wins(
    home: FakeHome, phone: DeviceIdentity, deaf: str
) -> None:
    async with dialling(home, phone, deaf, NOWHERE, home.address) as one:
        verified = await within(one.link.verify(REACH_S))
        assert verified.address == home.address
        assert verified.info.name == "den"
        assert verified.round_trip_ms > 0
        (noted,) = one.book.nodes()
        assert noted.last_good_address == home.address
        assert noted.last_verified_at == verified.at


@pytest.mark.attack
async def test_a_wrong_key_is_passed_over_when_another_address_is_right(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    async with fake_home(phone, name="impostor") as impostor:
        async with dialling(home, phone, impostor.address, home.address) as one:
            verified = await within(one.link.verify(REACH_S))
            assert verified.info.id == home.identity.device_id
        assert impostor.asked.empty()


@pytest.mark.attack
async def test_a_wrong_key_is_told_at_once_when_it_is_the_only_answer(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    async with fake_home(phone) as impostor, dialling(home, phone, impostor.address) as one:
        started = time.monotonic()
        error = await one.fails(seconds=30.0)
        assert isinstance(error, IntegrityError)
        assert "pair again" in error.hint
        assert time.monotonic() - started < 10


async def test_a_stranger_at_one_address_does_not_hide_that_the_node_is_silent(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    async with (
        fake_home(phone) as impostor,
        dialling(home, phone, impostor.address, NOWHERE) as one,
    ):
        error = await one.fails()
        assert isinstance(error, UnavailableError)
        assert "another computer has one of its addresses" in error.what


@pytest.mark.attack
async def test_a_node_that_says_it_is_another_is_not_believed(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    home.info = dataclasses.replace(home.info, id=phone.device_id)
    async with dialling(home, phone) as one:
        assert isinstance(await one.fails(), IntegrityError)


async def test_a_refused_connection_is_told_at_once(home: FakeHome, phone: DeviceIdentity) -> None:
    async with dialling(home, phone, NOWHERE) as one:
        started = time.monotonic()
        error = await one.fails(seconds=30.0)
        assert isinstance(error, UnavailableError)
        assert "den does not answer" in error.what
        assert time.monotonic() - started < 10


async def test_where_nobody_says_a_word_it_ends_in_time(
    home: FakeHome, phone: DeviceIdentity, deaf: str
) -> None:
    async with dialling(home, phone, deaf) as one:
        started = time.monotonic()
        assert isinstance(await one.fails(seconds=0.3), UnavailableError)
        assert time.monotonic() - started < 5


async def test_a_node_without_an_address_says_what_to_do(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    async with dialling(home, phone) as one:
        one.addresses = []
        error = await one.fails()
        assert "no address of den is known" in error.what
        assert "[home] addresses" in error.hint


async def test_a_phone_that_the_node_does_not_know_is_told_to_pair(home: FakeHome) -> None:
    stranger = throwaway_identity()
    async with dialling(home, stranger) as one:
        error = await one.fails()
        assert isinstance(error, UnpairedError)
        assert "den does not know this phone" in error.what
        assert "homing-node pair" in error.hint


async def test_a_revoked_phone_is_told_so_by_the_real_node(tmp_path: Path) -> None:
    async with node_rig(tmp_path) as rig:
        paired = await rig.phone()
        node = dataclasses.replace(
            FakeHome().known(f"127.0.0.1:{rig.running.port}"),
            certificate_der=rig.certificate.der,
            id=rig.running.facts.id,
        )
        one = Dialling(node, paired.identity)
        assert (await within(one.link.verify(REACH_S))).info.name == "den"
        rig.running.store.revoke(paired.identity.device_id)
        # Over the connection at hand, and over a new one, where TLS alone would just hang up.
        assert isinstance(await one.fails(), UnpairedError)
        await one.link.drop()
        assert isinstance(await one.fails(), UnpairedError)


async def test_what_the_node_itself_says_is_passed_on(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    home.error = OverloadedError("the node has its hands full", "Later.", retry_after_ms=500)
    async with dialling(home, phone) as one:
        error = await one.fails()
        assert isinstance(error, OverloadedError)
        assert error.retry_after_ms == 500


async def test_a_connection_is_kept_while_it_answers(home: FakeHome, phone: DeviceIdentity) -> None:
    async with dialling(home, phone) as one:
        await within(one.link.verify(REACH_S))
        one.addresses = []  # nothing could be dialled now
        await within(one.link.verify(REACH_S))
        await within(one.link.calls(REACH_S))


async def test_a_node_that_was_restarted_is_dialled_anew(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    async with dialling(home, phone) as one:
        await within(one.link.verify(REACH_S))
        await home.die()
        assert isinstance(await one.fails(), UnavailableError)
        await home.start()
        assert (await within(one.link.verify(REACH_S))).address == home.address


async def test_a_node_that_went_silent_leaves_time_for_its_other_address(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    async with dialling(home, phone) as one:
        await within(one.link.verify(REACH_S))
        home.silent = True
        assert isinstance(await one.fails(seconds=0.6), UnavailableError)
        home.silent = False
        assert (await within(one.link.verify(REACH_S))).info.name == "den"


async def test_reaching_goes_on_until_the_node_is_back(
    home: FakeHome, phone: DeviceIdentity
) -> None:
    async with dialling(home, phone) as one:
        await home.die()
        reaching = asyncio.ensure_future(one.link.reach(20.0))
        done, _ = await asyncio.wait({reaching}, timeout=0.3)
        assert not done
        await home.start()
        assert (await within(asyncio.wait_for(reaching, 20))).address == home.address


async def test_a_disk_that_is_full_does_not_keep_the_phone_from_its_node(
    home: FakeHome, phone: DeviceIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dialling(home, phone) as one:

        def full(*_: object) -> None:
            msg = "cannot use the list of known nodes now"
            raise UnavailableError(msg)

        monkeypatch.setattr(one.book, "note_verified", full)
        assert (await within(one.link.verify(REACH_S))).address == home.address


async def test_a_verification_is_written_down_once_a_minute(
    home: FakeHome, phone: DeviceIdentity, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dialling(home, phone) as one:
        noted: list[str] = []

        def note(_node: str, address: str, _at: float) -> None:
            noted.append(address)

        monkeypatch.setattr(one.book, "note_verified", note)
        for _ in range(3):
            await within(one.link.verify(REACH_S))
        assert noted == [home.address]
