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
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.pairing import PairAnswer, PairAttempt

NONCE_BYTES = 32
PROOF_BYTES = hashlib.sha256().digest_size
MAX_ADDRESSES = 8
"""More addresses than this are not kept."""
MAX_NAME = 64
"""Longest name of either side, in characters."""

_DEVICE_LABEL = b"homing pairing v1: device"
_NODE_LABEL = b"homing pairing v1: node"


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
