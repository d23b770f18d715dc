"""Protected by a random key that the system's keyring keeps (the `keyring` library, an extra)."""

from __future__ import annotations

import base64
import secrets
from typing import TYPE_CHECKING, Final, Protocol

from homing_core.errors import IntegrityError, RefusedError, UnavailableError

from homing_crypto.vault.base import Protection
from homing_crypto.vault.envelope import KEY_BYTES, read_envelope, seal

if TYPE_CHECKING:
    from types import ModuleType

SERVICE: Final = "homing"
"""Under this name the keyring shows what Homing keeps in it."""
_ENTRY_BYTES: Final = 8
_SECURE_PRIORITY: Final = 1
"""The library's own measure: what is below keeps passwords in the clear, or nowhere."""
_ELSE: Final = "Use a passphrase instead: keys protect --with passphrase"


class KeyKeeper(Protocol):
    """A keyring, as far as it is used here."""

    def get(self, entry: str) -> bytes | None:
        """The key under this name, or None; raises `UnavailableError` if it cannot be reached."""
        ...

    def put(self, entry: str, key: bytes) -> None:
        """Keep a key; raises `UnavailableError` if it cannot be kept."""
        ...


class SystemKeyring:
    """The keyring of the system: Secret Service, KWallet, the macOS Keychain."""

    def get(self, entry: str) -> bytes | None:
        """See `KeyKeeper.get`."""
        library = _library()
        try:
            text = library.get_password(SERVICE, entry)
        except Exception as error:  # backends raise what they like
            raise _unreachable() from error
        if text is None:
            return None
        try:
            key = base64.b64decode(text, validate=True)
        except ValueError:
            key = b""
        if len(key) != KEY_BYTES:
            msg = f"what the keyring keeps for Homing under {entry} is no key"
            raise IntegrityError(msg, "Restore the keyring from a backup.")
        return key

    def put(self, entry: str, key: bytes) -> None:
        """See `KeyKeeper.put`."""
        library = _library()
        try:
            library.set_password(SERVICE, entry, base64.b64encode(key).decode("ascii"))
        except Exception as error:  # as above
            raise _unreachable() from error


class KeyringVault:
    """A `KeyVault` whose key lies in a keyring, under a name that the file says.

    A key that the keyring has is never replaced: a new entry gets a new name.

    Args:
        keeper: the keyring; None is the system's.
    """

    def __init__(self, keeper: KeyKeeper | None = None) -> None:
        """Touch nothing yet."""
        self._keeper: Final = keeper or SystemKeyring()
        self._entry = ""
        self._keys: Final[dict[str, bytes]] = {}

    def protect(self, content: bytes) -> bytes:
        """Seal it under the key of the files that were opened, or else under a fresh one.

        Raises:
            UnavailableError: the keyring cannot be reached, or does not keep what it is given.
        """
        if not self._entry:
            self._entry = self._new_entry()
        fields = {"entry": self._entry}
        return seal(content, self._keys[self._entry], Protection.KEYRING, fields)

    def reveal(self, stored: bytes) -> bytes:
        """Open it.

        Raises:
            RefusedError: the keyring has no key for it.
            IntegrityError: it is damaged, or not protected by a keyring.
            UnavailableError: the keyring cannot be reached.
        """
        envelope = read_envelope(stored)
        if envelope is None or envelope.protection is not Protection.KEYRING:
            msg = "a file of keys is not protected by the keyring"
            raise IntegrityError(msg, "Somebody may have exchanged it: restore it from a backup.")
        entry = envelope.text("entry")
        if len(entry) != _ENTRY_BYTES * 2 or not entry.isalnum() or not entry.isascii():
            msg = "a file of keys names an impossible entry of the keyring"
            raise IntegrityError(msg, "Restore it from a backup.")
        key = self._keys.get(entry) or self._keeper.get(entry)
        if key is None:
            msg = f"the keyring has no key {entry} for these files"
            hint = "It stays in the keyring of the account that made it: use that one."
            raise RefusedError(msg, hint)
        content = envelope.open(key)
        if content is None:
            msg = "a file of keys does not fit its key in the keyring"
            raise IntegrityError(msg, "Restore both from a backup.")
        self._keys[entry] = key
        self._entry = self._entry or entry
        return content

    def _new_entry(self) -> str:
        entry, key = secrets.token_hex(_ENTRY_BYTES), secrets.token_bytes(KEY_BYTES)
        self._keeper.put(entry, key)
        if self._keeper.get(entry) != key:  # before anything depends on it
            msg = "the keyring does not keep what it is given"
            raise UnavailableError(msg, _ELSE)
        self._keys[entry] = key
        return entry


def _library() -> ModuleType:
    try:
        import keyring  # noqa: PLC0415  # an extra, and slow to import
    except ImportError as error:
        msg = "the keyring library is not installed"
        hint = f"Install it: pip install 'homing[keyring]'. {_ELSE}"
        raise UnavailableError(msg, hint) from error
    try:
        secure = keyring.get_keyring().priority >= _SECURE_PRIORITY
    except Exception as error:  # as above
        raise _unreachable() from error
    if not secure:
        msg = "this system has no keyring that keeps keys safe"
        raise UnavailableError(msg, f"Start the desktop's keyring. {_ELSE}")
    return keyring


def _unreachable() -> UnavailableError:
    msg = "the keyring cannot be reached, or is locked"
    return UnavailableError(msg, f"Unlock it: it belongs to your session. {_ELSE}")
