"""Fakes of discovery's boundaries. They ship with the package.

`FakeLan` stands for the multicast network; announcers and browsers on the same one hear each other,
and a test can play the liar on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.addresses import Address
from homing_core.clock import Clock, SystemClock
from homing_core.errors import UnavailableError

from homing_discovery.addresses import parse_hint_address
from homing_discovery.board import HintBoard
from homing_discovery.boundaries import NetworkState
from homing_discovery.hints import PROTOCOL_VERSION, Announcement
from homing_discovery.pulse import Pulse
from homing_discovery.sightings import Sighting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Sequence

    from homing_discovery.hints import Hint


class FakeLan:
    """A network without packets."""

    def __init__(self) -> None:
        """Nobody is on it, and multicast works."""
        self.possible = True
        self._announced: dict[str, tuple[Address, ...]] = {}
        self._listening: list[FakeBrowser] = []

    def check(self) -> None:
        """Raise `UnavailableError` while `possible` is False."""
        if not self.possible:
            msg = "mDNS is off: multicast is not possible here"
            raise UnavailableError(msg, "Set FakeLan.possible.")

    def announce(self, token: str, addresses: Sequence[Address], label: str = "") -> None:
        """Say that a node is there, truly or not."""
        appeared = token not in self._announced
        self._announced[token] = tuple(addresses)
        for browser in self._listening:
            browser.hear(token, addresses, label or f"homing-{token}", appeared=appeared)

    def goodbye(self, token: str) -> None:
        """Say that a node is gone, truly or not."""
        self._announced.pop(token, None)
        for browser in self._listening:
            browser.hear_goodbye(token)

    def join(self, browser: FakeBrowser) -> None:
        """Let a browser listen; it hears who is there."""
        if browser not in self._listening:
            self._listening.append(browser)
        for token, addresses in self._announced.items():
            browser.hear(token, addresses, f"homing-{token}", appeared=True)

    def leave(self, browser: FakeBrowser) -> None:
        """Let a browser hear nothing more."""
        if browser in self._listening:
            self._listening.remove(browser)


class FakeAnnouncer:
    """An `Announcer` on a `FakeLan`.

    Args:
        lan: the network.
        announcement: what to say.
        hosts: the IP addresses to say it of.
    """

    def __init__(
        self, lan: FakeLan, announcement: Announcement, hosts: Sequence[str] = ("127.0.0.1",)
    ) -> None:
        """Silent before `start`."""
        self._lan = lan
        self._announcement = announcement
        self.hosts = tuple(hosts)
        self.refreshes = 0
        self._active = False
        self._closed = False

    @property
    def active(self) -> bool:
        """Whether the node is being announced."""
        return self._active

    async def start(self) -> None:
        """Announce; raises `UnavailableError`."""
        await self._announce()

    async def refresh(self) -> None:
        """Announce again; raises `UnavailableError`."""
        self.refreshes += 1
        await self._announce()

    async def close(self) -> None:
        """Say goodbye."""
        if self._active:
            self._lan.goodbye(self._announcement.token)
        self._active = False
        self._closed = True

    async def _announce(self) -> None:
        if self._closed:
            return
        self._active = False
        self._lan.check()
        port = self._announcement.port
        self._lan.announce(self._announcement.token, [Address(host, port) for host in self.hosts])
        self._active = True


class FakeBrowser:
    """A `Browser` on a `FakeLan`.

    Args:
        lan: the network.
        wanted: tokens of the nodes that matter.
        clock: where the time of hearing comes from.
        loopback: whether loopback addresses count.
    """

    def __init__(
        self,
        lan: FakeLan,
        *,
        wanted: Iterable[str] = (),
        clock: Clock | None = None,
        loopback: bool = True,
    ) -> None:
        """Deaf before `start`."""
        self._lan = lan
        self._board = HintBoard(wanted)
        self._clock = clock or SystemClock()
        self._loopback = loopback
        self.refreshes = 0
        self._closed = False

    async def start(self) -> None:
        """Listen; raises `UnavailableError`."""
        self._join()

    async def refresh(self) -> None:
        """Listen anew; raises `UnavailableError`."""
        self.refreshes += 1
        self._join()

    def _join(self) -> None:
        self._lan.leave(self)
        if not self._closed:
            self._lan.check()
            self._lan.join(self)

    async def close(self) -> None:
        """Stop listening."""
        self._closed = True
        self._lan.leave(self)
        self._board.close()

    def want(self, tokens: Iterable[str]) -> None:
        """Say which nodes matter."""
        self._board.want(tokens)

    def hints(self, token: str | None = None) -> tuple[Hint, ...]:
        """What is known now, newest first."""
        return self._board.hints(token)

    def watch(self) -> AsyncGenerator[Hint, None]:
        """Everything known, then whatever changes or appears again."""
        return self._board.watch()

    async def find(self, token: str, timeout_s: float) -> Hint | None:
        """Wait for a hint."""
        return await self._board.find(token, timeout_s)

    def hear(self, token: str, addresses: Sequence[Address], label: str, *, appeared: bool) -> None:
        """What a network calls."""
        read = (parse_hint_address(a.host, a.port, loopback=self._loopback) for a in addresses)
        usable = tuple(address for address in read if address is not None)
        now = self._clock.now()
        self._board.saw(Sighting(token, label, usable, PROTOCOL_VERSION, now, appeared))

    def hear_goodbye(self, token: str) -> None:
        """What a network calls."""
        self._board.lost(token)


class FakeNetworkWatcher:
    """A `NetworkWatcher` whose network changes when told to.

    Args:
        state: the addresses at first.
    """

    def __init__(self, state: NetworkState | None = None) -> None:
        """Nothing changes by itself."""
        self._state = state or NetworkState(frozenset({("eth0", "192.168.1.2")}))
        self._pulse = Pulse()

    async def start(self) -> None:
        """Nothing to open."""

    def state(self) -> NetworkState:
        """The addresses as last told."""
        return self._state

    def changes(self) -> AsyncGenerator[NetworkState, None]:
        """The state after each change from now on."""
        return self._follow(self._pulse.count)

    def change(self, state: NetworkState | None = None) -> None:
        """Let the network change; without a state a link went and came back."""
        self._state = state or self._state
        self._pulse.beat()

    async def close(self) -> None:
        """End every reader of `changes`."""
        self._pulse.close()

    async def _follow(self, seen: int) -> AsyncGenerator[NetworkState, None]:
        while await self._pulse.after(seen):
            seen = self._pulse.count
            yield self._state
