"""Which documents lie in a folder. Runs in a thread; looks at names and sizes only."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.errors import NotFoundError

from homing_agent.documents.kinds import is_skipped, kind_of
from homing_agent.documents.opening import enter, open_folder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from threading import Event

    from homing_agent.documents.kinds import Kind
    from homing_agent.documents.limits import FolderLimits
    from homing_agent.documents.roots import Place


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A document on disk.

    Attributes:
        path: below the root, as the file system writes it.
        kind: how it is read.
        size: bytes.
        mtime_ns: when it was changed, nanoseconds since the epoch.
    """

    path: bytes
    kind: Kind
    size: int
    mtime_ns: int


@dataclass(slots=True)
class Scan:
    """What a folder holds.

    Attributes:
        files: documents, the latest change first.
        closed: folders that could not be looked into, below the root.
        complete: whether everything was looked at.
    """

    files: list[FoundFile] = field(default_factory=list["FoundFile"])
    closed: list[bytes] = field(default_factory=list[bytes])
    complete: bool = True


def scan(place: Place, limits: FolderLimits, never: Iterable[Path], stop: Event) -> Scan:
    """Look through a folder and all in it. Links are not followed, hidden things left out.

    Args:
        place: the folder.
        limits: on what it may hold.
        never: folders that are left out wherever they lie.
        stop: ends it early; what comes back is then of no use.

    Raises:
        NotFoundError: the folder is gone, or cannot be opened.
    """
    return _Walk(limits, _identities(never), stop).run(place)


class _Walk:
    def __init__(self, limits: FolderLimits, never: set[tuple[int, int]], stop: Event) -> None:
        self._limits = limits
        self._never = never
        self._stop = stop
        self._left = limits.entries
        self._found = Scan()

    def run(self, place: Place) -> Scan:
        try:
            folder = open_folder(place.root.path, place.parts)
        except OSError as error:
            msg = f"the folder {place.shown} cannot be opened"
            raise NotFoundError(msg, "Is its disk there, and may the node read it?") from error
        self._folder(folder, place.relative, 0)
        self._found.files.sort(key=lambda file: (-file.mtime_ns, file.path))
        return self._found

    def _folder(self, folder: int, path: bytes, depth: int) -> None:
        """Look through an open folder, and close it."""
        below: list[str] = []
        try:
            if _identity(os.fstat(folder)) in self._never:
                return
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self._over():
                        return
                    self._entry(entry, path, below)
            for name in sorted(below):
                self._enter(folder, name, _joined(path, name), depth + 1)
        except OSError:
            self._found.closed.append(path)
        finally:
            os.close(folder)

    def _entry(self, entry: os.DirEntry[str], path: bytes, below: list[str]) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:
            return  # it has just gone
        if stat.S_ISDIR(found.st_mode):
            if not is_skipped(entry.name):
                below.append(entry.name)
            return
        kind = kind_of(entry.name)
        if kind is not None and stat.S_ISREG(found.st_mode):
            file = FoundFile(_joined(path, entry.name), kind, found.st_size, found.st_mtime_ns)
            self._found.files.append(file)

    def _enter(self, folder: int, name: str, path: bytes, depth: int) -> None:
        if depth > self._limits.depth or self._over(0):
            self._found.complete = False
            return
        try:
            opened = enter(folder, name)
        except OSError:
            self._found.closed.append(path)
            return
        self._folder(opened, path, depth)

    def _over(self, step: int = 1) -> bool:
        self._left -= step
        full = len(self._found.files) >= self._limits.files or self._left < 0
        if full or self._stop.is_set():
            self._found.complete = False
            return True
        return False


def _joined(path: bytes, name: str) -> bytes:
    return b"/".join((path, os.fsencode(name))) if path else os.fsencode(name)


def _identities(folders: Iterable[Path]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    for folder in folders:
        try:
            found.add(_identity(folder.stat()))
        except OSError:
            continue
    return found


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
