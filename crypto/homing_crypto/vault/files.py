"""Which files of a data directory are keys, and changing how they are protected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import IntegrityError, NotFoundError

from homing_crypto.private_files import (
    locked_folder,
    read_private,
    remove_leftovers,
    write_private,
)
from homing_crypto.vault.envelope import protection_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from homing_crypto.vault.base import KeyVault, Protection

MAX_KEY_FILE_BYTES: Final = 64 * 1024
KEY_FILES: Final = ("identity*.json",)
"""Names of files of keys. Everything else is no secret, or is worth nothing without these."""


def key_files(folder: Path) -> tuple[Path, ...]:
    """The files of keys in a folder, by name."""
    found = {path for pattern in KEY_FILES for path in folder.glob(pattern)}
    return tuple(sorted(found))


def protections(files: Iterable[Path]) -> dict[Path, Protection]:
    """How each file is protected; opens none of them.

    Raises:
        IntegrityError: one is damaged.
        ConfigError: one is open to others, or belongs to somebody else.
    """
    return {path: protection_of(read_key_file(path)) for path in files}


def protect_again(path: Path, opened_by: KeyVault, closed_by: KeyVault) -> None:
    """Protect a file in another way. A kill at any moment leaves the old or the new file, whole.

    The new form is opened once, as it would be later, before it takes the old one's place.

    Args:
        path: the file.
        opened_by: opens it as it is.
        closed_by: what is to protect it from here on.

    Raises:
        RefusedError: the passphrase is wrong or missing; the file stays as it is.
        IntegrityError: it is damaged; it stays as it is.
        UnavailableError: the disk or the keyring does not let us; it stays as it is.
    """
    with locked_folder(path.parent):
        remove_leftovers(path)  # an interrupted write may have left the key in the clear
        content = opened_by.reveal(read_key_file(path))
        stored = closed_by.protect(content)
        if closed_by.reveal(stored) != content:
            msg = "the protected form cannot be opened again"
            raise IntegrityError(msg, "Nothing was changed. Check this machine's memory.")
        write_private(path, stored)


def protect_all(
    files: Iterable[Path],
    opened_by: KeyVault,
    closed_by: Callable[[], KeyVault],
) -> tuple[Path, ...]:
    """Protect all of them in another way; a kill in between leaves some in the old one.

    Every file is opened before the first one is changed, so that a wrong passphrase changes none.

    Args:
        files: to be protected.
        opened_by: opens them as they are.
        closed_by: makes what is to protect them; not called if there is nothing that opens.

    Returns:
        What was changed.

    Raises:
        HomingError: as `protect_again`.
    """
    found = tuple(files)
    for path in found:
        opened_by.reveal(read_key_file(path))
    vault = closed_by()
    for path in found:
        protect_again(path, opened_by, vault)
    return found


def read_key_file(path: Path) -> bytes:
    """A file of keys as it lies on the disk; raises `NotFoundError` and as `read_private`."""
    stored = read_private(path, MAX_KEY_FILE_BYTES)
    if stored is None:
        msg = f"{path} is not there"
        raise NotFoundError(msg, "Start the program once: it makes its keys.")
    return stored
