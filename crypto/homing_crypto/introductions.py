"""What a home says about one of its devices to one peer, and how that is signed and checked. Pure.

The home's device key signs a context string and every field, each with its length in front (as in
`homing_crypto.pairing.proof`), so that no two introductions share a form. The home's and the peer's
ids are among the fields: an introduction fits no other peer. Its serial grows with every push and
withdrawal, so an old one brings nobody back; its lease ends within a day, so that a home that
cannot be heard any more vouches for nobody for longer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from homing_core.access import Limits, Scope
from homing_core.errors import IntegrityError, InvalidDataError, UsageError
from homing_core.labels import clean_label
from homing_core.limits import checked_limits

from homing_crypto.certificates import CheckedCertificate, check_certificate
from homing_crypto.keys import verify, verify_hpke_key
from homing_crypto.pairing.proof import MAX_NAME, joined, utf8

if TYPE_CHECKING:
    from collections.abc import Container

    from homing_core.ids import DeviceId

    from homing_crypto.devices import PairedDevice
    from homing_crypto.identity import DeviceIdentity

MAX_LEASE_S: Final = 24 * 60 * 60
"""No lease is longer, in seconds."""
MAX_DEVICES: Final = 256
"""No home has more devices than this at one peer; a node's owner usually allows fewer."""
MAX_SERIAL: Final = 1 << 62
"""Serials are microseconds since the epoch, or one more than the last: this is never reached."""
PASSABLE: Final = frozenset({Scope.INFERENCE, Scope.TOOLS, Scope.JOBS})
"""What an introduced device can be allowed at all: never other devices, pipes or introductions."""

_CONTEXT = b"homing introduction v1"


@dataclass(frozen=True, slots=True)
class Introduction:
    """One device that a home vouches for; the values of the wire's `Introduction`.

    Attributes:
        home_id: whose key signs.
        peer_id: for whom it is.
        device_id: about whom.
        certificate_der: the device's certificate.
        hpke_public_key: the device's HPKE key, raw; empty if the home has no signature of it.
        hpke_signature: the device key's word for that; empty with it.
        name: for people; at most `MAX_NAME` characters.
        scopes: what the device may do at the peer, at most.
        limits: how much of it, at most.
        lease_expires_at: when the home's word ends, seconds since the epoch by the peer's clock.
        serial: larger than that of every push and withdrawal before.
        signature: ECDSA P-256 with SHA-256, DER, over all of the above.
    """

    home_id: DeviceId
    peer_id: DeviceId
    device_id: DeviceId
    certificate_der: bytes = field(repr=False)
    hpke_public_key: bytes = field(repr=False)
    hpke_signature: bytes = field(repr=False)
    name: str
    scopes: frozenset[Scope]
    limits: Limits
    lease_expires_at: int
    serial: int
    signature: bytes = field(default=b"", repr=False)


def introduce(
    identity: DeviceIdentity,
    peer: DeviceId,
    device: PairedDevice,
    *,
    lease_expires_at: int,
    serial: int,
) -> Introduction:
    """Vouch for a device that is paired here; its scopes and limits here are its most there.

    Args:
        identity: the home's own.
        peer: for whom this is.
        device: the home's entry of it.
        lease_expires_at: when this word ends, seconds since the epoch.
        serial: see `next_serial`.

    Raises:
        UsageError: the device's limits are none that can be sent.
    """
    signed = bool(device.hpke_signature)
    made = Introduction(
        home_id=identity.device_id,
        peer_id=peer,
        device_id=device.id,
        certificate_der=device.certificate_der,
        hpke_public_key=device.hpke_public_key if signed else b"",
        hpke_signature=device.hpke_signature,
        name=clean_label(device.name, MAX_NAME),
        scopes=device.scopes & PASSABLE,
        limits=checked_limits(device.limits),  # the form in which it is read
        lease_expires_at=lease_expires_at,
        serial=serial,
    )
    return replace(made, signature=identity.sign(transcript(made)))


def next_serial(last: int, now: float) -> int:
    """A serial for the next push: larger than the last, also if the last was forgotten.

    Args:
        last: the last one that may have been sent; 0 for none.
        now: wall time, seconds since the epoch.
    """
    return max(last + 1, int(now * 1_000_000))


def verify_introduction(
    introduction: Introduction,
    home: CheckedCertificate,
    me: Container[DeviceId],
    now: float,
) -> CheckedCertificate:
    """Check what an introduction says by itself: whose it is, for whom, and until when.

    Args:
        introduction: from outside.
        home: the certificate of the caller, as TLS proved it.
        me: the ids under which this node is known.
        now: wall time here, seconds since the epoch.

    Returns:
        The device's certificate.

    Raises:
        IntegrityError: another key signed it, something was altered, or it is for another peer.
        InvalidDataError: something in it is malformed, or its lease is over or too long.
    """
    if introduction.home_id != home.device_id or introduction.peer_id not in me:
        msg = "this introduction was made by another home, or for another node"
        raise IntegrityError(msg, "A home sends its own introductions to each peer.")
    verify(home.public_key, introduction.signature, transcript(introduction), "this introduction")
    certificate = check_certificate(introduction.certificate_der)
    if certificate.device_id != introduction.device_id:
        msg = "the introduced certificate belongs to another device"
        raise IntegrityError(msg, "Pair the device with its home again.")
    if introduction.hpke_public_key or introduction.hpke_signature:
        verify_hpke_key(
            certificate.public_key, introduction.hpke_public_key, introduction.hpke_signature
        )
    _check_numbers(introduction, now)
    return certificate


def _check_numbers(introduction: Introduction, now: float) -> None:
    if not 0 < introduction.serial < MAX_SERIAL or len(introduction.name) > MAX_NAME:
        msg = "this introduction is malformed"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.")
    if not now < introduction.lease_expires_at <= now + MAX_LEASE_S:
        msg = "this introduction's lease is over, or longer than a day"
        raise InvalidDataError(msg, "Check the clocks of both computers.")
    try:
        checked_limits(introduction.limits)
    except UsageError as error:
        raise InvalidDataError(error.what, error.hint) from error


def transcript(one: Introduction) -> bytes:
    """What a home signs: everything but the signature."""
    limits = one.limits
    return joined(
        [
            _CONTEXT,
            utf8(one.home_id),
            utf8(one.peer_id),
            utf8(one.device_id),
            one.certificate_der,
            one.hpke_public_key,
            one.hpke_signature,
            utf8(one.name),
            joined(sorted(utf8(scope.value) for scope in one.scopes)),
            utf8(str(limits.tokens_per_day)),
            utf8(str(limits.concurrent_streams)),
            utf8(str(limits.jobs)),
            joined(map(utf8, limits.models)),
            joined(map(utf8, limits.tools)),
            utf8(str(limits.expires_at)),
            utf8(limits.hours),
            utf8(str(one.lease_expires_at)),
            utf8(str(one.serial)),
        ]
    )
