"""What a job is about, encrypted under the job's own key: destroy that, and all of it is gone.

AES-256-GCM (NIST SP 800-38D) with a random nonce of 12 bytes before each ciphertext. A key is made
for one job and used by whichever daemon has it, so nonces cannot be counted; random ones are safe
for 2^32 seals under one key, and a job makes thousands. The associated data is account, job and
purpose: a piece opens only as what it is, of the job it belongs to.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from homing_core.canonical import canonical_json
from homing_core.errors import IntegrityError

if TYPE_CHECKING:
    from homing_node.jobs.store import JobKey

DATA_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_CONTEXT: Final = "homing job v1"
_NAMES: Final = b"homing job v1 names"


def new_data_key() -> bytes:
    """A key for one job."""
    return secrets.token_bytes(DATA_KEY_BYTES)


class JobCipher:
    """Seals and opens what belongs to one job.

    Args:
        key: the job.
        data_key: its own key, `DATA_KEY_BYTES` bytes.

    Raises:
        IntegrityError: that is no key.
    """

    def __init__(self, key: JobKey, data_key: bytes) -> None:
        """Take the key."""
        if len(data_key) != DATA_KEY_BYTES:
            msg = "the job's key is damaged"
            raise IntegrityError(msg, "The job cannot go on: hand it in again.")
        self._key = key
        self._data_key = data_key
        self._aead = AESGCM(data_key)

    def seal(self, purpose: str, plain: bytes) -> bytes:
        """Encrypt.

        Args:
            purpose: what it is, such as `payload` or `note/cursor`; it opens as nothing else.
            plain: the content.
        """
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, plain, self._bound(purpose))

    def open(self, purpose: str, blob: bytes) -> bytes:
        """Decrypt; raises `IntegrityError` if it was altered, or is something else."""
        nonce, sealed = blob[:_NONCE_BYTES], blob[_NONCE_BYTES:]
        try:
            return self._aead.decrypt(nonce, sealed, self._bound(purpose))
        except (InvalidTag, ValueError) as error:  # the second where it is too short
            msg = "what is kept of this job was altered"
            raise IntegrityError(msg, "The job cannot go on: hand it in again.") from error

    def label(self, name: str) -> str:
        """A stand-in for a name, to look it up by: HMAC-SHA256 under a key of its own, hex.

        Without the job's key nobody can tell whether a guessed name is the one.
        """
        key = HKDFExpand(SHA256(), 32, _NAMES).derive(self._data_key)
        return hmac.new(key, name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def _bound(self, purpose: str) -> bytes:
        return canonical_json([_CONTEXT, self._key.account, self._key.id, purpose])
