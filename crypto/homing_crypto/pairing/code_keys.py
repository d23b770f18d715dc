"""SPAKE2 with the short code, and the keys that come of it.

SPAKE2 (RFC 9382) gives two sides that know the same password the same key, and lets a side that
does not know it test one guess at each exchange, however much it records. The group is Ed25519; the
phone is side A. The library (`spake2`) says of itself that it is not constant time: somebody who
times the node could in principle learn of the code what the timing of one exchange shows. What
bounds that is how short a code lives: at most 60 exchanges and three guesses in three minutes, on
one random code, which no later window uses again.

SPAKE2 proves nothing by itself, and it does not know over which connection it runs: a relay could
carry the messages between two TLS connections of its own. So both certificates go into it as the
two sides' names, and both sides then confirm the key over everything that was said
(`homing_crypto.pairing.code_proof`). The keys of these confirmations come from the SPAKE2 key by
HKDF-SHA-256 (RFC 5869).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from homing_core.errors import InvalidDataError
from spake2 import SPAKE2_A, SPAKE2_B  # type: ignore[import-untyped]

if TYPE_CHECKING:
    from collections.abc import Callable


class _Side(Protocol):
    """The part of `spake2`'s classes that is used here; the library has no types."""

    def start(self) -> bytes: ...

    def finish(self, inbound_side_and_message: bytes) -> bytes: ...


_side_a = cast("Callable[[bytes, bytes, bytes], _Side]", SPAKE2_A)
_side_b = cast("Callable[[bytes, bytes, bytes], _Side]", SPAKE2_B)

MESSAGE_BYTES = 33
"""A SPAKE2 message: one byte that says whose it is, and a point."""
KEY_BYTES = 32

_PASSWORD = b"homing pairing code v1\x00"
_KEYS = b"homing pairing code v1: confirmation keys"


@dataclass(frozen=True, slots=True)
class CodeKeys:
    """Three keys for HMAC-SHA-256, `KEY_BYTES` each, so that no confirmation passes as another.

    Attributes:
        phone: for what the phone confirms.
        node: for what the node confirms.
        entry: for what the node lets the phone do, once it has let it in.
    """

    phone: bytes = field(repr=False)
    node: bytes = field(repr=False)
    entry: bytes = field(repr=False)


class PhoneExchange:
    """The phone's side of one exchange.

    It takes one answer and no second: each would be worth another guess to whoever sends it.

    Args:
        code: the digits.
        phone_certificate: this phone's, DER.
        node_certificate: the one that the TLS connection saw, DER.
    """

    def __init__(self, code: str, phone_certificate: bytes, node_certificate: bytes) -> None:
        """Choose the secret half."""
        self._side = _side_a(_password(code), phone_certificate, node_certificate)
        self.message = self._side.start()
        """What to send, `MESSAGE_BYTES` bytes."""

    def finish(self, message: bytes) -> CodeKeys:
        """The keys, from the node's message; raises `InvalidDataError` if it is none."""
        return _keys(self._side, message)


def node_exchange(
    code: str, phone_certificate: bytes, node_certificate: bytes, message: bytes
) -> tuple[bytes, CodeKeys]:
    """The node's side of one exchange, whole. Takes about 7 ms.

    Args:
        code: the digits.
        phone_certificate: as the phone sent it, DER.
        node_certificate: the node's own, DER.
        message: the phone's.

    Returns:
        What to send back, and the keys.

    Raises:
        InvalidDataError: the phone's message is none.
    """
    side = _side_b(_password(code), phone_certificate, node_certificate)
    answer = side.start()
    return answer, _keys(side, message)


def _password(code: str) -> bytes:
    return _PASSWORD + code.encode("ascii")


def _keys(side: _Side, message: bytes) -> CodeKeys:
    try:
        if len(message) != MESSAGE_BYTES:
            raise ValueError  # noqa: TRY301  # one way out for whatever is wrong with it
        key = side.finish(message)
    except Exception as error:  # the library's ways to fail are an open list
        msg = "the message of the pairing code is malformed"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.") from error
    derived = HKDF(hashes.SHA256(), 3 * KEY_BYTES, salt=None, info=_KEYS).derive(key)
    return CodeKeys(*(derived[at : at + KEY_BYTES] for at in range(0, len(derived), KEY_BYTES)))
