"""Looking after a node's devices from this phone, where this phone is an owner."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole, Scope
from homing_core.errors import NotFoundError, RefusedError, UsageError
from homing_core.tools import Place
from homing_crypto.naming import match_named
from homing_crypto.nodes import find_node

from homing_client.rpc.devices_calls import DevicesCalls

if TYPE_CHECKING:
    from homing_core.devices import DeviceView
    from homing_core.ids import DeviceId
    from homing_core.limit_words import LimitChange
    from homing_crypto.nodes import NodeBook

    from homing_client.homes import HomeLinks
    from homing_client.keys import Keys
    from homing_client.link import NodeLink

_REACH_S = 5.0
_MIN_PREFIX = 4


@dataclass(frozen=True, slots=True)
class NodeDevices:
    """Devices of one node.

    Attributes:
        node: the node's name.
        own_id: this phone's device id.
        devices: what was asked for.
    """

    node: str
    own_id: DeviceId
    devices: tuple[DeviceView, ...]


class HomeDevices:
    """Asks nodes about their devices, and to change them.

    Every method takes the node's name, or enough of its id, or an empty text for the only home
    node, and raises `HomingError`.

    Args:
        keys: this phone's.
        homes: the way to the nodes.
        book: the nodes it is paired with.
    """

    def __init__(self, keys: Keys, homes: HomeLinks, book: NodeBook) -> None:
        """Keep where to look."""
        self._keys = keys
        self._homes = homes
        self._book = book

    async def devices(self, node: str) -> NodeDevices:
        """Every device that the node knows, oldest first."""
        link = await self._owned(node)
        return self._of(link, await (await self._calls(link)).devices())

    async def revoke(self, node: str, prefix: str, secret: str = "") -> NodeDevices:
        """Shut a device out; it and whatever hung on it.

        This phone may name itself, whatever it is there: it leaves, and forgets the node.

        Args:
            node: which node.
            prefix: the device's id, or enough of its start.
            secret: the node's recovery secret, where an owner is meant.
        """
        link = await self._link(node)
        if not await self._may_look_after(link) and self._is_own(prefix):
            return await self._leave(link)
        calls = await self._calls(await self._owned(node))
        known = await calls.devices()
        device = match_named({row.id: row.name for row in known}, prefix)
        if device == self._keys.current.device_id:
            return await self._leave(link)
        return self._of(link, await calls.revoke(device, secret))

    async def limit(
        self, node: str, prefix: str, change: LimitChange, secret: str = ""
    ) -> NodeDevices:
        """Change a device's limits; the device as it is then.

        Args:
            node: which node.
            prefix: the device's id, or enough of its start.
            change: what to change; the rest stays.
            secret: the node's recovery secret, where an owner is meant.
        """
        link = await self._owned(node)
        calls = await self._calls(link)
        known = {row.id: row for row in await calls.devices()}
        row = known[match_named({row.id: row.name for row in known.values()}, prefix)]
        limits = change.of(row.limits)
        return self._of(link, (await calls.grant(row.id, row.role, row.scopes, limits, secret),))

    async def _leave(self, link: NodeLink) -> NodeDevices:
        gone = await (await self._calls(link)).revoke(self._keys.current.device_id)
        await asyncio.to_thread(self._book.remove, link.node.id)
        await self._homes.links()
        return self._of(link, gone)

    def _is_own(self, prefix: str) -> bool:
        wanted = prefix.strip().lower()
        return len(wanted) >= _MIN_PREFIX and wanted == self._keys.current.device_id[: len(wanted)]

    def _of(self, link: NodeLink, devices: tuple[DeviceView, ...]) -> NodeDevices:
        return NodeDevices(link.node.name, self._keys.current.device_id, devices)

    async def _calls(self, link: NodeLink) -> DevicesCalls:
        return DevicesCalls(await link.channel(_REACH_S))

    async def _owned(self, node: str) -> NodeLink:
        """The node, if this phone is an owner there."""
        link = await self._link(node)
        if not await self._may_look_after(link):
            msg = f"this phone may not look after the devices of {link.node.name}"
            hint = "Use an owner's phone, or do it at the node: homing-node devices"
            raise RefusedError(msg, hint)
        return link

    async def _may_look_after(self, link: NodeLink) -> bool:
        info = (await link.verify(_REACH_S)).info
        return info.role is DeviceRole.OWNER and Scope.DEVICES in info.scopes

    async def _link(self, node: str) -> NodeLink:
        links = {link.node.id: link for link in await self._homes.links()}
        if node:
            return links[find_node([link.node for link in links.values()], node).id]
        homes = [link for link in links.values() if link.node.place is Place.HOME]
        if not homes:
            msg = "this phone is paired with no home node"
            hint = "On the home computer: homing-node pair. Then here: homing pair LINK"
            raise NotFoundError(msg, hint)
        if len(homes) > 1:
            names = ", ".join(link.node.name for link in homes)
            msg = f"this phone has {len(homes)} home nodes: {names}"
            raise UsageError(msg, "Say which one with --node NAME.")
        return homes[0]
