"""Which peers a phone of this node's may use: those that took it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.tools import Place
from homing_crypto.introductions import PASSABLE

from homing_node.peers.ledger import ToldState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

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
    keys: Collection[DeviceId] = (),
) -> tuple[Offer, ...]:
    """The peers that took a device and have not been told otherwise since. Pure.

    Args:
        device: the phone.
        nodes: this node's book.
        account: what a peer was told.
        now: wall time, seconds since the epoch.
        keys: the phone's other keys: a peer that still knows one of them will know this one.
    """
    if device.introduced_by:
        return ()
    found: list[Offer] = []
    for node in nodes:
        if node.place is not Place.PEER:
            continue
        stands = account(node.id)
        known = (stands.told.get(key) for key in (device.id, *keys))
        took = (one for one in known if one is not None and one.state is ToldState.TAKEN)
        ends = next((one.lease_expires_at for one in took if now < one.lease_expires_at), 0)
        if ends and not stands.leaving:
            found.append(Offer(node, ends, device.scopes & PASSABLE))
    return tuple(found)
