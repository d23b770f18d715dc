"""The boundary, and the plainest way."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class Protection(Enum):
    """What keeps whoever holds the disk from the keys on it."""

    FILE = "file"
    """The file's mode alone: nothing, once the disk is in other hands."""
    PASSPHRASE = "passphrase"  # noqa: S105  # the name of a way
    """What its owner knows."""
    KEYRING = "keyring"
    """What the system's keyring keeps: as good as the keyring's own protection."""


class KeyVault(Protocol):
    """Turns the content of a key file into what the disk holds, and back."""

    def protect(self, content: bytes) -> bytes:
        """What to write; raises `HomingError` where the means of protection cannot be had."""
        ...

    def reveal(self, stored: bytes) -> bytes:
        """The content of a stored file.

        Raises:
            RefusedError: the passphrase is wrong or missing.
            IntegrityError: the file is damaged.
            UnavailableError: the keyring cannot be reached.
        """
        ...


class FileMode:
    """Protected by the file's mode alone (0600 in 0700): whoever holds the disk has the key."""

    def protect(self, content: bytes) -> bytes:
        """As it is."""
        return content

    def reveal(self, stored: bytes) -> bytes:
        """As it is."""
        return stored
