"""Files that only their owner may read, written so that a kill at any moment loses nothing."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
from typing import TYPE_CHECKING

from homing_core.errors import ConfigError, InvalidDataError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_ANY_ACCESS = 0o077
_WRITING = 0o022
_TEMPORARY_SUFFIX = ".partial"


def ensure_folder(folder: Path, *, private: bool) -> None:
    """Make `folder` with mode 0700, or check the one that is there.

    Args:
        folder: the folder.
        private: whether others must not even read in it; otherwise, not write.

    Raises:
        ConfigError: it is not a folder, belongs to another user, or others may enter or write.
        UnavailableError: it cannot be made or looked at.
    """
    with _plain_errors(folder):
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            _sync_folder(folder.parent)
        facts = folder.stat()
    if not stat.S_ISDIR(facts.st_mode):
        msg = f"{folder} is not a folder"
        raise ConfigError(msg, "Move it away, or choose another data directory.")
    if facts.st_uid not in {0, os.geteuid()}:
        raise _foreign(folder)
    if facts.st_mode & (_ANY_ACCESS if private else _WRITING):
        raise _open(folder, "700")


def check_private_file(facts: os.stat_result, path: Path) -> None:
    """Check that a file is an ordinary one, ours, and closed to others.

    Raises:
        ConfigError: it is not.
    """
    if not stat.S_ISREG(facts.st_mode):
        msg = f"{path} is not a file"
        raise ConfigError(msg, "Move it away, or choose another data directory.")
    if facts.st_uid != os.geteuid():
        raise _foreign(path)
    if facts.st_mode & _ANY_ACCESS:
        raise _open(path, "600")


def read_private(path: Path, max_bytes: int) -> bytes | None:
    """The file's content, or None if there is no such file.

    Raises:
        ConfigError: it is not a private file of ours.
        InvalidDataError: it is longer than `max_bytes`.
        UnavailableError: it cannot be read.
    """
    with _plain_errors(path):
        try:
            # Without O_NONBLOCK, a pipe put in its place would stop us here for ever.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        with os.fdopen(handle, "rb") as file:
            check_private_file(os.fstat(handle), path)
            content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        msg = f"{path} is longer than it can be"
        raise InvalidDataError(msg, "Restore it from a backup.")
    return content


def write_private(path: Path, content: bytes) -> None:
    """Put `content` at `path` as a whole and durably: afterwards it survives a power cut.

    Raises:
        UnavailableError: it cannot be written; what was there before is untouched.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{_TEMPORARY_SUFFIX}")
    with _plain_errors(path):
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(handle)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def remove_leftovers(path: Path) -> None:
    """Delete what an interrupted `write_private(path, …)` left; the caller holds the lock."""
    with _plain_errors(path):
        for leftover in path.parent.glob(f".{path.name}.*{_TEMPORARY_SUFFIX}"):
            leftover.unlink(missing_ok=True)


@contextlib.contextmanager
def locked_folder(folder: Path) -> Generator[None]:
    """Hold the folder alone among Homing's processes; waits for its turn.

    Raises:
        UnavailableError: it cannot be locked.
    """
    with _plain_errors(folder):
        handle = os.open(folder, os.O_RDONLY)
    try:
        with _plain_errors(folder):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # also unlocks


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _plain_errors(path: Path) -> Generator[None]:
    try:
        yield
    except PermissionError as error:
        msg = f"no permission for {path}"
        raise ConfigError(msg, "Check who owns it and its folder.") from error
    except OSError as error:
        msg = f"cannot use {path}: {error.strerror or 'input/output error'}"
        raise UnavailableError(msg, "Check the disk's free space and health.") from error


def _foreign(path: Path) -> ConfigError:
    msg = f"{path} belongs to another user"
    return ConfigError(msg, "Run Homing as its owner, or choose another data directory.")


def _open(path: Path, mode: str) -> ConfigError:
    msg = f"{path} is open to other users of this computer"
    return ConfigError(msg, f"Close it: chmod {mode} '{path}'")
