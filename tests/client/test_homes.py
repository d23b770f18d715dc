"""Which node a step goes to: home before peers, and never where its data may not go."""

from __future__ import annotations

import dataclasses
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from homing_agent.ports import Need
from homing_client.config import HomeSection
from homing_core.access import Limits
from homing_core.addresses import parse_address
from homing_core.errors import HomingError, IntegrityError, UnavailableError, UnpairedError
from homing_core.nodes import OwnLimits
from homing_core.provenance import Sensitivity
from homing_core.tools import Place
from homing_crypto.testing import throwaway_identity
from homing_discovery.hints import instance_token
from homing_discovery.testing import FakeBrowser, FakeLan
from support.fake_home import FakeHome, fake_home, home_links
from support.node_rig import within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from homing_client.homes import HomeLinks
    from homing_crypto.identity import DeviceIdentity

NOWHERE = "127.0.0.1:1"
"""Where nothing listens."""
PATIENT = HomeSection(mdns=False, reach_seconds=30.0)


@pytest.fixture
def phone() -> DeviceIdentity:
    return throwaway_identity()


@pytest.fixture
async def home(phone: DeviceIdentity) -> AsyncIterator[FakeHome]:
    async with fake_home(phone) as node:
        yield node


@pytest.fixture
async def friend(phone: DeviceIdentity) -> AsyncIterator[FakeHome]:
    async with fake_home(phone, name="friend") as node:
        yield node


@pytest.fixture
def deaf() -> Iterator[str]:
    """An address where connections are taken and nothing is ever said."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


async def refused(links: HomeLinks, need: Need | None = None) -> HomingError:
    with pytest.raises(HomingError) as told:
        await within(links.pick(need or Need()))
    return told.value


async def test_home_comes_before_a_peer(
    phone: DeviceIdentity, home: FakeHome, friend: FakeHome
) -> None:
    peer = friend.known(place=Place.PEER, paired_at=1)
    async with home_links(phone, peer, home.known(paired_at=2)) as (links, _):
        for sensitivity in (Sensitivity.HOME_ONLY, Sensitivity.ANY_PAIRED):
            remote = await within(links.pick(Need(sensitivity)))
            assert (remote.name, remote.place) == ("den", Place.HOME)


async def test_a_peer_stands_in_for_a_home_that_is_away_if_the_data_may_go_there(
    phone: DeviceIdentity, home: FakeHome, friend: FakeHome
) -> None:
    away = home.known(NOWHERE)
    async with home_links(phone, away, friend.known(place=Place.PEER)) as (links, _):
        for open_enough in (Sensitivity.TRUSTED_PEERS, Sensitivity.ANY_PAIRED):
            remote = await within(links.pick(Need(open_enough)))
            assert (remote.name, remote.place) == ("friend", Place.PEER)
        assert isinstance(await refused(links, Need(Sensitivity.HOME_ONLY)), UnavailableError)


@pytest.mark.parametrize(
    "unready",
    [
        {"models": (), "default_model": ""},
        {"own": OwnLimits(Limits(tokens_per_day=100), tokens_left=0)},
        {"own": OwnLimits(opens_in_s=60)},
    ],
)
async def test_a_home_with_nothing_to_answer_with_comes_after_a_peer_that_has(
    phone: DeviceIdentity, home: FakeHome, friend: FakeHome, unready: dict[str, Any]
) -> None:
    home.info = dataclasses.replace(home.info, **unready)
    async with home_links(phone, home.known(), friend.known(place=Place.PEER)) as (links, _):
        assert (await within(links.pick(Need(Sensitivity.TRUSTED_PEERS)))).name == "friend"
        assert (await within(links.pick(Need(Sensitivity.HOME_ONLY)))).name == "den"


async def test_a_node_that_just_failed_is_not_asked_again(
    phone: DeviceIdentity, home: FakeHome, friend: FakeHome
) -> None:
    failed = frozenset({home.info.id})
    async with home_links(phone, home.known(), friend.known(place=Place.PEER)) as (links, _):
        remote = await within(links.pick(Need(Sensitivity.TRUSTED_PEERS, avoid=failed)))
        assert remote.name == "friend"
        error = await refused(links, Need(Sensitivity.HOME_ONLY, avoid=failed))
        assert "no other node" in error.what


async def test_what_is_the_phones_own_leaves_it_never(
    phone: DeviceIdentity, home: FakeHome
) -> None:
    async with home_links(phone, home.known()) as (links, _):
        error = await refused(links, Need(Sensitivity.PHONE_ONLY))
        assert isinstance(error, UnavailableError)
        assert "may not leave the phone" in error.what
        assert "--sensitivity" in error.hint


async def test_what_is_for_home_goes_to_no_peer(phone: DeviceIdentity, friend: FakeHome) -> None:
    async with home_links(phone, friend.known(place=Place.PEER)) as (links, _):
        error = await refused(links, Need(Sensitivity.HOME_ONLY))
        assert isinstance(error, UnavailableError)
        assert "peer" in error.what


async def test_the_phones_own_record_says_what_a_node_is(
    phone: DeviceIdentity, friend: FakeHome
) -> None:
    friend.info = dataclasses.replace(friend.info, place=Place.HOME)  # whatever it claims
    async with home_links(phone, friend.known(place=Place.PEER)) as (links, _):
        remote = await within(links.pick(Need(Sensitivity.TRUSTED_PEERS)))
        assert remote.place is Place.PEER


async def test_without_a_node_it_says_how_to_get_one(phone: DeviceIdentity) -> None:
    async with home_links(phone) as (links, _):
        error = await refused(links)
        assert "paired with no node" in error.what
        assert "homing pair" in error.hint


async def test_where_nobody_answers_it_ends_in_the_time_that_is_set(
    phone: DeviceIdentity, home: FakeHome, deaf: str
) -> None:
    settings = HomeSection(mdns=False, reach_seconds=0.3)
    async with home_links(phone, home.known(deaf), settings=settings) as (links, _):
        started = time.monotonic()
        error = await refused(links)
        assert time.monotonic() - started < 5
        assert isinstance(error, UnavailableError)
        assert "den does not answer" in error.what


async def test_a_home_that_refuses_the_connection_costs_no_time(
    phone: DeviceIdentity, home: FakeHome
) -> None:
    async with home_links(phone, home.known(NOWHERE), settings=PATIENT) as (links, _):
        started = time.monotonic()
        await refused(links)
        assert time.monotonic() - started < 10


async def test_what_keeps_the_only_home_away_is_said(home: FakeHome) -> None:
    stranger = throwaway_identity()
    async with home_links(stranger, home.known()) as (links, _):
        assert isinstance(await refused(links), UnpairedError)
    async with (
        fake_home(stranger) as other,
        home_links(stranger, home.known(other.address)) as (links, _),
    ):
        assert isinstance(await refused(links), IntegrityError)


async def test_an_address_of_the_configuration_is_tried(
    phone: DeviceIdentity, home: FakeHome
) -> None:
    settings = HomeSection(mdns=False, addresses=(home.address,))
    async with home_links(phone, home.known(NOWHERE), settings=settings) as (links, _):
        assert (await within(links.pick(Need()))).name == "den"


async def test_an_address_that_was_heard_is_tried(phone: DeviceIdentity, home: FakeHome) -> None:
    lan = FakeLan()
    lan.announce(instance_token(home.identity.device_id), [parse_address(home.address)])
    browser = FakeBrowser(lan)
    await browser.start()
    known = home.known(NOWHERE)
    async with home_links(phone, known, settings=PATIENT, browser=browser) as (links, book):
        assert (await within(links.pick(Need()))).name == "den"
        assert book.get(known.id).last_good_address == home.address
    await browser.close()


async def test_a_remembered_address_that_cannot_be_read_is_left_out(
    phone: DeviceIdentity, home: FakeHome
) -> None:
    known = dataclasses.replace(home.known("nonsense", home.address), last_good_address="x:y")
    async with home_links(phone, known) as (links, _):
        assert (await within(links.pick(Need()))).name == "den"


async def test_a_node_that_lacks_the_configured_model_is_not_taken(
    phone: DeviceIdentity, home: FakeHome
) -> None:
    settings = HomeSection(mdns=False, model="huge:f64")
    async with home_links(phone, home.known(), settings=settings) as (links, _):
        error = await refused(links)
        assert isinstance(error, UnavailableError)
        assert "[home] model" in error.what
        assert "big:bf16" in error.hint


async def test_a_node_that_was_forgotten_is_not_asked(
    phone: DeviceIdentity, home: FakeHome
) -> None:
    async with home_links(phone, home.known()) as (links, book):
        await within(links.pick(Need()))
        book.remove(home.identity.device_id)
        assert "paired with no node" in (await refused(links)).what
        book.add(home.known())
        assert (await within(links.pick(Need()))).name == "den"
