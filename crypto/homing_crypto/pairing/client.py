"""The phone's side of a pairing: what it sends, and what it believes of the answer. Pure."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from homing_core.addresses import parse_address
from homing_core.errors import IntegrityError, InvalidDataError
from homing_core.labels import clean_label
from homing_core.pairing import PairAnswer, PairAttempt
from homing_core.tools import Place

from homing_crypto.certificates import check_certificate
from homing_crypto.keys import verify_hpke_key
from homing_crypto.nodes import KnownNode
from homing_crypto.pairing.proof import (
    MAX_ADDRESSES,
    MAX_NAME,
    NONCE_BYTES,
    device_proof,
    node_proof,
    same_proof,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.pairing.link import PairingLink


@dataclass(frozen=True, slots=True)
class PhoneSide:
    """A pairing as the phone sees it, until the answer comes.

    Attributes:
        link: what the person scanned.
        node: the certificate that the connection is pinned to.
        attempt: what to send, as often as needed.
    """

    link: PairingLink
    node: CheckedCertificate
    attempt: PairAttempt


def start_pairing(
    link: PairingLink, identity: DeviceIdentity, node: CheckedCertificate, name: str
) -> PhoneSide:
    """Make the attempt.

    Args:
        link: what the person scanned.
        identity: this device's own.
        node: the pairing server's certificate, as `fetch_certificate` returned it.
        name: what this device calls itself.
    """
    attempt = PairAttempt(
        link_id=link.id,
        certificate_der=identity.certificate.der,
        hpke_public_key=identity.hpke.public_bytes,
        hpke_signature=identity.hpke_signature,
        name=clean_label(name, MAX_NAME),
        nonce=secrets.token_bytes(NONCE_BYTES),
    )
    proof = device_proof(link.secret, attempt, node.der)
    return PhoneSide(link, node, replace(attempt, proof=proof))


def accept_answer(
    side: PhoneSide, answer: PairAnswer, now: float, place: Place = Place.HOME
) -> KnownNode:
    """Check the answer and make the node's entry from it.

    Args:
        side: what was sent, and to whom.
        answer: what came back.
        now: wall time here, seconds since the epoch.
        place: HOME or PEER.

    Raises:
        IntegrityError: the node did not prove that it made the link, or shows another key.
        InvalidDataError: the answer is malformed.
    """
    node = side.node
    if answer.certificate_der != node.der:
        msg = "the node answered with another key than its own"
        raise IntegrityError(msg, "Do not pair with it. Ask for a new link.")
    if len(answer.name) > MAX_NAME or len(answer.addresses) > MAX_ADDRESSES:
        msg = "the pairing answer is malformed"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.")
    if not same_proof(answer.proof, node_proof(side.link.secret, side.attempt, answer)):
        msg = "the node did not prove that it made this link"
        raise IntegrityError(msg, "Do not pair with it. Ask for a new link.")
    verify_hpke_key(node.public_key, answer.hpke_public_key, answer.hpke_signature)
    return KnownNode(
        id=node.device_id,
        certificate_der=node.der,
        hpke_public_key=answer.hpke_public_key,
        name=clean_label(answer.name, MAX_NAME),
        place=place,
        role=answer.role,
        scopes=answer.scopes,
        addresses=readable_addresses([*answer.addresses, *map(str, side.link.node_addresses)]),
        paired_at=now,
        known_as=check_certificate(side.attempt.certificate_der).device_id,
    )


def readable_addresses(texts: Iterable[str]) -> tuple[str, ...]:
    """The addresses that can be read here, each once: they are hints, so others are left out."""
    found: dict[str, None] = {}
    for text in texts:
        with contextlib.suppress(InvalidDataError):
            address = parse_address(text, error=InvalidDataError)
            if "%" not in address.host:  # a zone means something on the node only
                found[str(address)] = None
    return tuple(found)[:MAX_ADDRESSES]
