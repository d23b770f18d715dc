"""Which nodes a phone knows, and the pairing it is in the middle of. Values and rules; pure."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from homing_core.errors import IntegrityError, NotFoundError
from homing_core.labels import clean_label
from homing_core.tools import Place

from homing_crypto.certificates import check_certificate
from homing_crypto.naming import match_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.access import DeviceRole, Scope
    from homing_core.ids import DeviceId

    from homing_crypto.rotation import NewKey


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A node that this phone is paired with. Times are wall time here, seconds since the epoch.

    Attributes:
        id: SHA-256 of its public key.
        certificate_der: its certificate; the only one that is believed.
        hpke_public_key: where to seal messages for it, raw.
        name: for people; cleaned.
        place: HOME or PEER.
        role: what this phone is to it.
        scopes: what this phone may do there.
        addresses: static addresses, `host:port`, best first.
        last_good_address: where its key was last proven; empty for never. A hint, not trust.
        last_verified_at: when that was; 0 for never.
        paired_at: when it was paired.
        known_as: the key by which it knows this phone; empty for the one that this phone has had
            since before it noted this.
        introduced_by: device id of the home that vouches for this phone there, and for the node
            here; empty for a node that was paired directly.
        lease_expires_at: until when that home vouches, by its clock; 0 for none. For people: the
            node decides.
    """

    id: DeviceId
    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    name: str
    place: Place
    role: DeviceRole
    scopes: frozenset[Scope]
    addresses: tuple[str, ...] = ()
    last_good_address: str = ""
    last_verified_at: float = 0.0
    paired_at: float = 0.0
    known_as: str = ""
    introduced_by: str = ""
    lease_expires_at: int = 0


@dataclass(frozen=True, slots=True)
class PendingPairing:
    """A pairing whose answer has not arrived; written before the request is sent.

    Attributes:
        link_id: which link.
        link: the whole link; holds a secret, so it is deleted once the pairing ends.
        device_name: what this phone called itself.
        started_at: wall time, seconds since the epoch.
    """

    link_id: str
    link: str = field(repr=False)
    device_name: str
    started_at: float


class NodeBook(Protocol):
    """Which nodes a phone knows. Safe to use from any thread."""

    def add(self, node: KnownNode) -> KnownNode:
        """Store a node, or what it now says of itself; harmless twice.

        An earlier `last_good_address` and `paired_at` are kept.

        Raises:
            InvalidDataError: its certificate is malformed.
            IntegrityError: its certificate is another node's.
        """
        ...

    def get(self, node_id: DeviceId) -> KnownNode:
        """The node; raises `NotFoundError` if unknown."""
        ...

    def find(self, text: str) -> KnownNode:
        """The one node with this exact name, or whose id starts with this.

        Raises:
            UsageError: no name, and too short for an id.
            NotFoundError: nothing matches.
            ConflictError: several do.
        """
        ...

    def nodes(self) -> tuple[KnownNode, ...]:
        """Every readable node: home before peers, then oldest first."""
        ...

    def remove(self, node_id: DeviceId) -> None:
        """Forget a node, and those for which it vouches; harmless twice."""
        ...

    def offer(self, home_id: DeviceId, peers: Iterable[KnownNode]) -> None:
        """Store the peers that a home offers, instead of those that it offered before.

        Nodes that were paired directly, or that another home offers, stay as they are.

        Raises:
            NotFoundError: the home is unknown.
            InvalidDataError: a certificate is malformed.
            IntegrityError: a certificate is another node's.
        """
        ...

    def note_verified(self, node_id: DeviceId, address: str, at: float) -> None:
        """Note where the node's key was proven just now."""
        ...

    def note_known_as(self, key: DeviceId, node_id: DeviceId | None = None) -> None:
        """Note by which key this phone is known to a node.

        Args:
            key: the device id of that key of this phone's.
            node_id: the node; None for all of which nothing is noted yet.
        """
        ...

    def succeed(self, node_id: DeviceId, key: NewKey) -> KnownNode:
        """The node has a new key, and so another id; all else of it stays. Harmless twice.

        Returns:
            What is stored now.

        Raises:
            NotFoundError: the node is known neither by its old id nor by the new one.
        """
        ...

    def begin_pairing(self, pending: PendingPairing) -> None:
        """Remember a pairing before its request is sent; replaces one with the same link."""
        ...

    def pending_pairings(self) -> tuple[PendingPairing, ...]:
        """Pairings without an answer yet, oldest first."""
        ...

    def finish_pairing(self, link_id: str, node: KnownNode | None) -> None:
        """Store the node, if the pairing brought one, and forget the link; both or neither."""
        ...


def checked_node(node: KnownNode) -> KnownNode:
    """The node with a clean name, its certificate checked to be of its id.

    Raises:
        InvalidDataError: the certificate is malformed.
        IntegrityError: it is another node's.
    """
    if check_certificate(node.certificate_der).device_id != node.id:
        msg = "the certificate belongs to another node"
        raise IntegrityError(msg, "Pair with the node again.")
    return dataclasses.replace(node, name=clean_label(node.name))


def updated(existing: KnownNode | None, new: KnownNode) -> KnownNode:
    """What the book holds after `new` was paired: where it was last reached is kept."""
    if existing is None:
        return new
    return dataclasses.replace(
        new,
        last_good_address=new.last_good_address or existing.last_good_address,
        last_verified_at=max(new.last_verified_at, existing.last_verified_at),
        paired_at=existing.paired_at,
        known_as=new.known_as or existing.known_as,
    )


def offered(
    home_id: DeviceId, known: Iterable[KnownNode], peers: Iterable[KnownNode]
) -> tuple[tuple[KnownNode, ...], tuple[DeviceId, ...]]:
    """What the book stores and forgets where a home offers these peers; see `NodeBook.offer`."""
    before = {node.id: node for node in known}
    put = tuple(
        updated(before.get(peer.id), peer)
        for peer in map(checked_node, peers)
        if peer.id not in before or before[peer.id].introduced_by == home_id
    )
    kept = {peer.id for peer in put}
    gone = (node.id for node in before.values() if node.introduced_by == home_id)
    return put, tuple(node_id for node_id in gone if node_id not in kept)


def succeeded(old: KnownNode | None, existing: KnownNode | None, key: NewKey) -> KnownNode:
    """What the book holds after a node's key was replaced.

    Args:
        old: the node by its old id; None if it is not in the book (any more).
        existing: the node by its new id, if it is.
        key: the new key, checked.

    Raises:
        NotFoundError: it is in the book by neither id.
    """
    if existing is not None:  # it was paired anew meanwhile, or this is a repetition
        return existing
    if old is None:
        msg = "no such node is paired"
        raise NotFoundError(msg, "List the nodes to see their ids.")
    return dataclasses.replace(
        old,
        id=key.id,
        certificate_der=key.certificate.der,
        hpke_public_key=key.hpke_public_key,
    )


def in_order(nodes: Iterable[KnownNode]) -> tuple[KnownNode, ...]:
    """Home before peers, then oldest first."""
    return tuple(
        sorted(nodes, key=lambda node: (node.place is not Place.HOME, node.paired_at, node.id))
    )


def find_node(nodes: Iterable[KnownNode], text: str) -> KnownNode:
    """The one node with this name in any case, or whose id starts with this.

    Raises:
        UsageError: too short for an id.
        NotFoundError: nothing matches.
        ConflictError: several do.
    """
    known = {node.id: node for node in nodes}
    return known[match_named({node.id: node.name for node in known.values()}, text, "node")]
