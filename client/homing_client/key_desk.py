"""What a person can do about keys and nodes on this phone: look, replace the key, forget a node."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.errors import HomingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.keys import KeyProtection, NodeKnows, OwnKey
    from homing_crypto.nodes import KnownNode, NodeBook

    from homing_client.homes import HomeLinks
    from homing_client.keys import PhoneKeys
    from homing_client.link import NodeLink

_REACH_S = 3.0
"""How long a node may take to answer before it is told later."""
_TELL_S = 10.0
"""Deadline of each call that tells it, in seconds."""


class KeyDesk:
    """Changes keys and forgets nodes. Belongs to one event loop.

    Args:
        keys: the phone's.
        homes: the way to its nodes.
        book: its nodes.
        touch: says that somebody uses the process.
    """

    def __init__(
        self, keys: PhoneKeys, homes: HomeLinks, book: NodeBook, touch: Callable[[], None]
    ) -> None:
        """Keep where to look."""
        self._keys = keys
        self._homes = homes
        self._book = book
        self._touch = touch

    async def show(self) -> tuple[tuple[OwnKey, ...], tuple[NodeKnows, ...], KeyProtection]:
        """The keys, which node knows which, and how they are protected on disk."""
        self._touch()
        nodes = await asyncio.to_thread(self._book.nodes)
        known = tuple(self._keys.knows(node) for node in nodes)
        return self._keys.own(), known, self._keys.protection

    async def rotate(self) -> tuple[tuple[OwnKey, ...], tuple[NodeKnows, ...]]:
        """Make a new key and tell every node that answers; the others are told when they do.

        Returns:
            The keys afterwards, and which node knows which.

        Raises:
            HomingError: there is no new key; nothing has changed.
        """
        self._touch()
        await self._keys.rotate()
        links = await self._homes.links()
        problems = await asyncio.gather(*(self._told(link) for link in links))
        known = tuple(
            self._keys.knows(link.node, problem)
            for link, problem in zip(links, problems, strict=True)
        )
        return self._keys.own(), known

    async def forget(self, text: str) -> KnownNode:
        """Forget a node: its entry, the connection, and keys that only it knew.

        Args:
            text: its name, or the start of its id.

        Raises:
            UsageError: no name, and too short for an id.
            NotFoundError: nothing matches.
            ConflictError: several do.
        """
        self._touch()
        node = await asyncio.to_thread(self._book.find, text)
        await asyncio.to_thread(self._book.remove, node.id)
        await self._homes.links()  # closes the connection
        await self._keys.tidy()
        return node

    async def _told(self, link: NodeLink) -> str:
        """Tell a node; why it could not be told, or nothing."""
        try:
            await link.verify(_REACH_S)
            await link.renew(_TELL_S)
        except HomingError as error:
            return error.what
        knows_new = link.node.known_as in {"", self._keys.current.device_id}
        if link.node.introduced_by and not knows_new:
            return "its home tells it of the new one"
        return ""
