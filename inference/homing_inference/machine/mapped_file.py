"""Letting go of a mapped file's pages, which come back when they are read."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAPS: Final = Path("/proc/self/maps")
_INODE_COLUMN: Final = 4
_COLUMNS: Final = 6


def let_go_of(path: Path) -> None:
    """Take the pages of a file that is mapped for reading out of this process's resident set.

    llama.cpp reads a whole file to load it, but computes with copies of some tensors, in another
    order. What is read again comes back from the system's cache of files, 16 pages at a time.
    Only on Linux; elsewhere nothing happens.
    """
    with contextlib.suppress(OSError, AttributeError, ValueError):
        advise = ctypes.CDLL(None).madvise
        for start, end in mapped(path, _MAPS.read_text("utf-8", "replace")):
            advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), mmap.MADV_DONTNEED)


def mapped(path: Path, maps: str) -> Iterator[tuple[int, int]]:
    """Where a file is mapped and cannot be written to: first address and the one behind the last.

    Args:
        path: the file.
        maps: what the kernel says of a process's memory, as in `/proc/self/maps`.
    """
    inode, name = str(path.stat().st_ino), str(path.resolve())
    for line in maps.splitlines():
        columns = line.split(maxsplit=_COLUMNS - 1)
        if len(columns) == _COLUMNS and columns[_INODE_COLUMN] == inode and columns[-1] == name:
            if "w" in columns[1]:
                continue  # what was written there would be lost
            start, _, end = columns[0].partition("-")
            yield int(start, 16), int(end, 16)
