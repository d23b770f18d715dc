"""A device's keys over time: the one it uses, and the earlier ones that others may still know.

A new key is a new device id, so it takes a while until everybody who knew the old one knows the
new one. Meanwhile both are kept, in one file (`homing_crypto.identity_file`). What is retired here
is destroyed: it is in no file any more.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError
from homing_core.keys import KeyProtection

from homing_crypto.identity import DeviceIdentity
from homing_crypto.identity_file import (
    MAX_EARLIER_KEYS,
    EarlierKey,
    StoredKeys,
    change_keys,
    load_keys,
)
from homing_crypto.vault.directory import DirectoryVault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId

    from homing_crypto.vault import KeyVault


class KeyRing:
    """The keys of one device, in memory and on disk. Safe to use from any thread.

    Args:
        folder: the data directory.
        clock: for when keys were made and replaced.
        vault: how the file is protected; None is by its mode alone.

    Raises:
        HomingError: as `DeviceIdentity.load_or_create`.
    """

    def __init__(self, folder: Path, clock: Clock, vault: KeyVault | None = None) -> None:
        """Load what is there, or make the first key."""
        self._folder = folder
        self._clock = clock
        self._vault = vault
        self._lock = threading.Lock()
        self._keys = load_keys(folder, clock, vault)

    @property
    def current(self) -> DeviceIdentity:
        """Who this device is."""
        return self._keys.current

    @property
    def protection(self) -> KeyProtection:
        """How the file is protected on disk."""
        if isinstance(self._vault, DirectoryVault):
            return KeyProtection(self._vault.protection.value)
        return KeyProtection.UNKNOWN if self._vault else KeyProtection.FILE

    @property
    def earlier(self) -> tuple[EarlierKey, ...]:
        """Who it was, newest first."""
        return self._keys.earlier

    @property
    def identities(self) -> tuple[DeviceIdentity, ...]:
        """Every key that works, the current one first."""
        keys = self._keys
        return (keys.current, *(key.identity for key in keys.earlier))

    def get(self, device_id: str) -> DeviceIdentity | None:
        """The key with this id; None if it is not, or no longer, here."""
        return next((one for one in self.identities if one.device_id == device_id), None)

    def begin_rotation(self) -> DeviceIdentity:
        """Make a new key the current one; the old one becomes an earlier one. Both or neither.

        Raises:
            ConflictError: too many earlier keys are still needed.
            UnavailableError: the disk does not let us; nothing has changed.
        """
        fresh = DeviceIdentity.generate(self._clock)
        now = self._clock.now()

        def change(keys: StoredKeys) -> StoredKeys:
            if len(keys.earlier) >= MAX_EARLIER_KEYS:
                msg = "too many earlier keys are still in use"
                hint = "Wait until the others know the present one, or forget those who are gone."
                raise ConflictError(msg, hint)
            return StoredKeys(fresh, (EarlierKey(keys.current, now), *keys.earlier))

        return self._change(change).current

    def retire(self, device_id: DeviceId) -> None:
        """Destroy an earlier key; harmless twice. The current one stays, whatever is asked.

        Raises:
            UnavailableError: the disk does not let us; nothing has changed.
        """
        self._change(
            lambda keys: replace(
                keys,
                earlier=tuple(key for key in keys.earlier if key.identity.device_id != device_id),
            )
        )

    def _change(self, change: Callable[[StoredKeys], StoredKeys]) -> StoredKeys:
        with self._lock:
            self._keys = change_keys(self._folder, change, self._vault)
            return self._keys
