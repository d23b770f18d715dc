"""STREAM over ChaCha20-Poly1305 in chunks of 64 KiB, byte for byte as age's payload.

The construction is Hoang, Reyhanitabar, Rogaway and Vizár, "Online Authenticated-Encryption and its
Nonce-Reuse Misuse-Resistance" (CRYPTO 2015), in the form of the age specification (C2SP `age`,
"Payload"): the nonce of a chunk is its number (11 bytes, most significant first, from 0) and one
byte that is 1 for the last chunk and 0 otherwise. So chunks that were left out, moved, repeated,
appended or cut off at the end do not open.

Why no nonce is used twice: the key is random and made for one stream, which is sealed once. Chunk
numbers only go up, and the last byte sets the last one apart from a middle one of its number.
"""

from __future__ import annotations

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from homing_core.errors import IntegrityError

CHUNK_BYTES: Final = 64 * 1024
"""Of plain text; the last chunk may be shorter, but not empty unless the whole is."""
TAG_BYTES: Final = 16
KEY_BYTES: Final = 32
SEALED_CHUNK_BYTES: Final = CHUNK_BYTES + TAG_BYTES


def sealed_size(plain_bytes: int) -> int:
    """Length of the ciphertext of so many bytes."""
    return plain_bytes + TAG_BYTES * max(1, -(-plain_bytes // CHUNK_BYTES))


def plain_size(sealed_bytes: int) -> int | None:
    """Length of what a ciphertext holds; None if no ciphertext is so long."""
    count, rest = divmod(sealed_bytes, SEALED_CHUNK_BYTES)
    if rest:
        plain = count * CHUNK_BYTES + rest - TAG_BYTES
        return plain if rest > TAG_BYTES or (count == 0 and rest == TAG_BYTES) else None
    return count * CHUNK_BYTES if count else None


class ChunkSealer:
    """Seals one stream, chunk by chunk.

    Args:
        key: fresh, `KEY_BYTES` random bytes, of this stream alone.
    """

    def __init__(self, key: bytes) -> None:
        """Start at chunk 0."""
        self._aead = ChaCha20Poly1305(key)
        self._number = 0

    def seal(self, plain: bytes, *, last: bool) -> bytes:
        """The next chunk; all but the last have `CHUNK_BYTES`."""
        nonce = _nonce(self._number, last=last)
        self._number += 1
        return self._aead.encrypt(nonce, plain, None)


class ChunkOpener:
    """Opens one stream, chunk by chunk.

    Args:
        key: of the stream.
    """

    def __init__(self, key: bytes) -> None:
        """Start at chunk 0."""
        self._aead = ChaCha20Poly1305(key)
        self._number = 0

    def open(self, sealed: bytes, *, last: bool) -> bytes:
        """The next chunk; raises `IntegrityError` if it is not that."""
        try:
            plain = self._aead.decrypt(_nonce(self._number, last=last), sealed, None)
        except InvalidTag as error:
            msg = "a piece of the result was altered, is missing or in the wrong place"
            raise IntegrityError(msg, "Fetch it again.") from error
        self._number += 1
        return plain


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11) + bytes([last])
