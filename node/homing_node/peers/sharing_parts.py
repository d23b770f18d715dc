"""What sharing devices with peers is made of, and which node is a peer at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from homing_core.access import DeviceRole
from homing_core.errors import RefusedError
from homing_crypto.pairing.link import LinkKind

from homing_node.peers.dial import dialled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from contextlib import AbstractAsyncContextManager

    from homing_core.clock import Clock
    from homing_crypto.audit.records import Audit
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_crypto.pairing.link import PairingLink
    from homing_crypto.trust import TrustStore
    from homing_crypto.vouching import Terms

    from homing_node.peers.ledger import PeerLedger
    from homing_node.peers.section import Share
    from homing_node.rpc.peer_calls import PeerCalls

    Dial: TypeAlias = Callable[
        [KnownNode, DeviceIdentity, NodeBook, Clock], AbstractAsyncContextManager[PeerCalls]
    ]


@dataclass(frozen=True, slots=True)
class SharingParts:
    """What `Sharing` is made of.

    Attributes:
        identity: this node's; asked anew each time, because its key may be rotated.
        own: this node's identities, those of earlier keys that still hold included.
        name: this node's, for people.
        store: whom it knows.
        ledger: what peers were told.
        book: its peers.
        clock: wall time.
        audit: where peers that come and go are noted.
        share: whose devices are introduced unless it is said otherwise.
        lease_s: how long leases are, in seconds.
        terms: what homes may do here; asked anew each time.
        dial: connects to a peer.
    """

    identity: Callable[[], DeviceIdentity]
    own: Callable[[], tuple[DeviceIdentity, ...]]
    name: str
    store: TrustStore
    ledger: PeerLedger
    book: NodeBook
    clock: Clock
    audit: Audit
    share: Share
    lease_s: int
    terms: Callable[[], Terms]
    dial: Dial = dialled


@dataclass(frozen=True, slots=True)
class Desk:
    """What couriers share.

    Attributes:
        identity: this node's; asked anew each time, because its key may be rotated.
        store: whom this node knows.
        ledger: what peers were told.
        book: the peers.
        clock: wall time.
        share: whose devices are introduced.
        lease_s: how long leases are, in seconds.
        dial: connects to a peer.
        left: called once a peer is forgotten.
    """

    identity: Callable[[], DeviceIdentity]
    store: TrustStore
    ledger: PeerLedger
    book: NodeBook
    clock: Clock
    share: Share
    lease_s: int
    dial: Dial
    left: Callable[[KnownNode], Awaitable[None]]


def check_link(link: PairingLink, own: Iterable[DeviceIdentity]) -> None:
    """Raises `RefusedError` for this node's own link, or one that a phone was meant to have."""
    if any(link.certificate_sha256 == one.certificate.sha256 for one in own):
        msg = "that link is this node's own"
        raise RefusedError(msg, "Give it to the other home. For one from there, see: peers --help")
    if link.kind is LinkKind.PHONE:
        msg = "that link is for a phone, not for a node"
        raise RefusedError(msg, "Ask its owner for: homing-node pair --role peer")


def check_peer(node: KnownNode) -> None:
    """Raises `RefusedError` where a link was not made for a home."""
    if node.role is not DeviceRole.PEER:
        msg = f"that link makes this node a {node.role.value} of {node.name}, not its peer"
        raise RefusedError(msg, "Ask its owner for: homing-node pair --role peer")
