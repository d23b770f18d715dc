"""What both sides of a pairing prove: that they know the link's secret, over each other's keys.

A proof is HMAC-SHA-256 (RFC 2104) with the link's secret. What it covers is written as a list of
fields, each with its length in front (4 bytes, big-endian), so that no two lists share a form. The
first field says which side speaks, so that neither proof can be sent back as the other.

The phone speaks first and covers what it knows then: the certificate that its TLS connection is
pinned to, its own keys, its name and a nonce. The node covers all of that, and its HPKE key, role,
scopes, name and addresses besides.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.access import DeviceRole, Scope

PAIRING_VERSION = 1
NONCE_BYTES = 32
PROOF_BYTES = hashlib.sha256().digest_size
MAX_ADDRESSES = 8
"""More addresses than this are not kept."""
MAX_NAME = 64
"""Longest name of either side, in characters."""

_DEVICE_LABEL = b"homing pairing v1: device"
_NODE_LABEL = b"homing pairing v1: node"


@dataclass(frozen=True, slots=True)
class PairAttempt:
    """What a phone sends; the values of the wire's `PairRequest`.

    Attributes:
        link_id: which link it answers.
        certificate_der: the phone's certificate.
        hpke_public_key: the phone's HPKE key, raw.
        hpke_signature: the device key's word for it.
        name: what the phone calls itself; at most `MAX_NAME` characters.
        nonce: `NONCE_BYTES` random bytes.
        proof: see `device_proof`.
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
        proof: see `node_proof`.
    """

    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    name: str
    role: DeviceRole
    scopes: frozenset[Scope]
    addresses: tuple[str, ...]
    proof: bytes = field(default=b"", repr=False)


def device_proof(secret: bytes, attempt: PairAttempt, node_certificate: bytes) -> bytes:
    """The phone's proof.

    Args:
        secret: the link's.
        attempt: all but its proof counts.
        node_certificate: the certificate that the phone's TLS connection is pinned to, DER.

    Raises:
        InvalidDataError: the name has no UTF-8 form.
    """
    return _mac(secret, [_DEVICE_LABEL, *_attempt_fields(attempt, node_certificate)])


def node_proof(secret: bytes, attempt: PairAttempt, answer: PairAnswer) -> bytes:
    """The node's proof, in answer to exactly this attempt; all but the answer's proof counts.

    Raises:
        InvalidDataError: a name has no UTF-8 form.
    """
    addresses = [utf8(address) for address in answer.addresses]
    scopes = sorted(utf8(scope.value) for scope in answer.scopes)
    return _mac(
        secret,
        [
            _NODE_LABEL,
            *_attempt_fields(attempt, answer.certificate_der),
            answer.hpke_public_key,
            utf8(answer.role.value),
            joined(scopes),
            utf8(answer.name),
            joined(addresses),
        ],
    )


def same_proof(one: bytes, other: bytes) -> bool:
    """Compare in a time that says nothing about where they differ."""
    return hmac.compare_digest(one, other)


def _attempt_fields(attempt: PairAttempt, node_certificate: bytes) -> list[bytes]:
    return [
        utf8(str(attempt.version)),
        utf8(attempt.link_id),
        node_certificate,
        attempt.certificate_der,
        attempt.hpke_public_key,
        attempt.nonce,
        utf8(attempt.name),
    ]


def _mac(secret: bytes, fields: Iterable[bytes]) -> bytes:
    return hmac.digest(secret, joined(fields), "sha256")


def joined(fields: Iterable[bytes]) -> bytes:
    """The fields as one text, each with its length in front: no two lists share a form."""
    return b"".join(len(part).to_bytes(4, "big") + part for part in fields)


def utf8(text: str) -> bytes:
    """The text's bytes; raises `InvalidDataError` where it has none."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        msg = "a name holds characters that cannot be sent"
        raise InvalidDataError(msg, "Choose another name.") from error
