"""Asking a home for the peers that took this phone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from homing_core.addresses import parse_address
from homing_core.errors import InvalidDataError
from homing_core.ids import DeviceId, parse_device_id
from homing_core.labels import clean_label
from homing_crypto.certificates import MAX_CERTIFICATE_BYTES, check_certificate
from homing_crypto.pairing.proof import MAX_ADDRESSES, MAX_NAME
from homing_proto.codec.access import decode_scopes
from homing_proto.codec.fields import max_items, refuse
from homing_proto.v1 import devices_pb2, devices_pb2_grpc

from homing_client.rpc.node_calls import plain_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

    import grpc.aio
    from homing_core.access import Scope

MAX_PEERS: Final = 32
"""Peers of one home; more are refused."""
_CALL_S = 5.0


@dataclass(frozen=True, slots=True)
class OfferedPeer:
    """A peer that took this phone.

    Attributes:
        id: the peer.
        certificate_der: its certificate, checked to be of its id.
        name: for people; cleaned.
        addresses: `host:port`, best first; hints.
        lease_expires_at: until when the home vouches, by its clock, seconds since the epoch.
        scopes: what this phone may do there.
    """

    id: DeviceId
    certificate_der: bytes = field(repr=False)
    name: str
    addresses: tuple[str, ...]
    lease_expires_at: int
    scopes: frozenset[Scope]


async def list_peers(channel: grpc.aio.Channel) -> tuple[OfferedPeer, ...]:
    """The peers that took this phone; raises `HomingError`."""
    with plain_errors():
        answer = await devices_pb2_grpc.PeersServiceStub(channel).ListPeers(
            devices_pb2.ListPeersRequest(), timeout=_CALL_S
        )
    return decode_peers(answer)


def decode_peers(message: devices_pb2.ListPeersResponse) -> tuple[OfferedPeer, ...]:
    """Raises `InvalidDataError` or `IntegrityError`."""
    max_items(message.peers, MAX_PEERS, "peers")
    return tuple(map(_peer, message.peers))


def _peer(message: devices_pb2.Peer) -> OfferedPeer:
    if len(message.certificate_der) > MAX_CERTIFICATE_BYTES:
        refuse("a peer's certificate is too long")
    if check_certificate(message.certificate_der).device_id != message.node_id:
        refuse("a peer's certificate is another node's")
    max_items(message.addresses, 2 * MAX_ADDRESSES, "addresses")
    return OfferedPeer(
        parse_device_id(message.node_id),
        message.certificate_der,
        clean_label(message.name, MAX_NAME, fallback="peer"),
        _readable(message.addresses),
        message.lease_expires_at,
        decode_scopes(message.scopes),
    )


def _readable(texts: Iterable[str]) -> tuple[str, ...]:
    """Addresses are hints: one that cannot be read is left out."""
    found: dict[str, None] = {}
    for text in texts:
        try:
            address = parse_address(text, error=InvalidDataError)
        except InvalidDataError:
            continue
        if "%" not in address.host:
            found[str(address)] = None
    return tuple(found)[:MAX_ADDRESSES]
