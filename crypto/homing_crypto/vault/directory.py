"""Opens whatever way a data directory's keys are protected, and writes in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import RefusedError

from homing_crypto.vault.base import FileMode, KeyVault, Protection
from homing_crypto.vault.envelope import protection_of
from homing_crypto.vault.keyring import KeyringVault
from homing_crypto.vault.passphrase import PassphraseVault

if TYPE_CHECKING:
    from homing_crypto.vault.keyring import KeyKeeper


class DirectoryVault:
    """A `KeyVault` that needs no setting: each file says how it is opened.

    What is written is protected as the first file that was opened and has more than its mode to
    protect it; so a change of protection that was cut short never weakens a file.

    Args:
        passphrase: what its owner typed; None if nobody was asked.
        keeper: the keyring; None is the system's.

    Raises:
        UsageError: no passphrase can be like this.
    """

    def __init__(self, passphrase: str | None = None, keeper: KeyKeeper | None = None) -> None:
        """Open nothing yet."""
        self._ways: Final[dict[Protection, KeyVault]] = {
            Protection.FILE: FileMode(),
            Protection.KEYRING: KeyringVault(keeper),
        }
        if passphrase is not None:
            self._ways[Protection.PASSPHRASE] = PassphraseVault(passphrase)
        self._protection = Protection.FILE

    @property
    def protection(self) -> Protection:
        """How what is written is protected."""
        return self._protection

    def protect(self, content: bytes) -> bytes:
        """See `KeyVault.protect`."""
        return self._ways[self._protection].protect(content)

    def reveal(self, stored: bytes) -> bytes:
        """See `KeyVault.reveal`."""
        found = protection_of(stored)
        if found not in self._ways:
            msg = "the keys are protected by a passphrase, and none was given"
            raise RefusedError(msg, "Start it on a terminal, or see docs/keys.md.")
        content = self._ways[found].reveal(stored)
        if self._protection is Protection.FILE:
            self._protection = found
        return content
