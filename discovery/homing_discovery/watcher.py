"""Notices when this machine's network changes: the kernel says so where it can, else by polling."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING

from homing_discovery.boundaries import NetworkState
from homing_discovery.interfaces import local_interfaces, network_state
from homing_discovery.netlink import link_states, open_netlink
from homing_discovery.pulse import Pulse

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator, Callable

SETTLE_S = 0.25
"""Seconds to wait after the first news, so that one change of network is told once."""
POLL_S = 5.0
"""Seconds between looks where the kernel tells nothing."""

_MAX_LINKS = 256
_MAX_READS = 64
_MAX_DATAGRAM = 65_536

_log = logging.getLogger(__name__)


def _read_state() -> NetworkState:
    return network_state(local_interfaces())


class SystemNetworkWatcher:
    """The `NetworkWatcher` of this machine.

    Args:
        open_news: opens the kernel's news; raises `OSError` where there are none.
        read_state: looks at the addresses.
        settle_s: seconds to wait after the first news.
        poll_s: seconds between looks where there are no news.
    """

    def __init__(
        self,
        *,
        open_news: Callable[[], socket.socket] = open_netlink,
        read_state: Callable[[], NetworkState] = _read_state,
        settle_s: float = SETTLE_S,
        poll_s: float = POLL_S,
    ) -> None:
        """Nothing is opened before `start`."""
        self._open_news = open_news
        self._read_state = read_state
        self._settle_s = settle_s
        self._poll_s = poll_s
        self._state = NetworkState()
        self._pulse = Pulse()
        self._links: dict[int, bool] = {}
        self._toggled = False
        self._news: socket.socket | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._polling: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to listen, or to poll."""
        self._state = self._look()
        try:
            self._news = self._open_news()
        except OSError as error:
            _log.info("network changes are noticed by polling (%s)", error.strerror or "no news")
            self._poll()
            return
        asyncio.get_running_loop().add_reader(self._news, self._read_news)

    def state(self) -> NetworkState:
        """The addresses as last noticed."""
        return self._state

    def changes(self) -> AsyncGenerator[NetworkState, None]:
        """The state after each change from now on, until the watcher is closed."""
        return self._follow(self._pulse.count)

    async def close(self) -> None:
        """Stop; readers of `changes` come to their end."""
        self._stop_news()
        if self._settling is not None:
            self._settling.cancel()
        if self._polling is not None:
            self._polling.cancel()
            await asyncio.gather(self._polling, return_exceptions=True)
        self._pulse.close()

    async def _follow(self, seen: int) -> AsyncGenerator[NetworkState, None]:
        while await self._pulse.after(seen):
            seen = self._pulse.count
            yield self._state

    def _look(self) -> NetworkState:
        try:
            return self._read_state()
        except OSError:
            # A passing failure must not look like a change.
            return self._state

    def _read_news(self) -> None:
        assert self._news is not None  # noqa: S101  # removed from the loop before it is closed
        for _ in range(_MAX_READS):
            try:
                data, sender = self._news.recvfrom(_MAX_DATAGRAM)
            except (BlockingIOError, InterruptedError):
                break
            except OSError as error:
                if error.errno == errno.ENOBUFS:  # more news than fit: something changed
                    self._toggled = True
                    break
                self._stop_news()
                self._poll()
                return
            # The kernel is port 0; other processes may write to the group as well.
            if not (isinstance(sender, tuple) and sender[0] != 0):
                self._take_links(data)
        if self._settling is None:
            loop = asyncio.get_running_loop()
            self._settling = loop.call_later(self._settle_s, self._settle)

    def _take_links(self, data: bytes) -> None:
        for index, running in link_states(data).items():
            # A link that was never heard of counts as running: most are.
            self._toggled |= self._links.get(index, True) != running
            if index in self._links or len(self._links) < _MAX_LINKS:
                self._links[index] = running

    def _settle(self) -> None:
        self._settling = None
        toggled, self._toggled = self._toggled, False
        state = self._look()
        # Addresses also make news when only their lifetime is renewed.
        if toggled or state != self._state:
            self._state = state
            self._pulse.beat()

    def _stop_news(self) -> None:
        if self._news is not None:
            asyncio.get_running_loop().remove_reader(self._news)
            self._news.close()
            self._news = None

    def _poll(self) -> None:
        self._polling = asyncio.get_running_loop().create_task(self._keep_polling())

    async def _keep_polling(self) -> None:
        while True:
            await asyncio.sleep(self._poll_s)
            self._settle()
