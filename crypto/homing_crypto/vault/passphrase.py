"""Protected by a passphrase: Argon2id (RFC 9106) makes the key, slowly and with much memory."""

from __future__ import annotations

import base64
import secrets
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from homing_core.errors import IntegrityError, RefusedError, UnavailableError, UsageError

from homing_crypto.vault.base import Protection
from homing_crypto.vault.envelope import KEY_BYTES, read_envelope, seal

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue

    from homing_crypto.vault.envelope import Envelope

SHORTEST_PASSPHRASE: Final = 8
"""Characters. Fewer are guessed quickly, whatever the memory that each guess takes."""
LONGEST_PASSPHRASE: Final = 1024
_SALT_BYTES: Final = 16
_MOST_MEMORY_KIB: Final = 256 * 1024
_LEAST_MEMORY_KIB: Final = 1024
_MOST_PASSES: Final = 10
_MOST_LANES: Final = 8


@dataclass(frozen=True, slots=True)
class Cost:
    """What each guess takes; the default is RFC 9106's second recommendation, for less memory.

    It is written into each file, so a later version can ask for more. A hostile file can ask for
    256 MiB and 10 passes at most: about a second.

    Attributes:
        memory_kib: memory, in KiB.
        passes: over that memory.
        lanes: that can be computed side by side.
    """

    memory_kib: int = 64 * 1024
    passes: int = 3
    lanes: int = 4


class PassphraseVault:
    """A `KeyVault` whose key is made of a passphrase and each file's own random salt.

    Args:
        passphrase: as its owner typed it; kept in memory as long as the vault is.
        cost: for files that are written; those that are read say theirs.

    Raises:
        UsageError: it is too short or too long, or no text.
    """

    def __init__(self, passphrase: str, cost: Cost | None = None) -> None:
        """Check the passphrase."""
        self._passphrase: Final = passphrase_bytes(passphrase)
        self._cost: Final = cost or Cost()

    def protect(self, content: bytes) -> bytes:
        """Seal it under a key from a fresh salt."""
        salt, cost = secrets.token_bytes(_SALT_BYTES), self._cost
        fields: dict[str, JsonValue] = {
            "memory_kib": cost.memory_kib,
            "passes": cost.passes,
            "lanes": cost.lanes,
            "salt": base64.b64encode(salt).decode("ascii"),
        }
        return seal(content, self._key(salt, cost), Protection.PASSPHRASE, fields)

    def reveal(self, stored: bytes) -> bytes:
        """Open it.

        Raises:
            RefusedError: it has another passphrase.
            IntegrityError: it is damaged, or not protected by a passphrase.
            UnavailableError: there is not enough memory.
        """
        envelope = read_envelope(stored)
        if envelope is None or envelope.protection is not Protection.PASSPHRASE:
            msg = "a file of keys is not protected by a passphrase"
            raise IntegrityError(msg, "Somebody may have exchanged it: restore it from a backup.")
        cost = _cost_of(envelope)
        content = envelope.open(self._key(envelope.raw("salt", _SALT_BYTES), cost))
        if content is None:
            msg = "that is not the passphrase of these keys"
            raise RefusedError(msg, "Try again. Nobody can open them without it.")
        return content

    def _key(self, salt: bytes, cost: Cost) -> bytes:
        try:
            return Argon2id(
                salt=salt,
                length=KEY_BYTES,
                iterations=cost.passes,
                lanes=cost.lanes,
                memory_cost=cost.memory_kib,
            ).derive(self._passphrase)
        except MemoryError as error:
            msg = f"a passphrase takes {cost.memory_kib // 1024} MiB of memory to check"
            raise UnavailableError(msg, "Make room, and try again.") from error


def passphrase_bytes(passphrase: str) -> bytes:
    """The passphrase in the form that counts: Unicode NFC, UTF-8, so that keyboards agree.

    Raises:
        UsageError: it is too short or too long, or no text.
    """
    if not SHORTEST_PASSPHRASE <= len(passphrase) <= LONGEST_PASSPHRASE:
        msg = f"a passphrase has {SHORTEST_PASSPHRASE} to {LONGEST_PASSPHRASE} characters"
        raise UsageError(msg, "A new one is good with four or more words, chosen by chance.")
    try:
        return unicodedata.normalize("NFC", passphrase).encode()
    except UnicodeEncodeError as error:
        msg = "the passphrase is not text"
        raise UsageError(msg, "Write it in UTF-8.") from error


def _cost_of(envelope: Envelope) -> Cost:
    cost = Cost(envelope.number("memory_kib"), envelope.number("passes"), envelope.number("lanes"))
    if not (
        _LEAST_MEMORY_KIB <= cost.memory_kib <= _MOST_MEMORY_KIB
        and 1 <= cost.passes <= _MOST_PASSES
        and 1 <= cost.lanes <= _MOST_LANES
    ):
        msg = "a file of keys asks for more memory or time than Homing gives, or for too little"
        raise IntegrityError(msg, "Restore it from a backup.")
    return cost
