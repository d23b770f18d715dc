"""What looks after peers and homes, put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_crypto.node_book import NODE_BOOK_FILE, SqliteNodeBook
from homing_crypto.vouching import Terms

from homing_node.peers.homes import Homes
from homing_node.peers.keyed import KeyedDial
from homing_node.peers.section import Share
from homing_node.peers.sharing import Sharing
from homing_node.peers.sharing_parts import SharingParts
from homing_node.peers.sqlite_ledger import PEER_LEDGER_FILE, SqlitePeerLedger
from homing_node.rpc.peers_control import PeersControlService
from homing_node.rpc.peers_service import PeersService

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AsyncExitStack
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_crypto.audit.records import Audit
    from homing_crypto.trust import TrustStore

    from homing_node.devices.desk import DeviceDesk, Work
    from homing_node.keys import NodeKeys
    from homing_node.peers.section import PeersSection


@dataclass(frozen=True, slots=True)
class PeerParts:
    """What looks after peers and homes.

    Attributes:
        homes: takes what homes say of their devices.
        sharing: introduces this node's devices to its peers.
        service: of the main port.
        control: of the local socket.
    """

    homes: Homes
    sharing: Sharing
    service: PeersService
    control: PeersControlService

    async def start(self) -> None:
        """Hold introduced devices to what holds now, and begin to tell peers."""
        await self.homes.tighten()
        await self.sharing.start()


def peer_parts(  # noqa: PLR0913  # each is a boundary of its own
    folder: Path,
    stack: AsyncExitStack,
    *,
    section: PeersSection,
    keys: NodeKeys,
    name: str,
    store: TrustStore,
    desk: DeviceDesk,
    work: Work,
    audit: Audit,
    clock: Clock,
    addresses: Callable[[], tuple[str, ...]],
) -> PeerParts:
    """Put them together. Nothing of it runs yet.

    Args:
        folder: the node's data directory.
        stack: closes what was opened.
        section: `[peers]` of the configuration.
        keys: the node's own.
        name: the node's, for people.
        store: whom it knows.
        desk: changes devices.
        work: what has to end when a device is shut out.
        audit: where changes are noted.
        clock: for leases.
        addresses: where this node is reached, best first; asked anew each time.

    Raises:
        HomingError: a file is damaged or cannot be used.
    """
    ledger = SqlitePeerLedger(folder / PEER_LEDGER_FILE)
    stack.callback(ledger.close)
    book = SqliteNodeBook(folder / NODE_BOOK_FILE)
    stack.callback(book.close)

    def terms() -> Terms:
        return Terms(
            me=frozenset(identity.device_id for identity in keys.identities()),
            scopes=section.allowed,
            most_devices=section.max_devices,
            accept=section.accept,
        )

    homes = Homes(desk=desk, work=work, terms=terms, clock=clock, audit=audit)
    sharing = Sharing(
        SharingParts(
            identity=lambda: keys.current,
            own=keys.identities,
            name=name,
            store=store,
            ledger=ledger,
            book=book,
            clock=clock,
            audit=audit,
            share=Share(section.share),
            lease_s=section.lease_s,
            terms=terms,
            dial=KeyedDial(keys, lambda old, new: sharing.succeeded(old, new)),  # noqa: PLW0108  # made just now
        )
    )
    desk.subscribe(homes.tighten)
    desk.subscribe(sharing.changed)
    keys.subscribe(sharing.nudge)
    return PeerParts(
        homes,
        sharing,
        PeersService(homes, sharing.offers, addresses),
        PeersControlService(sharing),
    )
