"""The peers of a node: added, told, shown, left."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from homing_agent.pairing.by_link import Pairer
from homing_agent.runtime.logs import get_logger
from homing_core.access import DeviceRole
from homing_core.errors import HomingError, RefusedError
from homing_core.labels import clean_label
from homing_core.tools import Place
from homing_crypto.audit.records import CONSOLE, NODE, AuditKind
from homing_crypto.naming import device_names, match_named
from homing_crypto.nodes import find_node

from homing_node.peers.courier import Courier
from homing_node.peers.offers import Offer, offers
from homing_node.peers.plan import shared_devices
from homing_node.peers.section import Share
from homing_node.peers.sharing_parts import Desk, SharingParts, check_link, check_peer
from homing_node.peers.views import HomeView, PeerView, view_homes, view_peer
from homing_node.rpc import pairing_client

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.ids import DeviceId
    from homing_crypto.nodes import KnownNode


FIRST_PUSH_S: Final = 10.0
"""How long adding, sharing and removing wait for the peer, in seconds; after that it goes on."""

_log = get_logger(__name__)


class Sharing:
    """Introduces devices to peers. Belongs to one event loop.

    Args:
        parts: what it is made of.
    """

    def __init__(self, parts: SharingParts) -> None:
        """Nothing runs yet."""
        self._parts = parts
        self._couriers: dict[DeviceId, Courier] = {}
        self._tasks: dict[DeviceId, asyncio.Task[None]] = {}
        self._resuming: asyncio.Task[None] | None = None
        self._desk = Desk(
            identity=parts.identity,
            store=parts.store,
            ledger=parts.ledger,
            book=parts.book,
            clock=parts.clock,
            share=parts.share,
            lease_s=parts.lease_s,
            dial=parts.dial,
            left=self._left,
        )

    async def start(self) -> None:
        """Begin to tell every peer what it has to know, and finish pairings under way."""
        for node in await asyncio.to_thread(self._peers):
            self._look_after(node)
        self._resuming = asyncio.create_task(self._resume())

    async def stop(self) -> None:
        """Stop; what is not told yet is told after the next start."""
        tasks, self._tasks = list(self._tasks.values()), {}
        if self._resuming is not None:
            tasks.append(self._resuming)
        for task in tasks:
            task.cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                _log.error("peers.failed", exc_info=outcome)

    async def changed(self) -> None:
        """Some device was paired, changed or shut out: for `DeviceDesk.subscribe`."""
        self.nudge()

    def nudge(self) -> None:
        """Look at once what peers have to be told: a device or this node's key has changed."""
        for courier in self._couriers.values():
            courier.nudge()

    async def add(self, link: str, name: str) -> PeerView:
        """Pair with a peer by the link that it shows, and introduce devices to it.

        Raises:
            HomingError: as `homing_agent.pairing.by_link.Pairer.pair`.
        """
        label = clean_label(name, fallback="")
        node = await self._pairer().pair(link, self._parts.name, label)
        await asyncio.to_thread(self._parts.ledger.leave, node.id, leaving=False)
        self._parts.audit.record(
            AuditKind.PEER_ADDED, actor=CONSOLE, device=node.id, detail={"name": node.name}
        )
        await self._tell(self._look_after(node))
        return await self._view(node)

    async def remove(self, peer: str) -> tuple[PeerView, bool]:
        """Take everything back there, then forget the peer; whether that is done.

        Otherwise it goes on by itself, until the peer was told or its leases are over.

        Raises:
            NotFoundError: there is no such peer.
        """
        node = await self._find(peer)
        await asyncio.to_thread(self._parts.ledger.leave, node.id, leaving=True)
        before = await self._view(node)
        await self._tell(self._look_after(node))
        return before, node.id not in self._couriers

    async def share(
        self, peer: str, *, guests: bool | None, add: Iterable[str], drop: Iterable[str]
    ) -> PeerView:
        """Change whose devices are introduced to a peer.

        Raises:
            NotFoundError: there is no such peer or device.
            RefusedError: a device that cannot be introduced.
        """
        node = await self._find(peer)
        choices = {
            **await self._choices(drop, chosen=False),
            **await self._choices(add, chosen=True),
        }
        await asyncio.to_thread(self._parts.ledger.choose, node.id, guests=guests, choices=choices)
        await self._tell(self._look_after(node))
        return await self._view(node)

    async def views(self) -> tuple[tuple[PeerView, ...], tuple[HomeView, ...]]:
        """Peers that take this node's devices, and homes whose devices it takes.

        Every peer is asked first, all at once and for a moment only.
        """
        await asyncio.gather(*(courier.ask() for courier in self._couriers.values()))
        nodes = await asyncio.to_thread(self._peers)
        everyone = await asyncio.to_thread(self._parts.store.devices)
        homes = view_homes(everyone, self._parts.clock.now(), self._parts.terms())
        return tuple([await self._view(node) for node in nodes]), homes

    async def offers(self, device_id: DeviceId) -> tuple[Offer, ...]:
        """The peers that took a device of this node's."""

        def look() -> tuple[Offer, ...]:
            device = self._parts.store.get(device_id)
            everyone = self._parts.store.devices()
            keys = [one.id for one in everyone if one.owner == device.owner]
            now = self._parts.clock.now()
            return offers(device, self._peers(), self._parts.ledger.account, now, keys)

        return await asyncio.to_thread(look)

    async def succeeded(self, old: DeviceId, new: KnownNode) -> None:
        """A peer has a new key; the book has it under its new id."""
        await asyncio.to_thread(self._parts.ledger.rename, old, new.id)
        self._couriers.pop(old, None)
        task = self._tasks.pop(old, None)
        if task is not None:
            task.cancel()
        self._look_after(new)

    def _peers(self) -> tuple[KnownNode, ...]:
        return tuple(node for node in self._parts.book.nodes() if node.place is Place.PEER)

    def _look_after(self, node: KnownNode) -> Courier:
        courier = self._couriers.get(node.id)
        if courier is None:
            courier = self._couriers[node.id] = Courier(node, self._desk)
            self._tasks[node.id] = asyncio.create_task(courier.run())
        else:
            courier.node = node
            courier.nudge()
        return courier

    async def _tell(self, courier: Courier) -> None:
        """Wait a moment for the peer: a person wants to see what came of it."""
        try:
            async with asyncio.timeout(FIRST_PUSH_S):
                if courier.node.id in self._couriers:
                    await courier.round()
        except (TimeoutError, HomingError) as error:
            _log.info("peers.later", peer=courier.node.id, error_type=type(error).__name__)

    async def _left(self, node: KnownNode) -> None:
        self._couriers.pop(node.id, None)
        self._parts.audit.record(
            AuditKind.PEER_REMOVED, actor=NODE, device=node.id, detail={"name": node.name}
        )

    async def _resume(self) -> None:
        await self._pairer().resume()
        for node in await asyncio.to_thread(self._peers):
            self._look_after(node)

    async def _find(self, peer: str) -> KnownNode:
        nodes = await asyncio.to_thread(self._peers)
        return find_node(nodes, peer)

    async def _choices(self, prefixes: Iterable[str], *, chosen: bool) -> dict[DeviceId, bool]:
        everyone = await asyncio.to_thread(self._parts.store.devices)
        own = {one.id: one for one in everyone if not one.introduced_by}
        names = device_names(own.values())
        found = [own[match_named(names, prefix)] for prefix in prefixes]
        for device in found:
            if device.role is DeviceRole.PEER:
                msg = "another node is not introduced to peers"
                raise RefusedError(msg, "It can pair with that peer itself.")
        return {device.owner: chosen for device in found}

    async def _view(self, node: KnownNode) -> PeerView:
        parts = self._parts

        def look() -> PeerView:
            account, everyone = parts.ledger.account(node.id), parts.store.devices()
            wanted = shared_devices(everyone, account, parts.share, parts.clock.now())
            default = parts.share is Share.EVERYONE
            courier = self._couriers.get(node.id)
            return view_peer(
                courier.node if courier else node,
                account,
                wanted,
                everyone,
                guests=default if account.guests is None else account.guests,
                error=courier.error if courier else None,
            )

        return await asyncio.to_thread(look)

    def _pairer(self) -> Pairer:
        return Pairer(
            identity=self._parts.identity(),
            book=self._parts.book,
            clock=self._parts.clock,
            exchange=pairing_client.pair,
            place=Place.PEER,
            check=check_peer,
            check_link=lambda link: check_link(link, self._parts.own()),
        )
