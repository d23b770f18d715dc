"""Paths that a model names: they lie in the operator's folder, and stay what they were checked as.

A path is resolved, must lie in its folder, and is then opened along the resolved way without
following a link. On Linux the program is given that open file, under its name, not the path: so
whoever swaps a folder for a link between the check and the use gains nothing.
"""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError, RefusedError, UnavailableError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from pathlib import Path

_LINUX: Final = sys.platform == "linux"
_LOOK: Final = (os.O_PATH if _LINUX else os.O_RDONLY | os.O_NONBLOCK) | os.O_NOFOLLOW | os.O_CLOEXEC
_HINT: Final = "Name one that lies in the recipe's folder."


@dataclass(frozen=True, slots=True)
class Held:
    """A path that was checked, held open until `close`.

    Attributes:
        path: the resolved path, for people and for systems without `/proc`.
        descriptor: the file or folder itself, or for a new one the folder that it will lie in.
        new: whether it does not exist yet.
    """

    path: Path
    descriptor: int
    new: bool

    def close(self) -> None:
        """Let go."""
        os.close(self.descriptor)


def hold(folder: Path, text: str, *, exists: bool) -> Held:
    """Check a path and hold it.

    Args:
        folder: where it must lie.
        text: relative to the folder, or absolute.
        exists: whether it must exist, or must not.

    Raises:
        InvalidDataError: there is no such file, or there is one where none may be.
        RefusedError: it leads out of the folder, or to something that is no file or folder.
        UnavailableError: the folder is not there.
    """
    try:
        root = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        msg = f"the folder {folder.name} is not there"
        raise UnavailableError(msg, "Its owner may have to bring it back.") from error
    named = resolved(root, text)
    if named == root or not named.is_relative_to(root):
        msg = f"{_shown(text)} leads out of the folder {folder.name}"
        raise RefusedError(msg, _HINT)
    if exists:
        return Held(named, _open(root, named, text), new=False)
    if named.is_symlink() or named.exists():
        msg = f"{_shown(text)} exists already"
        raise InvalidDataError(msg, "Name one that does not.")
    return Held(named, _open(root, named.parent, text), new=True)


def resolved(root: Path, text: str) -> Path:
    """Where a path leads, links followed; raises `InvalidDataError` if that is nowhere."""
    try:
        return (root / text).resolve(strict=False)
    except (OSError, RuntimeError, ValueError) as error:
        raise _missing(text) from error


def _open(root: Path, path: Path, text: str) -> int:
    """Walk from the folder to a resolved path; a link on the way was put there since."""
    descriptor = os.open(root, _LOOK | os.O_DIRECTORY)
    try:
        for name in path.relative_to(root).parts:
            deeper = os.open(name, _LOOK, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        mode = os.fstat(descriptor).st_mode
    except OSError as error:
        os.close(descriptor)
        raise _missing(text) from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(descriptor)
        msg = f"{_shown(text)} is neither a file nor a folder"
        raise RefusedError(msg, _HINT)
    return descriptor


def _missing(text: str) -> InvalidDataError:
    return InvalidDataError(f"there is no {_shown(text)} in the recipe's folder", _HINT)


def _shown(text: str) -> str:
    return repr(clean_label(text, 80, "empty"))
