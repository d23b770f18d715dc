"""The signed head: the node's word for how far its record goes. Whoever keeps it sees a cut tail.

signature = ECDSA P-256 with SHA-256 over context ‖ length-prefixed (node, seq, hash, at)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from homing_core.errors import IntegrityError, UsageError

from homing_crypto.audit.chain import prefixed
from homing_crypto.keys import verify as verify_signature

if TYPE_CHECKING:
    from homing_core.ids import DeviceId

    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity

_HEAD_CONTEXT: Final = b"homing audit head v1\x00"
_TYPED = re.compile(r"\s*(\d{1,18})\s*:\s*([0-9a-fA-F]{16,64})\s*")


@dataclass(frozen=True, slots=True)
class Head:
    """A point of the record that somebody remembers.

    Attributes:
        seq: number of the entry.
        hash: its hash in hex, or at least the first 16 digits of it.
        at_ms: when, milliseconds since the epoch; 0 if it is not known.
    """

    seq: int
    hash: str
    at_ms: int = 0

    def to_text(self) -> str:
        """As a person types it into `homing-node audit verify --head`."""
        return f"{self.seq}:{self.hash}"

    def names(self, seq: int, digest: str) -> bool:
        """Whether an entry of this number and hash is the one that is remembered."""
        return seq == self.seq and digest.startswith(self.hash)


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head with the node's signature.

    Attributes:
        node: device id of the key that signed.
        head: what it says; its hash is whole.
        signature: ECDSA, DER.
    """

    node: DeviceId
    head: Head
    signature: bytes = field(repr=False)

    def check(self, certificate: CheckedCertificate) -> None:
        """See that the node of this certificate signed it.

        Raises:
            IntegrityError: it did not.
        """
        if certificate.device_id != self.node:
            msg = "another key than the node's signed the head of its record"
            raise IntegrityError(msg, "Look at the record on the node: homing-node audit verify.")
        message = _message(self.node, self.head)
        verify_signature(certificate.public_key, self.signature, message, "the record's head")


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
