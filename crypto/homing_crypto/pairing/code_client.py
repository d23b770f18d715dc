"""The phone's side of a pairing by code: what it sends, and what it believes. Pure.

    Asking ──reply──▶ Claiming ──the node's confirmation──▶ Claiming ──entry──▶ KnownNode

The code is in `Asking` alone and is kept nowhere.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homing_core.errors import IntegrityError, InvalidDataError
from homing_core.labels import clean_label
from homing_core.tools import Place

from homing_crypto.certificates import check_certificate
from homing_crypto.keys import verify_hpke_key
from homing_crypto.nodes import KnownNode
from homing_crypto.pairing.client import readable_addresses
from homing_crypto.pairing.code_claim import Claiming
from homing_crypto.pairing.code_keys import PhoneExchange
from homing_crypto.pairing.code_proof import (
    CodeReply,
    CodeStart,
    Entry,
    Recognition,
    entry_confirmation,
    node_confirmation,
    transcript,
)
from homing_crypto.pairing.proof import MAX_ADDRESSES, MAX_NAME, NONCE_BYTES, same_proof

if TYPE_CHECKING:
    from homing_core.access import DeviceRole, Scope

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

_ID_BYTES = 16
_NOT_THE_NODE = (
    "Do not go on: see that the node is the one that shows the code, and ask for a new code."
)


@dataclass(frozen=True, slots=True)
class Asking:
    """An attempt before the node's reply.

    Attributes:
        at: address of the pairing server, `host:port`.
        node: the certificate that the TLS connection saw.
        start: what to send, as often as needed.
        exchange: SPAKE2's secret half; takes one reply.
    """

    at: str
    node: CheckedCertificate
    start: CodeStart
    exchange: PhoneExchange = field(repr=False)


def new_attempt_id() -> str:
    """A fresh id, `code-` and 128 random bits in hex."""
    return f"code-{secrets.token_hex(_ID_BYTES)}"


def start_by_code(
    code: str, identity: DeviceIdentity, node: CheckedCertificate, name: str, at: str
) -> Asking:
    """Make an attempt.

    Args:
        code: the digits (`homing_crypto.pairing.code.parse_code`).
        identity: this device's own.
        node: the certificate of the TLS connection that everything else goes over.
        name: what this device calls itself.
        at: address of the pairing server, `host:port`.
    """
    exchange = PhoneExchange(code, identity.certificate.der, node.der)
    start = CodeStart(
        attempt_id=new_attempt_id(),
        certificate_der=identity.certificate.der,
        hpke_public_key=identity.hpke.public_bytes,
        hpke_signature=identity.hpke_signature,
        name=clean_label(name, MAX_NAME),
        nonce=secrets.token_bytes(NONCE_BYTES),
        message=exchange.message,
    )
    return Asking(at, node, start, exchange)


def accept_reply(asking: Asking, reply: CodeReply) -> Claiming:
    """Take the node's reply; only once.

    Raises:
        IntegrityError: the node shows another key than its TLS connection, or did not sign its
            HPKE key.
        InvalidDataError: the reply is malformed.
    """
    node = asking.node
    if reply.certificate_der != node.der:
        msg = "the node answered with another key than its own"
        raise IntegrityError(msg, _NOT_THE_NODE)
    if len(reply.name) > MAX_NAME or len(reply.nonce) != NONCE_BYTES:
        raise _malformed()
    verify_hpke_key(node.public_key, reply.hpke_public_key, reply.hpke_signature)
    return Claiming(
        attempt_id=asking.start.attempt_id,
        known_as=check_certificate(asking.start.certificate_der).device_id,
        at=asking.at,
        certificate_der=node.der,
        hpke_public_key=reply.hpke_public_key,
        name=clean_label(reply.name, MAX_NAME),
        said=transcript(asking.start, reply, node.der),
        keys=asking.exchange.finish(reply.message),
    )


def accept_recognition(claiming: Claiming, recognition: Recognition) -> Claiming:
    """Take the node's confirmation; from then on its certificate is believed.

    Raises:
        IntegrityError: the node does not know the code.
        InvalidDataError: the answer is malformed.
    """
    if len(recognition.addresses) > MAX_ADDRESSES:
        raise _malformed()
    expected = node_confirmation(claiming.keys, claiming.said, recognition)
    if not same_proof(recognition.confirmation, expected):
        msg = "the computer that answered does not know the code"
        raise IntegrityError(msg, _NOT_THE_NODE)
    return replace(claiming, addresses=recognition.addresses)


def accept_entry(claiming: Claiming, entry: Entry, now: float) -> KnownNode:
    """Take the node's last word and make its entry.

    Raises:
        IntegrityError: the node did not say this.
        InvalidDataError: the answer is malformed.
    """
    if len(entry.addresses) > MAX_ADDRESSES:
        raise _malformed()
    expected = entry_confirmation(claiming.keys, claiming.said, entry)
    if claiming.addresses is None or not same_proof(entry.confirmation, expected):
        msg = "the node's last answer was changed on its way"
        raise IntegrityError(msg, _NOT_THE_NODE)
    return known_node(replace(claiming, addresses=entry.addresses), entry.role, entry.scopes, now)


def known_node(
    claiming: Claiming, role: DeviceRole, scopes: frozenset[Scope], now: float
) -> KnownNode:
    """The entry of a node that was recognised, with what it lets this phone do.

    Args:
        claiming: after `accept_recognition`.
        role: from its last answer, or from its main port.
        scopes: from the same place.
        now: wall time here, seconds since the epoch.
    """
    return KnownNode(
        id=check_certificate(claiming.certificate_der).device_id,
        certificate_der=claiming.certificate_der,
        hpke_public_key=claiming.hpke_public_key,
        name=claiming.name,
        place=Place.HOME,
        role=role,
        scopes=scopes,
        addresses=readable_addresses(claiming.addresses or ()),
        paired_at=now,
        known_as=claiming.known_as,
    )


def _malformed() -> InvalidDataError:
    msg = "the pairing answer is malformed"
    return InvalidDataError(msg, "Both sides may run different versions of Homing.")
