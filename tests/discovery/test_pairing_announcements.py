"""A pairing server is found while it is announced, apart from nodes, within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from homing_core.addresses import Address
from homing_core.errors import UnavailableError
from homing_discovery.announcer import ZeroconfAnnouncer
from homing_discovery.browser import ZeroconfBrowser
from homing_discovery.hints import (
    NODES,
    PAIRING,
    Announcement,
    Service,
    instance_name,
    random_token,
    server_name,
    token_of,
)
from homing_discovery.search import search
from homing_discovery.sightings import MAX_UNWANTED
from homing_discovery.testing import FakeAnnouncer, FakeBrowser, FakeLan

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_discovery.boundaries import Announcer, Browser

LOOPBACK = ("127.0.0.1",)
WAIT_S = 5.0
SETTLE_S = 0.2


def fake() -> tuple[Callable[[Announcement], Announcer], Callable[[], Browser]]:
    lan = FakeLan()
    return (lambda said: FakeAnnouncer(lan, said)), (lambda: FakeBrowser(lan))


def real() -> tuple[Callable[[Announcement], Announcer], Callable[[], Browser]]:
    return (
        lambda said: ZeroconfAnnouncer(said, interfaces=LOOPBACK),
        lambda: ZeroconfBrowser(interfaces=LOOPBACK, service=PAIRING),
    )


@pytest.mark.parametrize("network", [fake, real])
async def test_every_open_pairing_is_found_once(
    network: Callable[[], tuple[Callable[[Announcement], Announcer], Callable[[], Browser]]],
) -> None:
    announcer, browser = network()
    said = [Announcement(random_token(), port, PAIRING) for port in (40_123, 40_124)]
    announcers = [announcer(one) for one in said]
    for one in announcers:
        await one.start()
    try:
        found = await search(browser(), WAIT_S, SETTLE_S)
    finally:
        for one in announcers:
            await one.close()
    mine = {hint.token: hint.addresses for hint in found if hint.token in {s.token for s in said}}
    assert mine == {one.token: (Address("127.0.0.1", one.port),) for one in said}


async def test_a_node_is_no_pairing_server() -> None:
    node = ZeroconfAnnouncer(Announcement("ab" * 8, 4433), interfaces=LOOPBACK)
    pairing = ZeroconfAnnouncer(Announcement("cd" * 8, 4434, PAIRING), interfaces=LOOPBACK)
    await node.start()
    await pairing.start()
    try:
        pairings = await search(ZeroconfBrowser(interfaces=LOOPBACK, service=PAIRING), WAIT_S, 0.2)
        nodes = await search(ZeroconfBrowser(interfaces=LOOPBACK), WAIT_S, 0.2)
    finally:
        await node.close()
        await pairing.close()
    assert "ab" * 8 not in {hint.token for hint in pairings}
    assert "cd" * 8 not in {hint.token for hint in nodes}
    assert "cd" * 8 in {hint.token for hint in pairings}


async def test_silence_ends_the_search() -> None:
    browser = FakeBrowser(FakeLan())
    assert await search(browser, 0.05) == ()
    with pytest.raises(StopAsyncIteration):  # it was closed
        await anext(browser.watch())


async def test_where_there_is_no_multicast_that_is_said() -> None:
    lan = FakeLan()
    lan.possible = False
    with pytest.raises(UnavailableError):
        await search(FakeBrowser(lan), 0.05)


@pytest.mark.attack
async def test_a_flood_of_forged_pairings_is_bounded() -> None:
    lan = FakeLan()
    for number in range(1000):
        lan.announce(f"{number:016x}", [Address("10.6.6.6", 4433)])
    assert len(await search(FakeBrowser(lan), 0.05, 0)) == MAX_UNWANTED


def test_names_of_both_services_are_told_apart() -> None:
    token = random_token()
    assert len(token) == 16
    for service in (NODES, PAIRING):
        for name in (instance_name(token, service), server_name(token, service)):
            assert token_of(name, service) == token
            assert token_of(name.upper(), service) == token
            others: list[Service] = [other for other in (NODES, PAIRING) if other != service]
            assert [token_of(name, other) for other in others] == [None]
