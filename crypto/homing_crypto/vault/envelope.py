"""The form of a protected file: one JSON object that says itself how it is opened.

    homing_vault  1, the version of this form; always the first, by which the form is recognised
    protection    `passphrase` or `keyring`
    …             what that way needs to find its key (`passphrase`, `keyring`)
    nonce         12 random bytes, base64
    sealed        the content under ChaCha20-Poly1305 (RFC 8439), base64, tag at the end
    checksum      SHA-256 of header and sealed bytes, hex

Everything but `sealed` and `checksum` is the header; its canonical form is the associated data, so
that nothing of it can be changed unnoticed. The checksum is no protection: it tells a damaged disk
from a wrong passphrase, which look alike to the cipher.

A key seals few contents in its life (a passphrase gives a fresh one each time, since each file has
its own salt; a keyring's is used for a handful of files), so random nonces do not repeat.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from homing_core.canonical import JsonValue, canonical_json
from homing_core.errors import IntegrityError, InvalidDataError

from homing_crypto.vault.base import Protection

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY_BYTES: Final = 32
_VERSION: Final = 1
_START: Final = b'{"homing_vault":'
_NONCE_BYTES: Final = 12
_MOST_BYTES: Final = 256 * 1024
_OUTSIDE: Final = {"sealed", "checksum"}
_RESTORE: Final = "Restore it from a backup."


@dataclass(frozen=True, slots=True)
class Envelope:
    """A protected file, read but not opened.

    Attributes:
        protection: how it is opened.
        header: all fields but `sealed` and `checksum`, not yet believed.
        nonce: of the sealed bytes.
        sealed: the content, under a key.
    """

    protection: Protection
    header: Mapping[str, JsonValue]
    nonce: bytes
    sealed: bytes

    def text(self, name: str) -> str:
        """A field of the header that is a text; raises `IntegrityError` if it is none."""
        value = self.header.get(name)
        if not isinstance(value, str):
            raise _damaged()
        return value

    def number(self, name: str) -> int:
        """A field of the header that is a whole number; raises `IntegrityError` if it is none."""
        value = self.header.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise _damaged()
        return value

    def raw(self, name: str, size: int) -> bytes:
        """A field that is so many bytes in base64; raises `IntegrityError` if it is not."""
        found = _decoded(self.header.get(name))
        if len(found) != size:
            raise _damaged()
        return found

    def open(self, key: bytes) -> bytes | None:
        """The content, or None if it was not sealed under this key with this header."""
        try:
            return ChaCha20Poly1305(key).decrypt(self.nonce, self.sealed, _bound(self.header))
        except InvalidTag:
            return None


def seal(
    content: bytes, key: bytes, protection: Protection, fields: Mapping[str, JsonValue]
) -> bytes:
    """A protected file, as the disk is to hold it.

    Args:
        content: what to protect.
        key: `KEY_BYTES` bytes.
        protection: how it will be opened.
        fields: what that way needs to find the key again.

    Raises:
        InvalidDataError: the content is far larger than keys are.
    """
    if len(content) > _MOST_BYTES // 2:
        msg = "that is too large for a file of keys"
        raise InvalidDataError(msg)
    nonce = secrets.token_bytes(_NONCE_BYTES)
    header: dict[str, JsonValue] = {
        "homing_vault": _VERSION,
        "protection": protection.value,
        **fields,
        "nonce": _encoded(nonce),
    }
    bound = _bound(header)
    sealed = ChaCha20Poly1305(key).encrypt(nonce, content, bound)
    whole = {**header, "sealed": _encoded(sealed), "checksum": _checksum(bound, sealed)}
    return json.dumps(whole, ensure_ascii=True).encode("ascii") + b"\n"


def read_envelope(stored: bytes) -> Envelope | None:
    """A file's envelope, or None if it is not in one: then its mode alone protects it.

    Raises:
        IntegrityError: it is damaged, or was written by a newer Homing.
    """
    if not stored.startswith(_START):
        return None
    fields = _fields(stored)
    version = fields.get("homing_vault")
    if type(version) is not int:  # true and 1.0 are equal to 1
        raise _damaged()
    if version > _VERSION:
        msg = "a file of keys was written by a newer Homing"
        raise IntegrityError(msg, "Update Homing.")
    header = {name: value for name, value in fields.items() if name not in _OUTSIDE}
    sealed, nonce = _decoded(fields.get("sealed")), _decoded(fields.get("nonce"))
    checksum = fields.get("checksum")
    if version != _VERSION or len(nonce) != _NONCE_BYTES:
        raise _damaged()
    if checksum != _checksum(_bound(header), sealed):
        raise _damaged()
    try:
        protection = Protection(fields.get("protection"))
    except ValueError as error:
        raise _damaged() from error
    if protection is Protection.FILE:
        raise _damaged()
    return Envelope(protection, header, nonce, sealed)


def protection_of(stored: bytes) -> Protection:
    """How a file is protected; raises `IntegrityError` if it is damaged."""
    envelope = read_envelope(stored)
    return Protection.FILE if envelope is None else envelope.protection


def _fields(stored: bytes) -> dict[str, Any]:
    if len(stored) > _MOST_BYTES:
        raise _damaged()
    try:
        found = json.loads(stored)
    except (ValueError, RecursionError) as error:
        raise _damaged() from error
    if not isinstance(found, dict):
        raise _damaged()
    return cast("dict[str, Any]", found)


def _bound(header: Mapping[str, JsonValue]) -> bytes:
    try:
        return canonical_json(header)
    except (ValueError, RecursionError) as error:  # NaN, which JSON's reader lets through
        raise _damaged() from error


def _checksum(bound: bytes, sealed: bytes) -> str:
    return hashlib.sha256(bound + b"\x00" + sealed).hexdigest()


def _damaged() -> IntegrityError:
    return IntegrityError("a file of keys is damaged", _RESTORE)


def _encoded(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _decoded(text: object) -> bytes:
    if not isinstance(text, str):
        raise _damaged()
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise _damaged() from error
    if _encoded(raw) != text:  # its last letter may have bits that say nothing
        raise _damaged()
    return raw
