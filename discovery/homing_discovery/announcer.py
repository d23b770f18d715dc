"""The real announcer, on zeroconf."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from typing import TYPE_CHECKING, cast

from homing_core.errors import UnavailableError
from zeroconf import Error as ZeroconfError
from zeroconf.asyncio import AsyncServiceInfo

from homing_discovery.hints import Announcement, encode_txt, instance_name, server_name
from homing_discovery.mdns import close_mdns, current_selection, open_mdns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from zeroconf.asyncio import AsyncZeroconf

    from homing_discovery.interfaces import Selection

_log = logging.getLogger(__name__)


class ZeroconfAnnouncer:
    """Announces one node.

    Args:
        announcement: what to say.
        interfaces: names or IP addresses to say it on; none means every one but loopback.
    """

    def __init__(self, announcement: Announcement, *, interfaces: Iterable[str] = ()) -> None:
        """Nothing is opened before `start`."""
        self._announcement = announcement
        self._chosen = tuple(interfaces)
        self._mdns: AsyncZeroconf | None = None
        self._info: AsyncServiceInfo | None = None
        self._repeating: asyncio.Future[None] | None = None
        self._lock = asyncio.Lock()
        self._closed = False

    @property
    def active(self) -> bool:
        """Whether the node is being announced."""
        return self._info is not None

    async def start(self) -> None:
        """Open the sockets and announce; raises `UnavailableError`."""
        await self.refresh()

    async def refresh(self) -> None:
        """Announce on the network as it is now; raises `UnavailableError`.

        The sockets are opened anew: an interface that went and came back with the same address has
        lost its multicast group, and nothing short of that notices.
        """
        async with self._lock:
            await self._stop(goodbye=False)
            if self._closed:
                return
            selection = current_selection(self._chosen)
            self._mdns = await open_mdns(selection)
            try:
                await self._announce(self._mdns, selection)
            except (OSError, ZeroconfError) as error:
                _log.debug("the node could not be announced", exc_info=error)
                await self._stop(goodbye=False)
                msg = "mDNS is off: the node could not be announced"
                hint = "It is tried again when the network changes."
                raise UnavailableError(msg, hint) from error

    async def close(self) -> None:
        """Say goodbye and close the sockets."""
        async with self._lock:
            self._closed = True
            await self._stop(goodbye=True)

    async def _announce(self, mdns: AsyncZeroconf, selection: Selection) -> None:
        said = self._announcement
        info = AsyncServiceInfo(
            said.service.type,
            instance_name(said.token, said.service),
            port=said.port,
            properties=encode_txt(),
            server=server_name(said.token, said.service),
            addresses=[_packed(text) for text in selection.addresses],
        )
        # The name is made from the node's key, so it is unique without the second of probing; and
        # nobody can keep the node silent by claiming the name first (RFC 6762, section 8.1).
        broadcast = cast(
            "Awaitable[None]",
            await mdns.async_register_service(  # pyright: ignore[reportUnknownMemberType]
                info, cooperating_responders=True
            ),
        )
        self._repeating = asyncio.ensure_future(_quietly(broadcast))
        await asyncio.sleep(0)  # lets the first packet out; its repetitions go on meanwhile
        self._info = info

    async def _stop(self, *, goodbye: bool) -> None:
        if self._repeating is not None:
            self._repeating.cancel()
            await asyncio.gather(self._repeating, return_exceptions=True)
        mdns, self._mdns, info, self._info = self._mdns, None, self._info, None
        if mdns is None:
            return
        if info is not None and not goodbye:
            mdns.zeroconf.registry.async_remove(info)  # what is not registered gets no goodbye
        await close_mdns(mdns)


def _packed(text: str) -> bytes:
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)


async def _quietly(broadcast: Awaitable[None]) -> None:
    with contextlib.suppress(OSError, ZeroconfError):
        await broadcast
