"""Pages of a mapped file leave the process, and come back when they are read."""

from __future__ import annotations

import mmap
import sys
from typing import TYPE_CHECKING

from homing_inference.machine.mapped_file import let_go_of, mapped
from homing_inference.machine.resident_memory import resident_bytes

if TYPE_CHECKING:
    from pathlib import Path

_SIZE = 32 << 20


def test_pages_that_were_read_are_let_go_and_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "weights of a model"
    path.write_bytes(b"ab" * (_SIZE // 2))
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        read = view[:]
        del read
        before = resident_bytes()
        let_go_of(path)
        # Only Linux tells what is resident now.
        assert sys.platform != "linux" or resident_bytes() < before - _SIZE // 2
        assert view[_SIZE // 2 : _SIZE // 2 + 4] == b"abab"


def test_only_this_file_and_only_where_nothing_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"ab")
    inode = path.stat().st_ino
    lines = [
        f"1000-3000 r--s 00000000 08:01 {inode} {path.resolve()}",
        f"3000-4000 rw-p 00002000 08:01 {inode} {path.resolve()}",
        f"5000-6000 r--s 00000000 08:01 {inode} {path.resolve()}.old",
        f"6000-7000 r--s 00000000 08:01 {inode + 1} {path.resolve()}",
        "7000-8000 rw-p 00000000 00:00 0 ",
        "nonsense",
    ]
    assert list(mapped(path, "\n".join(lines))) == [(0x1000, 0x3000)]


def test_a_file_that_is_not_there_is_no_trouble(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    let_go_of(missing)
    assert not missing.exists()
