"""The signed head: the node's word for how far its record goes. Whoever keeps it sees a cut tail.

signature = ECDSA P-256 with SHA-256 over context ‖ length-prefixed (node, seq, hash, at)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from homing_core.audit import Head, SignedHead
from homing_core.errors import IntegrityError, UsageError

from homing_crypto.audit.chain import prefixed
from homing_crypto.keys import verify as verify_signature

if TYPE_CHECKING:
    from homing_core.ids import DeviceId

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

_HEAD_CONTEXT: Final = b"homing audit head v1\x00"
_TYPED = re.compile(r"\s*(\d{1,18})\s*:\s*([0-9a-fA-F]{16,64})\s*")


def check_head(signed: SignedHead, certificate: CheckedCertificate) -> None:
    """See that the node of this certificate signed a head.

    Raises:
        IntegrityError: it did not.
    """
    if certificate.device_id != signed.node:
        msg = "another key than the node's signed the head of its record"
        raise IntegrityError(msg, "Look at the record on the node: homing-node audit verify.")
    try:
        message = _message(signed.node, signed.head)
    except OverflowError as error:  # a number that no head has
        msg = "the head of the node's record is malformed"
        raise IntegrityError(
            msg, "Look at the record on the node: homing-node audit verify."
        ) from error
    verify_signature(certificate.public_key, signed.signature, message, "the record's head")


def sign_head(identity: DeviceIdentity, head: Head) -> SignedHead:
    """The node's word for a head."""
    signature = identity.sign(_message(identity.device_id, head))
    return SignedHead(identity.device_id, head, signature)


def parse_head(text: str) -> Head:
    """Read `SEQ:HASH`, as the phone shows it; 16 digits of the hash are enough.

    Raises:
        UsageError: it is not of this form.
    """
    found = _TYPED.fullmatch(text)
    if found is None:
        msg = "a head is SEQ:HASH, such as 120:9f86d081884c7d65"
        raise UsageError(msg, "Copy it from the phone: homing audit.")
    return Head(int(found[1]), found[2].lower())


def _message(node: DeviceId, head: Head) -> bytes:
    numbers = (head.seq.to_bytes(8, "big"), head.at_ms.to_bytes(8, "big"))
    parts = (node.encode(), numbers[0], head.hash.encode(), numbers[1])
    return _HEAD_CONTEXT + prefixed(parts)
