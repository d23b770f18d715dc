"""What a phone and a node, or a home and a peer, say to each other to pair by a link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_core.access import DeviceRole, Scope

PAIRING_VERSION = 1
"""Of the protocol."""


@dataclass(frozen=True, slots=True)
class PairAttempt:
    """What a phone sends; the values of the wire's `PairRequest`.

    Attributes:
        link_id: which link it answers.
        certificate_der: the phone's certificate.
        hpke_public_key: the phone's HPKE key, raw.
        hpke_signature: the device key's word for it.
        name: what the phone calls itself; at most 64 characters.
        nonce: 32 random bytes.
        proof: see `homing_crypto.pairing.proof.device_proof`.
        version: of the pairing protocol.
    """

    link_id: str
    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    name: str
    nonce: bytes = field(repr=False)
    proof: bytes = field(default=b"", repr=False)
    version: int = PAIRING_VERSION


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """What the node sends back; the values of the wire's `PairResponse`.

    Attributes:
        certificate_der: the node's certificate on its main port.
        hpke_public_key: the node's HPKE key, raw.
        hpke_signature: the node key's word for it.
        name: what the node calls itself.
        role: what the phone is to it.
        scopes: what the phone may do there.
        addresses: of the node's main port, `host:port`, best first.
        proof: see `homing_crypto.pairing.proof.node_proof`.
    """

    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    name: str
    role: DeviceRole
    scopes: frozenset[Scope]
    addresses: tuple[str, ...]
    proof: bytes = field(default=b"", repr=False)
