"""The records of this phone's homes, as its local service sees them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import NotFoundError, UsageError
from homing_core.tools import Place

from homing_client.rpc.audit_calls import AuditCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.audit import Entry
    from homing_core.clock import Clock
    from homing_crypto.nodes import KnownNode, NodeBook

    from homing_client.audit_book import AuditBook, KeptRecord
    from homing_client.audit_watch import RecordWatch
    from homing_client.homes import HomeLinks
    from homing_client.link import NodeLink

_REACH_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """What is remembered of a node's record, with the node."""

    node: KnownNode
    record: KeptRecord


class Records:
    """Looks after the records of all homes.

    Args:
        nodes: the nodes that this phone knows.
        book: the heads that were kept.
        watch: compares.
        homes: the way to the nodes.
        clock: wall time.
        touch: says that somebody uses the process.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # each is another collaborator
        self,
        nodes: NodeBook,
        book: AuditBook,
        watch: RecordWatch,
        homes: HomeLinks,
        clock: Clock,
        touch: Callable[[], None],
    ) -> None:
        """Keep where to look."""
        self._nodes = nodes
        self._book = book
        self._watch = watch
        self._homes = homes
        self._clock = clock
        self._touch = touch

    async def all(self) -> tuple[NodeRecord, ...]:
        """What is remembered of each home's record."""
        self._touch()
        homes = await asyncio.to_thread(self._home_nodes)
        return tuple(
            [NodeRecord(node, await asyncio.to_thread(self._book.get, node.id)) for node in homes]
        )

    async def check(self, text: str) -> NodeRecord:
        """Compare a home's record with what was kept, now; raises `HomingError`."""
        link = await self._link(text)
        return NodeRecord(link.node, await self._watch.check(link))

    async def accept(self, text: str) -> NodeRecord:
        """Take a record as its node showed it last; raises `HomingError`."""
        node = (await self._link(text)).node
        now = self._clock.now()
        return NodeRecord(node, await asyncio.to_thread(self._book.accept, node.id, now))

    async def show(self, text: str, count: int) -> tuple[tuple[Entry, ...], dict[str, str]]:
        """The newest entries of a home's record, and names of devices; raises `HomingError`."""
        link = await self._link(text)
        calls = AuditCalls(await link.channel(_REACH_S))
        signed, removed = await calls.head()
        if signed is None:
            return (), {}
        return await calls.entries(max(signed.head.seq - count, removed), count)

    async def _link(self, text: str) -> NodeLink:
        self._touch()
        node = await asyncio.to_thread(self._named, text)
        for link in await self._homes.links():
            if link.node.id == node.id:
                return link
        msg = "this node was forgotten just now"
        raise NotFoundError(msg, "List the nodes: homing nodes.")

    def _named(self, text: str) -> KnownNode:
        if text:
            return self._nodes.find(text)
        homes = self._home_nodes()
        if len(homes) > 1:
            msg = f"this phone has {len(homes)} homes"
            raise UsageError(msg, "Say which: --node NAME.")
        for node in homes:
            return node
        msg = "this phone is paired with no home"
        raise NotFoundError(msg, "On the home computer: homing-node pair. Then: homing pair")

    def _home_nodes(self) -> tuple[KnownNode, ...]:
        return tuple(node for node in self._nodes.nodes() if node.place is Place.HOME)
