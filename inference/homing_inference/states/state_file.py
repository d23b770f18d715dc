"""The form of a saved prefix: what it belongs to, and a mark that only this computer can make.

    bytes   what
    8       `HOMINGPX`
    4       version of this form
    4       number of tokens
    8       bytes of state
    32      key: SHA-256 of model file, build, adapter and tokens
    32      SHA-256 of the prefix's text
    32      BLAKE2b of all the rest under a secret key
    4 each  tokens
            state

All numbers are little-endian. A state goes to native code that believes it, so nothing of a file is
used before the whole of it has proved to be written under the secret, for this key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
import sys
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_inference.states.prefixes import Prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAGIC: Final = b"HOMINGPX"
_VERSION: Final = 1
_FIELDS: Final = struct.Struct("<8sIIQ32s32s")
_MARK_BYTES: Final = 32
_PERSON: Final = b"homing prefix"
_TOKEN_BYTES: Final = 4
HEADER_BYTES: Final = _FIELDS.size + _MARK_BYTES
SECRET_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class StateHeader:
    """The beginning of a file, not yet proved.

    Attributes:
        fields: as written, without the mark.
        mark: as written.
        token_bytes: that follow.
        state_bytes: that follow these.
        text_sha256: of the prefix's text.
    """

    fields: bytes
    mark: bytes
    token_bytes: int
    state_bytes: int
    text_sha256: bytes


def prefix_key(
    tokens: Sequence[int], *, model_sha256: str, fingerprint: str, adapter_sha256: str
) -> bytes:
    """What a prefix's state depends on, in 32 bytes.

    Args:
        tokens: of the prefix.
        model_sha256: of the model's file.
        fingerprint: of the build and the context; see `Sequences.fingerprint`.
        adapter_sha256: of the adapter's file; empty for none.
    """
    parts = json.dumps([_VERSION, model_sha256, fingerprint, adapter_sha256]).encode()
    return hashlib.sha256(parts + b"\0" + _token_bytes(tokens)).digest()


def encode(prefix: Prefix, key: bytes, secret: bytes) -> tuple[bytes, bytes]:
    """The file of a prefix: this, then its state."""
    tokens = _token_bytes(prefix.tokens)
    fields = _FIELDS.pack(
        _MAGIC,
        _VERSION,
        len(prefix.tokens),
        len(prefix.state),
        key,
        bytes.fromhex(prefix.sha256),
    )
    mark = _mark(secret, fields, tokens, prefix.state)
    return fields + mark + tokens, prefix.state


def read_header(data: bytes, key: bytes, file_bytes: int) -> StateHeader | None:
    """The header of a file that claims to be for this key; None if it is of no use.

    Args:
        data: the file's first `HEADER_BYTES`.
        key: wanted.
        file_bytes: size of the whole file; what the header says of sizes must fit it.
    """
    if len(data) != HEADER_BYTES:
        return None
    fields, mark = data[: _FIELDS.size], data[_FIELDS.size :]
    magic, version, count, state_bytes, found, text_sha256 = _FIELDS.unpack(fields)
    if (magic, version, found) != (_MAGIC, _VERSION, key):
        return None
    token_bytes = count * _TOKEN_BYTES
    if HEADER_BYTES + token_bytes + state_bytes != file_bytes:
        return None
    return StateHeader(fields, mark, token_bytes, state_bytes, text_sha256)


def decode(header: StateHeader, tokens: bytes, state: bytes, secret: bytes) -> Prefix | None:
    """The prefix, if header, tokens and state are what was written under the secret."""
    if not hmac.compare_digest(header.mark, _mark(secret, header.fields, tokens, state)):
        return None
    return Prefix(_from_bytes(tokens), header.text_sha256.hex(), state)


def _mark(secret: bytes, fields: bytes, tokens: bytes, state: bytes) -> bytes:
    mark = hashlib.blake2b(key=secret, person=_PERSON, digest_size=_MARK_BYTES)
    for part in (fields, tokens, state):
        mark.update(part)
    return mark.digest()


def _token_bytes(tokens: Sequence[int]) -> bytes:
    numbers = array("i", tokens)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _from_bytes(data: bytes) -> tuple[int, ...]:
    numbers = array("i", data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return tuple(numbers)
