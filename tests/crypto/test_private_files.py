from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import ConfigError, InvalidDataError, UnavailableError
from homing_crypto.private_files import (
    ensure_folder,
    read_private,
    remove_leftovers,
    write_private,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_written_is_read_back_and_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert read_private(path, 100) is None
    write_private(path, b"one")
    write_private(path, b"two")
    assert read_private(path, 100) == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_keeps_what_was_there_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_private(path, b"one")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnavailableError, match="No space left on device"):
        write_private(path, b"two")
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def test_only_the_files_own_leftovers_are_removed(tmp_path: Path) -> None:
    keep = [tmp_path / "file", tmp_path / ".other.1.partial", tmp_path / ".file.txt"]
    for path in [*keep, tmp_path / ".file.0123.partial"]:
        path.write_bytes(b"")
    remove_leftovers(tmp_path / "file")
    assert sorted(tmp_path.iterdir()) == sorted(keep)


def test_a_file_longer_than_it_can_be_is_refused(tmp_path: Path) -> None:
    write_private(tmp_path / "file", b"12345")
    with pytest.raises(InvalidDataError):
        read_private(tmp_path / "file", 4)


def test_a_pipe_in_its_place_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "file", 0o600)
    with pytest.raises(ConfigError, match="not a file"):
        read_private(tmp_path / "file", 100)


def test_a_folder_may_be_readable_but_not_writable_where_that_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    ensure_folder(folder, private=False)
    with pytest.raises(ConfigError):
        ensure_folder(folder, private=True)
    folder.chmod(0o775)
    with pytest.raises(ConfigError, match="open to other users"):
        ensure_folder(folder, private=False)


def test_a_missing_folder_is_made_private_with_its_parents(tmp_path: Path) -> None:
    ensure_folder(tmp_path / "a" / "b", private=False)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
