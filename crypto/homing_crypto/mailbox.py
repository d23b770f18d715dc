"""Sealed letters: what one device leaves for another, wherever it lies until it is fetched.

    blob = `HML1` ‖ HPKE(recipient's key, info, form of the letter)

The seal is HPKE (RFC 9180) in base mode with `keys.HPKE_SUITE`, the 1,120 bytes of the encapsulated
key first. Base mode says nothing about who sealed, so the letter inside is signed by the sender's
device key (`letter`). `info` is the context `homing mailbox v1` and a zero byte, both device ids
(32 bytes each) and the kind: a blob opens only as what it is, between whom it is.

Whoever carries it can keep it back or send it again, so it has a sequence number and an end. Both
fail closed: without a clock that is right, nothing is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag
from homing_core.errors import IntegrityError, InvalidDataError, RefusedError

from homing_crypto.keys import HPKE_SUITE, parse_hpke_public_key, verify
from homing_crypto.letter import (
    MAX_PLAIN_BYTES,
    Letter,
    body_of,
    check_kind,
    join,
    signed_bytes,
    split,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.ids import DeviceId

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

MAX_LIFETIME_S: Final = 90 * 86_400.0
"""A letter lives so long at most; one that would live longer is not read (a clock is wrong)."""
MAX_BLOB_BYTES: Final = MAX_PLAIN_BYTES + 2048
_SKEW_S: Final = 86_400.0
"""By so much the sender's clock may be ahead."""
_MAGIC: Final = b"HML1"
_INFO: Final = b"homing mailbox v1\x00"


@dataclass(frozen=True, slots=True)
class Recipient:
    """Whom a letter is for.

    Attributes:
        certificate: the device's.
        hpke_public_key: raw, as the device key signed it (`keys.verify_hpke_key`).
    """

    certificate: CheckedCertificate
    hpke_public_key: bytes


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far one device has read. A value: the reader stores it with what the letter did.

    Attributes:
        highest: by sender and kind, the highest sequence number that was read.
    """

    highest: Mapping[tuple[DeviceId, str], int] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def missed(self, letter: Letter) -> int:
        """How many letters before this one were never read; they may still come, and are old then.

        Raises:
            RefusedError: this one, or a later one, was read already.
        """
        before = self.highest.get((letter.sender, letter.kind), 0)
        if letter.sequence <= before:
            msg = "this letter was read already, or is older than one that was"
            raise RefusedError(msg, "Nothing is to be done: somebody sent it again.")
        return letter.sequence - before - 1

    def after(self, letter: Letter) -> Cursor:
        """The cursor once this letter is read; raises as `missed`."""
        self.missed(letter)
        at = (letter.sender, letter.kind)
        return Cursor(MappingProxyType({**self.highest, at: letter.sequence}))

    def renamed(self, old: DeviceId, new: DeviceId) -> Cursor:
        """The cursor once a sender has a new key and goes on counting; harmless when repeated."""
        moved = dict(self.highest)
        for (sender, kind), highest in self.highest.items():
            if sender == old:
                del moved[sender, kind]
                moved[new, kind] = max(highest, moved.get((new, kind), 0))
        return Cursor(MappingProxyType(moved))


@dataclass(frozen=True, slots=True)
class Opened:
    """A letter that was opened and believed.

    Attributes:
        letter: what it says.
        missed: how many of the same sender and kind were sent before and not read.
        cursor: to be stored together with what the letter does.
    """

    letter: Letter
    missed: int
    cursor: Cursor


def seal_letter(  # noqa: PLR0913  # a letter's fields
    sender: DeviceIdentity,
    recipient: Recipient,
    *,
    kind: str,
    sequence: int,
    expires_at: float,
    now: float,
    payload: bytes,
) -> bytes:
    """Seal and sign a letter.

    Args:
        sender: who signs it.
        recipient: who alone can open it.
        kind: see `Letter`.
        sequence: one more than in the last letter of this kind to them; stored before sending.
        expires_at: wall time, seconds since the epoch.
        now: wall time here.
        payload: the content.

    Raises:
        InvalidDataError: a field or the recipient's key has no form, or it would live too long.
        TooLongError: the payload is too long.
    """
    if not now < expires_at <= now + MAX_LIFETIME_S:
        msg = "a letter expires in the future, within 90 days"
        raise InvalidDataError(msg)
    key = parse_hpke_public_key(recipient.hpke_public_key)
    to = recipient.certificate.device_id
    body = body_of(Letter(sender.device_id, to, kind, sequence, expires_at, payload))
    signature = sender.sign(signed_bytes(body, recipient.hpke_public_key))
    info = _info(sender.device_id, to, kind)
    return _MAGIC + HPKE_SUITE.encrypt(join(signature, body), key, info)


def open_letter(  # noqa: PLR0913  # what it is compared with
    recipient: DeviceIdentity,
    sender: CheckedCertificate,
    blob: bytes,
    *,
    kind: str,
    now: float,
    cursor: Cursor,
) -> Opened:
    """Open a letter, and check everything about it.

    Args:
        recipient: this device.
        sender: certificate of who is expected to have sent it.
        blob: from outside.
        kind: what it is expected to be about.
        now: wall time here.
        cursor: how far this device has read.

    Raises:
        InvalidDataError: it is no letter.
        IntegrityError: it was altered, or is another's, of another kind or for somebody else.
        RefusedError: it has expired, was read already, or this clock must be wrong.
    """
    if not blob.startswith(_MAGIC) or len(blob) > MAX_BLOB_BYTES:
        msg = "that is no sealed letter"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.")
    info = _info(sender.device_id, recipient.device_id, kind)
    try:
        plain = HPKE_SUITE.decrypt(blob[len(_MAGIC) :], recipient.hpke.private_key, info)
    except InvalidTag as error:
        raise _not_ours() from error
    signature, body, letter = split(plain)
    if (letter.sender, letter.recipient, letter.kind) != (
        sender.device_id,
        recipient.device_id,
        kind,
    ):
        raise _not_ours()
    signed = signed_bytes(body, recipient.hpke.public_bytes)
    verify(sender.public_key, signature, signed, "a letter")
    if not now < letter.expires_at:  # also where the clock gives no number
        msg = "this letter has expired"
        raise RefusedError(msg, "Ask for it again, and check this device's clock.")
    if not letter.expires_at <= now + MAX_LIFETIME_S + _SKEW_S:
        msg = "this letter would live longer than letters do"
        raise RefusedError(msg, "Check this device's clock.")
    return Opened(letter, cursor.missed(letter), cursor.after(letter))


def _info(sender: DeviceId, recipient: DeviceId, kind: str) -> bytes:
    return _INFO + bytes.fromhex(sender) + bytes.fromhex(recipient) + check_kind(kind)


def _not_ours() -> IntegrityError:
    msg = "this letter was altered, or is not the expected one"
    return IntegrityError(msg, "Ask for it again.")
