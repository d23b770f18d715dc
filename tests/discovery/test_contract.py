"""One suite over the fake network and real zeroconf on loopback."""

from __future__ import annotations

import asyncio
import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import pytest
from homing_core.addresses import Address
from homing_core.errors import UnavailableError
from homing_discovery.announcer import ZeroconfAnnouncer
from homing_discovery.browser import ZeroconfBrowser
from homing_discovery.hints import Announcement
from homing_discovery.testing import FakeAnnouncer, FakeBrowser, FakeLan
from support.mdns import Stranger

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from homing_discovery.boundaries import Announcer, Browser
    from homing_discovery.hints import Hint

WAIT_S = 10.0
LOOPBACK = ("127.0.0.1",)
FORGED = "10.66.66.66"


class Network(ABC):
    """Where a contract is tried."""

    @abstractmethod
    def announcer(self, token: str, port: int = 4433) -> Announcer: ...

    @abstractmethod
    def browser(self, *wanted: str) -> Browser: ...

    @abstractmethod
    def impossible(self) -> tuple[Announcer, Browser]: ...

    @abstractmethod
    def forge(self, token: str, host: str) -> None: ...

    @abstractmethod
    def forge_goodbye(self, token: str) -> None: ...


class FakeNetwork(Network):
    def __init__(self) -> None:
        self.lan = FakeLan()

    def announcer(self, token: str, port: int = 4433) -> Announcer:
        return FakeAnnouncer(self.lan, Announcement(token, port))

    def browser(self, *wanted: str) -> Browser:
        return FakeBrowser(self.lan, wanted=wanted)

    def impossible(self) -> tuple[Announcer, Browser]:
        dead = FakeLan()
        dead.possible = False
        return FakeAnnouncer(dead, Announcement("a" * 16, 1)), FakeBrowser(dead)

    def forge(self, token: str, host: str) -> None:
        self.lan.announce(token, [Address(host, 4433)])

    def forge_goodbye(self, token: str) -> None:
        self.lan.goodbye(token)


class RealNetwork(Network):
    def __init__(self, stranger: Stranger) -> None:
        self.stranger = stranger

    def announcer(self, token: str, port: int = 4433) -> Announcer:
        return ZeroconfAnnouncer(Announcement(token, port), interfaces=LOOPBACK)

    def browser(self, *wanted: str) -> Browser:
        return ZeroconfBrowser(interfaces=LOOPBACK, wanted=wanted)

    def impossible(self) -> tuple[Announcer, Browser]:
        nowhere = ("203.0.113.77",)
        return (
            ZeroconfAnnouncer(Announcement("a" * 16, 1), interfaces=nowhere),
            ZeroconfBrowser(interfaces=nowhere),
        )

    def forge(self, token: str, host: str) -> None:
        self.stranger.announce(token, hosts=[host])

    def forge_goodbye(self, token: str) -> None:
        self.stranger.goodbye(token)


@pytest.fixture(params=["fake", "real"])
def network(request: pytest.FixtureRequest) -> Iterator[Network]:
    if request.param == "fake":
        yield FakeNetwork()
        return
    with Stranger() as stranger:
        yield RealNetwork(stranger)


@pytest.fixture
def token() -> str:
    return secrets.token_hex(8)


async def until(news: AsyncGenerator[Hint, None], host: str) -> Hint:
    """The first hint that has the address."""
    async with asyncio.timeout(WAIT_S):
        async for hint in news:
            if any(address.host == host for address in hint.addresses):
                return hint
    raise AssertionError


class TestContract:
    closing: ClassVar[float] = 5.0

    async def test_a_node_is_found_by_its_token(self, network: Network, token: str) -> None:
        node, phone = network.announcer(token, 7433), network.browser(token)
        await phone.start()
        await node.start()
        assert node.active
        hint = await phone.find(token, WAIT_S)
        assert hint is not None
        assert hint.addresses == (Address("127.0.0.1", 7433),)
        assert hint.name == f"homing-{token}"
        assert hint.version == 1
        assert phone.hints(token) == (hint,)
        await node.close()
        await phone.close()
        assert not node.active

    async def test_a_phone_that_comes_later_asks(self, network: Network, token: str) -> None:
        node, phone = network.announcer(token), network.browser()
        await node.start()
        await phone.start()
        assert (await phone.find(token, WAIT_S)) is not None
        await phone.close()
        await node.close()

    async def test_nobody_there_is_nobody_found(self, network: Network, token: str) -> None:
        phone = network.browser(token)
        await phone.start()
        assert await phone.find(token, 0.3) is None
        await phone.close()

    async def test_watching_ends_when_the_browser_closes(
        self, network: Network, token: str
    ) -> None:
        phone = network.browser(token)
        await phone.start()
        reading = asyncio.create_task(_collect(phone.watch(), token))
        await phone.close()
        async with asyncio.timeout(WAIT_S):
            assert await reading == []

    async def test_a_forged_goodbye_removes_no_wanted_node(
        self, network: Network, token: str
    ) -> None:
        node, phone = network.announcer(token), network.browser(token)
        await phone.start()
        await node.start()
        assert (await phone.find(token, WAIT_S)) is not None
        network.forge_goodbye(token)
        # What is sent after the goodbye is heard after it.
        mark = secrets.token_hex(8)
        network.forge(mark, "127.0.0.9")
        assert (await phone.find(mark, WAIT_S)) is not None
        assert phone.hints(token)[0].addresses == (Address("127.0.0.1", 4433),)
        await node.close()
        await phone.close()

    async def test_a_real_goodbye_removes_no_wanted_node_either(
        self, network: Network, token: str
    ) -> None:
        node, phone = network.announcer(token), network.browser(token)
        await phone.start()
        await node.start()
        assert (await phone.find(token, WAIT_S)) is not None
        await node.close()
        assert phone.hints(token)[0].addresses == (Address("127.0.0.1", 4433),)
        await phone.close()

    async def test_a_forged_address_joins_and_does_not_replace(
        self, network: Network, token: str
    ) -> None:
        node, phone = network.announcer(token), network.browser(token)
        await phone.start()
        await node.start()
        assert (await phone.find(token, WAIT_S)) is not None
        network.forge(token, FORGED)
        hint = await until(phone.watch(), FORGED)
        assert Address("127.0.0.1", 4433) in hint.addresses
        await node.close()
        await phone.close()

    async def test_a_refresh_finds_what_came_meanwhile(self, network: Network, token: str) -> None:
        node, phone = network.announcer(token), network.browser(token)
        await phone.start()
        await node.start()
        await node.refresh()
        await phone.refresh()
        assert node.active
        assert (await phone.find(token, WAIT_S)) is not None
        await node.close()
        await phone.close()

    async def test_what_was_heard_outlives_a_refresh(self, network: Network, token: str) -> None:
        node, phone = network.announcer(token), network.browser(token)
        await phone.start()
        await node.start()
        assert (await phone.find(token, WAIT_S)) is not None
        await node.close()
        await phone.refresh()
        assert phone.hints(token)
        await phone.close()

    async def test_where_multicast_is_impossible_it_says_so_and_closes(
        self, network: Network
    ) -> None:
        for service in network.impossible():
            with pytest.raises(UnavailableError, match="mDNS is off"):
                await service.start()
            with pytest.raises(UnavailableError, match="mDNS is off"):
                await service.refresh()
            await service.close()

    async def test_closing_twice_or_unstarted_is_harmless(
        self, network: Network, token: str
    ) -> None:
        node, phone = network.announcer(token), network.browser(token)
        for service in (node, phone):
            await service.close()
            await service.close()
            await service.refresh()
        assert not node.active
        assert phone.hints() == ()


async def _collect(news: AsyncGenerator[Hint, None], token: str) -> list[Hint]:
    return [hint async for hint in news if hint.token == token]
