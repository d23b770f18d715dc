"""Opening below a folder so that no link, and nobody who swaps a name meanwhile, leads outside.

Every part of a path is opened in the folder opened before it, unfollowed (openat with O_NOFOLLOW),
so the path that was looked at and the one that is opened cannot be two. A file is only opened if it
is a regular one: opening a device or a pipe may already do something, or wait for ever.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class NoFileError(OSError):
    """There is no regular file there."""


def open_folder(root: Path, parts: Sequence[str | bytes]) -> int:
    """A descriptor of a folder below `root`; raises `OSError`."""
    descriptor = os.open(root, _FOLDER)
    for part in parts:
        try:
            _check_name(os.fsencode(part))
            following = os.open(part, _FOLDER, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = following
    return descriptor


def enter(folder: int, name: str | bytes) -> int:
    """A descriptor of a folder in an open one; raises `OSError`."""
    return os.open(name, _FOLDER, dir_fd=folder)


def open_file(root: Path, relative: bytes) -> int:
    """A descriptor of a regular file below `root`, for reading.

    Raises:
        NoFileError: something else is there.
        OSError: it is not there, or the system refuses it.
    """
    *parents, name = relative.split(b"/")
    folder = open_folder(root, parents)
    try:
        _check_name(name)
        _check(os.stat(name, dir_fd=folder, follow_symlinks=False))
        descriptor = os.open(name, _FILE, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _check(os.fstat(descriptor))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_folder(root: Path, parts: Sequence[str]) -> bool:
    """Whether there is a folder, reached without a link."""
    with contextlib.suppress(OSError, ValueError):
        os.close(open_folder(root, parts))
        return True
    return False


def _check_name(part: bytes) -> None:
    if part in {b"", b".", b".."} or b"/" in part:
        raise NoFileError


def _check(found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise NoFileError
