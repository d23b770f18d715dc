"""The recovery secret as people write it down, and as a node keeps it. Pure, and slow on purpose.

Eight groups of four characters of Crockford's base 32, which has no I, L, O and U
(https://www.crockford.com/base32.html): seven groups are 140 random bits, the eighth is 20 bits of
their SHA-256. A slip of the pen is found before anything is sent, and one that stays unfound, with
a chance of 2^-20, is merely a wrong secret. A node keeps nothing but an Argon2id hash (RFC 9106).
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, replace
from typing import Final

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from homing_core.errors import UsageError

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SECRET_BITS: Final = 140
_CHECK_BITS: Final = 20
_GROUP: Final = 4
_GROUPS: Final = 8
_CHARS: Final = _GROUP * _GROUPS
_LONGEST: Final = 200
_MISREAD: Final = str.maketrans({"O": "0", "I": "1", "L": "1", "-": "", " ": "", "\t": ""})

SALT_BYTES: Final = 16
HASH_BYTES: Final = 32
ITERATIONS: Final = 3
LANES: Final = 4
MEMORY_KIB: Final = 64 * 1024
"""RFC 9106's second recommendation: 64 MiB; about 0.1 s on an ordinary computer."""


def new_recovery_secret() -> str:
    """A fresh one, such as `7K2M-…-9QXA`."""
    return _written(secrets.randbits(SECRET_BITS))


def read_recovery_secret(text: str) -> str:
    """What was typed, in its one form. Case, spaces, hyphens, and O, I or L do not matter.

    Raises:
        UsageError: that is no recovery secret, or a character of it is wrong.
    """
    plain = text[:_LONGEST].strip().upper().translate(_MISREAD)
    if len(plain) != _CHARS or any(char not in ALPHABET for char in plain):
        msg = f"a recovery secret has {_GROUPS} groups of {_GROUP} letters and digits"
        raise UsageError(msg, "Type it as it was written down; I, L, O and U do not occur.")
    number = 0
    for char in plain[: SECRET_BITS // 5]:
        number = number << 5 | ALPHABET.index(char)
    found = _written(number)
    if found.replace("-", "") != plain:
        msg = "a character of this recovery secret is wrong"
        raise UsageError(msg, "Compare it with what was written down.")
    return found


def _written(number: int) -> str:
    digest = hashlib.sha256(b"homing recovery secret\0" + number.to_bytes(18, "big")).digest()
    check = int.from_bytes(digest, "big") >> (len(digest) * 8 - _CHECK_BITS)
    whole = number << _CHECK_BITS | check
    plain = "".join(ALPHABET[whole >> 5 * place & 31] for place in reversed(range(_CHARS)))
    return "-".join(plain[at : at + _GROUP] for at in range(0, _CHARS, _GROUP))


@dataclass(frozen=True, slots=True)
class SecretHash:
    """What is kept of a secret.

    Attributes:
        salt: `SALT_BYTES` random bytes.
        digest: `HASH_BYTES` bytes.
        iterations: Argon2id's time cost.
        lanes: its parallelism.
        memory_kib: its memory cost, in KiB.
    """

    salt: bytes
    digest: bytes
    iterations: int = ITERATIONS
    lanes: int = LANES
    memory_kib: int = MEMORY_KIB

    @classmethod
    def of(
        cls,
        secret: str,
        iterations: int = ITERATIONS,
        lanes: int = LANES,
        memory_kib: int = MEMORY_KIB,
    ) -> SecretHash:
        """Hash a secret as `new_recovery_secret` gives it. Takes about 0.1 s."""
        made = cls(secrets.token_bytes(SALT_BYTES), b"", iterations, lanes, memory_kib)
        return replace(made, digest=made._kdf().derive(_material(secret)))

    def fits(self, secret: str) -> bool:
        """Whether it is this secret, as `read_recovery_secret` gives it. Takes about 0.1 s.

        Compared in constant time, by the library.
        """
        try:
            self._kdf().verify(_material(secret), self.digest)
        except InvalidKey:
            return False
        return True

    def _kdf(self) -> Argon2id:
        return Argon2id(
            salt=self.salt,
            length=HASH_BYTES,
            iterations=self.iterations,
            lanes=self.lanes,
            memory_cost=self.memory_kib,
        )


def _material(secret: str) -> bytes:
    return secret.replace("-", "").encode("ascii")
