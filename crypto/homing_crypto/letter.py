"""A letter's form: what is signed, and what is sealed. All of it byte by byte, in one way only.

    bytes  what
    1      version of this form, 1
    2      n, bytes of the signature
    n      the sender's ECDSA P-256 signature with SHA-256 (DER) over the signed bytes, see below
    32     the sender's device id
    32     the recipient's device id
    1      k, bytes of the kind
    k      the kind: 1 to 64 of a-z, 0-9, `.`, `_`, `-`
    8      sequence number, from 1
    8      when it expires: milliseconds since 1970, by the recipient's clock
    4      p, bytes of the payload
    p      the payload
    …      zeros up to the next size class

Numbers are unsigned, most significant byte first. The signed bytes are the context
`homing letter v1` and a zero byte, SHA-256 of the recipient's HPKE public key (raw), and everything
from the version on but signature and padding. So whoever opens a letter cannot seal it again to
somebody else as if it had been meant for them: neither id nor key would fit.

Sizes go up in powers of two from 512 bytes. Who carries a letter sees its size, and the size of an
answer can tell which answer it is; so it sees the power of two alone, for at most twice the bytes.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError, TooLongError
from homing_core.ids import DeviceId

if TYPE_CHECKING:
    from typing import NoReturn

MAX_PAYLOAD_BYTES: Final = 1 << 20
"""What is larger goes in several letters, or another way with its hash in a letter."""
MAX_SEQUENCE: Final = (1 << 63) - 1
"""So that it fits a database's signed integer."""
MAX_PLAIN_BYTES: Final = 1 << 21
"""The largest size class."""
_SMALLEST: Final = 512
_VERSION: Final = 1
_ID_BYTES: Final = 32
_MAX_SIGNATURE_BYTES: Final = 72
"""Of ECDSA P-256 in DER."""
_SIGN_CONTEXT: Final = b"homing letter v1\x00"
_KIND: Final = re.compile(r"[a-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Letter:
    """What a sealed message says.

    Attributes:
        sender: device id of who sealed it.
        recipient: device id of whom it is for.
        kind: what it is about, such as `job.result`; a letter of one kind is none of another.
        sequence: counts the sender's letters of this kind to this recipient, from 1.
        expires_at: seconds since the epoch, to the millisecond; afterwards it is not read.
        payload: the content.
    """

    sender: DeviceId
    recipient: DeviceId
    kind: str
    sequence: int
    expires_at: float
    payload: bytes = field(repr=False)


def check_kind(kind: str) -> bytes:
    """The kind's bytes; raises `InvalidDataError` if it is none."""
    if _KIND.fullmatch(kind) is None:
        msg = "that is no kind of letter"
        raise InvalidDataError(msg, "It has 1 to 64 of a-z, 0-9, full stop, hyphen, underscore.")
    return kind.encode("ascii")


def body_of(letter: Letter) -> bytes:
    """The letter's own bytes, from the sender's id to the payload.

    Raises:
        TooLongError: the payload is too long.
        InvalidDataError: a field has no form.
    """
    kind = check_kind(letter.kind)
    if len(letter.payload) > MAX_PAYLOAD_BYTES:
        msg = f"a letter holds {MAX_PAYLOAD_BYTES} bytes at most"
        raise TooLongError(msg, "Send it in pieces.")
    if not 1 <= letter.sequence <= MAX_SEQUENCE:
        msg = "a letter's sequence number is out of range"
        raise InvalidDataError(msg)
    ids = bytes.fromhex(letter.sender) + bytes.fromhex(letter.recipient)
    numbers = struct.pack(">QQI", letter.sequence, _millis(letter.expires_at), len(letter.payload))
    return ids + bytes([len(kind)]) + kind + numbers + letter.payload


def signed_bytes(body: bytes, hpke_public_key: bytes) -> bytes:
    """What the sender signs.

    Args:
        body: of the letter.
        hpke_public_key: the recipient's, raw.
    """
    return _SIGN_CONTEXT + hashlib.sha256(hpke_public_key).digest() + bytes([_VERSION]) + body


def join(signature: bytes, body: bytes) -> bytes:
    """What is sealed: version, signature, body, and zeros up to the size class."""
    whole = bytes([_VERSION]) + struct.pack(">H", len(signature)) + signature + body
    return whole.ljust(_size_class(len(whole)), b"\x00")


def split(plain: bytes) -> tuple[bytes, bytes, Letter]:
    """Signature, body and letter of what was sealed. Nothing of it is believed yet.

    Raises:
        InvalidDataError: it is in another form than `join` makes.
    """
    if not _SMALLEST <= len(plain) <= MAX_PLAIN_BYTES:
        _malformed()
    reader = _Reader(plain)
    if reader.number(">B") != _VERSION:
        msg = "a letter is in a form that this version does not know"
        raise InvalidDataError(msg, "Update Homing.")
    size = reader.number(">H")
    if not 1 <= size <= _MAX_SIGNATURE_BYTES:
        _malformed()
    signature = reader.take(size)
    start = reader.at
    sender, recipient = reader.take(_ID_BYTES).hex(), reader.take(_ID_BYTES).hex()
    kind = reader.take(reader.number(">B"))
    sequence, expires_ms = reader.number(">Q"), reader.number(">Q")
    size = reader.number(">I")
    if size > MAX_PAYLOAD_BYTES or not 1 <= sequence <= MAX_SEQUENCE:
        _malformed()
    payload = reader.take(size)
    body = plain[start : reader.at]
    padding = plain[reader.at :]
    if len(plain) != _size_class(reader.at) or padding.count(0) != len(padding):
        _malformed()
    text = kind.decode("ascii", "replace")
    if _KIND.fullmatch(text) is None:
        _malformed()
    letter = Letter(
        DeviceId(sender), DeviceId(recipient), text, sequence, expires_ms / 1000, payload
    )
    return signature, body, letter


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        piece = self._data[self.at : self.at + size]
        if len(piece) != size:
            _malformed()
        self.at += size
        return piece

    def number(self, form: str) -> int:
        (found,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(found)


def _millis(seconds: float) -> int:
    if not math.isfinite(seconds) or not 0 <= seconds * 1000 < 1 << 63:
        msg = "a letter expires at an impossible time"
        raise InvalidDataError(msg)
    return int(seconds * 1000)


def _size_class(size: int) -> int:
    return max(_SMALLEST, 1 << (size - 1).bit_length())


def _malformed() -> NoReturn:
    msg = "a letter is malformed"
    raise InvalidDataError(msg, "Ask for it again.")
