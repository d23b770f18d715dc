"""The way to nodes' jobs over the phone's links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.errors import NotFoundError

from homing_client.rpc.jobs_calls import JobsCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.ids import DeviceId
    from homing_crypto.nodes import KnownNode

    from homing_client.homes import HomeLinks
    from homing_client.jobs.node import JobNode
    from homing_client.keys import Keys
    from homing_client.link import NodeLink, Verified


class LinkedNodes:
    """Implements `JobNodes`.

    Args:
        homes: the phone's links.
        keys: this phone's.
    """

    def __init__(self, homes: HomeLinks, keys: Keys) -> None:
        """Nothing is dialled yet."""
        self._homes = homes
        self._keys = keys

    async def known(self) -> tuple[KnownNode, ...]:
        """See `JobNodes.known`."""
        return tuple(link.node for link in await self._homes.links())

    async def open(self, node: DeviceId, timeout_s: float) -> JobNode:
        """See `JobNodes.open`."""
        for link in await self._homes.links():
            if link.node.id == node:
                await link.verify(timeout_s)
                return JobsCalls(await link.channel(timeout_s))
        msg = "this phone is not paired with that node any more"
        raise NotFoundError(msg, "Pair with it again, or ask another node.")

    def own_key(self) -> DeviceId:
        """See `JobNodes.own_key`."""
        return self._keys.current.device_id

    def subscribe(self, listener: Callable[[DeviceId], None]) -> None:
        """See `JobNodes.subscribe`."""

        def verified(link: NodeLink, _: Verified) -> None:
            listener(link.node.id)

        self._homes.subscribe(verified)
