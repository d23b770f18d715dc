"""What a connection must offer before anything is computed for it. Pure.

The node checks the same on every call (`homing_crypto.guard`), from what TLS agreed on in the end.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from homing_node.door.client_hello import (
    ClientHello,
    MalformedError,
    NotTlsError,
    read_client_hello,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

TLS_1_3: Final = 0x0304
X25519MLKEM768: Final = 0x11EC
"""The hybrid of X25519 and ML-KEM-768 (draft-ietf-tls-ecdhe-mlkem)."""


class Reason(Enum):
    """Why a connection ended before, or although, it could be of use; as it is logged."""

    NOT_TLS = "not TLS"
    PLAINTEXT = "plaintext HTTP"
    MALFORMED = "malformed ClientHello"
    OLD_TLS = "no TLS 1.3"
    NOT_HYBRID = "no post-quantum key exchange"
    NO_HELLO = "no ClientHello in time"
    LEFT = "left before it proved itself"
    CROWDED_OUT = "made room for a newer connection"
    NO_TURN = "no turn for a handshake in time"
    NOT_REACHED = "the node took no more connections"
    SHUT_OUT = "no certificate of a paired device"
    NO_PROOF = "no call of a paired device in time"
    TOO_MANY = "too many connections of one device"
    EXPELLED = "its device was shut out"


_ALERT: Final[Mapping[Reason, int]] = {
    Reason.MALFORMED: 50,  # decode_error
    Reason.OLD_TLS: 70,  # protocol_version
    Reason.NOT_HYBRID: 71,  # insufficient_security: nothing else says it, so a phone can explain it
}


def alert(reason: Reason) -> bytes:
    """The TLS record that tells the caller why (RFC 8446, 6.2); empty where TLS has no word."""
    code = _ALERT.get(reason)
    return b"" if code is None else bytes((21, 3, 3, 0, 2, 2, code))


def judge(greeting: bytes | bytearray, *, hybrid: bool) -> ClientHello | Reason | None:
    """Look at what came so far: a good greeting, why it is refused, or None for not yet.

    Args:
        greeting: all bytes from the first on.
        hybrid: whether the post-quantum key exchange is required.
    """
    try:
        hello = read_client_hello(greeting)
    except NotTlsError as error:
        return Reason.PLAINTEXT if error.http else Reason.NOT_TLS
    except MalformedError:
        return Reason.MALFORMED
    if hello is None:
        return None
    if TLS_1_3 not in hello.versions:
        return Reason.OLD_TLS
    # Offered without a key of its own it still comes to it: TLS then asks for one and goes on
    # (HelloRetryRequest).
    if hybrid and X25519MLKEM768 not in hello.groups:
        return Reason.NOT_HYBRID
    return hello
