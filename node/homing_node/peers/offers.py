"""Which peers a phone of this node's may use: those that took it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.tools import Place
from homing_crypto.introductions import PASSABLE

from homing_node.peers.ledger import ToldState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from homing_core.access import Scope
    from homing_core.ids import DeviceId
    from homing_crypto.devices import PairedDevice
    from homing_crypto.nodes import KnownNode

    from homing_node.peers.ledger import PeerAccount


@dataclass(frozen=True, slots=True)
class Offer:
    """A peer that took a phone.

    Attributes:
        node: the peer.
        lease_expires_at: until when it has this node's word, seconds since the epoch.
        scopes: what the phone may do there at most.
    """

    node: KnownNode
    lease_expires_at: int
    scopes: frozenset[Scope]

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where it is reached, `host:port`; where it answered this node last comes first."""
        known = (self.node.last_good_address, *self.node.addresses)
        return tuple(dict.fromkeys(address for address in known if address))


def offers(
    device: PairedDevice,
    nodes: Iterable[KnownNode],
    account: Callable[[DeviceId], PeerAccount],
    now: float,
) -> tuple[Offer, ...]:
    """The peers that took a device and have not been told otherwise since. Pure.

    Args:
        device: the phone.
        nodes: this node's book.
        account: what a peer was told.
        now: wall time, seconds since the epoch.
    """
    if device.introduced_by:
        return ()
    found: list[Offer] = []
    for node in nodes:
        if node.place is not Place.PEER:
            continue
        stands = account(node.id)
        told = stands.told.get(device.id)
        if told is None or stands.leaving or told.state is not ToldState.TAKEN:
            continue
        if now < told.lease_expires_at:
            found.append(Offer(node, told.lease_expires_at, device.scopes & PASSABLE))
    return tuple(found)
