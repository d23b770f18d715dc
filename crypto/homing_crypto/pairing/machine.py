"""The node's side of a pairing, as a pure machine: an attempt and a time in, a decision out.

    open ──right proof──▶ done      answers the same device again (its reply may have been lost)
      │ └──three wrong──▶ burned    nothing opens it again
      └────deadline─────▶ expired

The wall clock decides about the deadline; whoever runs the server also closes it after
`MAX_PAIRING_S` by a clock that cannot be set.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label
from homing_core.pairing import PAIRING_VERSION, PairAnswer, PairAttempt

from homing_crypto.certificates import CheckedCertificate, check_certificate
from homing_crypto.devices import PairedDevice, scopes_for
from homing_crypto.keys import verify_hpke_key
from homing_crypto.pairing.link import SECRET_BYTES, link_id
from homing_crypto.pairing.outcomes import (
    Accepted,
    AlreadyUsed,
    Burned,
    Expired,
    Outcome,
    WrongProof,
)
from homing_crypto.pairing.proof import (
    MAX_ADDRESSES,
    MAX_NAME,
    NONCE_BYTES,
    device_proof,
    node_proof,
    same_proof,
)

if TYPE_CHECKING:
    from homing_core.access import DeviceRole, Scope
    from homing_core.ids import DeviceId

    from homing_crypto.identity import DeviceIdentity

MAX_PAIRING_S = 180
"""A pairing is open for three minutes at most, in seconds."""
MAX_GUESSES = 3
"""A link is void after this many wrong proofs."""
LINGER_S = 20.0
"""How long the server goes on answering the device it paired, in seconds, for a lost reply."""


@dataclass(frozen=True, slots=True)
class NodeSide:
    """What the node says of itself in a pairing.

    Attributes:
        certificate_der: its certificate, on the pairing port and on the main one.
        hpke_public_key: raw.
        hpke_signature: its key's word for it.
        name: for people.
        addresses: of its main port, `host:port`, best first.
    """

    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    name: str
    addresses: tuple[str, ...]

    @classmethod
    def of(cls, identity: DeviceIdentity, name: str, addresses: tuple[str, ...]) -> NodeSide:
        """From the node's identity; addresses beyond `MAX_ADDRESSES` are left out."""
        return cls(
            identity.certificate.der,
            identity.hpke.public_bytes,
            identity.hpke_signature,
            clean_label(name, MAX_NAME),
            addresses[:MAX_ADDRESSES],
        )


@dataclass(frozen=True, slots=True)
class Pairing:
    """A pairing under way; `step` makes the next one.

    Attributes:
        secret: the link's.
        node: what the node says of itself.
        role: for the new device.
        scopes: for the new device.
        expires_at: wall time at the node, seconds since the epoch.
        guesses_left: wrong proofs that are still allowed; 0 is burned.
        paired: the device that was let in, if any.
    """

    secret: bytes = field(repr=False)
    node: NodeSide
    role: DeviceRole
    scopes: frozenset[Scope]
    expires_at: float
    guesses_left: int = MAX_GUESSES
    paired: DeviceId | None = None

    @property
    def link_id(self) -> str:
        """Names its link without giving it away."""
        return link_id(self.secret)


def open_pairing(
    node: NodeSide,
    role: DeviceRole,
    secret: bytes,
    now: float,
    *,
    seconds: int = MAX_PAIRING_S,
) -> Pairing:
    """Open a pairing.

    Args:
        node: what the node says of itself.
        role: for the new device, with that role's usual scopes.
        secret: from `homing_crypto.pairing.link.new_secret`.
        now: wall time at the node, seconds since the epoch.
        seconds: how long; at most `MAX_PAIRING_S`, which 0 also means.

    Raises:
        InvalidDataError: the secret is too short.
    """
    if len(secret) < SECRET_BYTES:
        msg = "the pairing secret is too short"
        raise InvalidDataError(msg)
    duration = min(seconds, MAX_PAIRING_S) if seconds > 0 else MAX_PAIRING_S
    return Pairing(secret, node, role, scopes_for(role), now + duration)


def step(
    pairing: Pairing, attempt: PairAttempt, now: float, *, used_before: bool = False
) -> tuple[Pairing, Outcome]:
    """Decide on one attempt.

    Args:
        pairing: as it stands.
        attempt: from outside.
        now: wall time at the node, seconds since the epoch.
        used_before: `TrustStore.link_used(attempt.link_id)`, for links of earlier pairings.

    Returns:
        The pairing as it stands then, and what to answer.

    Raises:
        InvalidDataError: the attempt is malformed; it does not count as a guess.
        IntegrityError: the device key did not sign the HPKE key; neither does this.
    """
    certificate = _check(attempt)
    device = _device(pairing, attempt, certificate, now)
    expected = device_proof(pairing.secret, attempt, pairing.node.certificate_der)
    right = same_proof(attempt.proof, expected)
    if right and pairing.paired == device.id:
        return pairing, Accepted(device, again=True)
    stale = attempt.link_id != pairing.link_id and used_before
    if pairing.paired is not None or stale:
        return pairing, AlreadyUsed()
    if pairing.guesses_left == 0:
        return pairing, Burned()
    if now >= pairing.expires_at:
        return pairing, Expired()
    if not right:
        left = pairing.guesses_left - 1
        return replace(pairing, guesses_left=left), WrongProof(left)
    return replace(pairing, paired=device.id), Accepted(device, again=False)


def answer_to(pairing: Pairing, attempt: PairAttempt, stored: PairedDevice) -> PairAnswer:
    """What to send to a device that was accepted.

    Args:
        pairing: as `step` returned it.
        attempt: what is answered.
        stored: what `TrustStore.add` returned; a device that was paired before keeps its role.
    """
    node = pairing.node
    answer = PairAnswer(
        certificate_der=node.certificate_der,
        hpke_public_key=node.hpke_public_key,
        hpke_signature=node.hpke_signature,
        name=node.name,
        role=stored.role,
        scopes=stored.scopes,
        addresses=node.addresses,
    )
    return replace(answer, proof=node_proof(pairing.secret, attempt, answer))


def _check(attempt: PairAttempt) -> CheckedCertificate:
    if attempt.version != PAIRING_VERSION:
        msg = "the device speaks another version of pairing"
        raise InvalidDataError(msg, "Update Homing on both sides.")
    if len(attempt.nonce) != NONCE_BYTES or len(attempt.name) > MAX_NAME:
        msg = "the pairing request is malformed"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.")
    certificate = check_certificate(attempt.certificate_der)
    verify_hpke_key(certificate.public_key, attempt.hpke_public_key, attempt.hpke_signature)
    return certificate


def _device(
    pairing: Pairing, attempt: PairAttempt, certificate: CheckedCertificate, now: float
) -> PairedDevice:
    return PairedDevice(
        id=certificate.device_id,
        certificate_der=certificate.der,
        hpke_public_key=attempt.hpke_public_key,
        hpke_signature=attempt.hpke_signature,
        name=clean_label(attempt.name, MAX_NAME),
        role=pairing.role,
        scopes=pairing.scopes,
        paired_at=now,
    )
