"""Saved prefixes: found again when nothing changed, never believed otherwise."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from typing import TYPE_CHECKING

import pytest
from homing_inference.states import state_file
from homing_inference.states.latest_writer import LatestWriter
from homing_inference.states.prefix_files import PrefixFiles
from homing_inference.states.prefixes import Prefix
from homing_inference.states.private_folder import PrivateFolder
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MODEL = "11" * 32
BUILD = "22" * 32
TOKENS = (5, 6, 7, 300_000)
PREFIX = Prefix(TOKENS, hashlib.sha256(b"text").hexdigest(), b"state" * 20)
ENOUGH_S = 20.0


def _files(
    folder: Path,
    *,
    max_bytes: int = 100_000,
    model: str = MODEL,
    build: str = BUILD,
    adapters: Mapping[str, str] | None = None,
) -> PrefixFiles:
    return PrefixFiles(
        folder, max_bytes=max_bytes, model_sha256=model, fingerprint=build, adapters=adapters
    )


def _saved(folder: Path, prefix: Prefix = PREFIX) -> Path:
    """The file of a prefix that was saved now."""
    before = set(folder.glob("*.prefix"))
    files = _files(folder)
    files.put(prefix, adapter="")
    files.close()
    (path,) = set(folder.glob("*.prefix")) - before
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a" / "prefixes"


def test_a_new_process_finds_what_the_last_one_saved(folder: Path) -> None:
    files = _files(folder)
    assert files.load(TOKENS, adapter="") is None
    assert not files.keeps(TOKENS, adapter="")
    files.put(PREFIX, adapter="")
    assert files.keeps(TOKENS, adapter="")
    assert files.load(TOKENS, adapter="") == PREFIX, "also before it is written"
    files.close()
    again = _files(folder)
    assert again.keeps(TOKENS, adapter="")
    assert again.load(TOKENS, adapter="") == PREFIX
    assert again.load(TOKENS[:-1], adapter="") is None
    again.drop(TOKENS, adapter="")
    assert again.load(TOKENS, adapter="") is None


def test_a_model_build_or_adapter_that_differs_has_files_of_its_own(folder: Path) -> None:
    _saved(folder)
    adapters = {"french": "33" * 32, "nameless": ""}
    assert _files(folder, model="44" * 32).load(TOKENS, adapter="") is None
    assert _files(folder, build="44" * 32).load(TOKENS, adapter="") is None
    files = _files(folder, adapters=adapters)
    assert files.load(TOKENS, adapter="") == PREFIX
    assert files.load(TOKENS, adapter="french") is None
    files.put(PREFIX, adapter="french")
    assert files.flush(ENOUGH_S)
    assert files.load(TOKENS, adapter="french") == PREFIX
    assert _files(folder, adapters={"french": "55" * 32}).load(TOKENS, adapter="french") is None
    # What cannot be told apart is not kept: an adapter without a hash, an unknown one, any model
    # without one.
    for name in ("nameless", "unknown"):
        files.put(PREFIX, adapter=name)
        assert files.keeps(TOKENS, adapter=name)
        assert files.load(TOKENS, adapter=name) is None
    unknown = _files(folder / "other", model="")
    unknown.put(PREFIX, adapter="")
    unknown.close()
    assert not (folder / "other").exists()


def test_only_this_user_can_read_them(folder: Path) -> None:
    path = _saved(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600
    folder.chmod(0o755)
    _files(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


@st.composite
def _damages(draw: st.DrawFn) -> tuple[str, int, int]:
    kind = draw(st.sampled_from(["flip", "truncate", "extend", "swap"]))
    return kind, draw(st.integers(0, 1 << 16)), draw(st.integers(1, 255))


@pytest.mark.attack
@given(damage=_damages())
def test_a_file_with_any_damage_is_removed_not_used(
    tmp_path_factory: pytest.TempPathFactory, damage: tuple[str, int, int]
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    path = _saved(folder)
    data = bytearray(path.read_bytes())
    kind, where, value = damage
    if kind == "flip":
        data[where % len(data)] ^= value
    elif kind == "truncate":
        del data[where % len(data) :]
    elif kind == "extend":
        data += bytes([value]) * (1 + where % 100)
    else:
        other = _saved(folder, Prefix((9, *TOKENS[1:]), PREFIX.sha256, b"other" * 20))
        head = 1 + where % (len(data) - 1)
        data[:head] = other.read_bytes()[:head]
        if bytes(data) == path.read_bytes():  # the fields that all files share
            data[-1] ^= value
    path.write_bytes(data)
    files = _files(folder)
    assert files.load(TOKENS, adapter="") is None
    assert not path.exists()
    files.put(PREFIX, adapter="")
    assert files.flush(ENOUGH_S)
    assert files.load(TOKENS, adapter="") == PREFIX


@pytest.mark.attack
def test_a_file_that_somebody_else_made_is_not_believed(folder: Path, tmp_path: Path) -> None:
    path = _saved(folder)
    planted = _saved(tmp_path / "elsewhere", Prefix(TOKENS, PREFIX.sha256, b"poison" * 20))
    assert planted.name == path.name, "everything but the secret is the same"
    path.write_bytes(planted.read_bytes())
    assert _files(folder).load(TOKENS, adapter="") is None
    assert not path.exists()


@pytest.mark.attack
def test_a_file_of_other_tokens_under_this_name_is_not_believed(folder: Path) -> None:
    path = _saved(folder)
    other = _saved(folder, Prefix((1, 2, 3, 4), PREFIX.sha256, PREFIX.state))
    other.replace(path)
    assert _files(folder).load(TOKENS, adapter="") is None
    assert not path.exists()


@pytest.mark.attack
@pytest.mark.parametrize("huge", [2**31, 2**63, 2**64 - 1])
def test_a_header_that_promises_too_much_allocates_nothing(folder: Path, huge: int) -> None:
    path = _saved(folder)
    data = bytearray(path.read_bytes())
    data[16:24] = huge.to_bytes(8, "little")
    path.write_bytes(data)
    if huge == 2**31:
        os.truncate(path, state_file.HEADER_BYTES + 16 + huge)  # no bytes behind it on the disk
    assert _files(folder).load(TOKENS, adapter="") is None
    assert not path.exists()


@pytest.mark.attack
@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
def test_what_stands_in_a_files_place_is_neither_read_nor_followed(
    folder: Path, tmp_path: Path, kind: str
) -> None:
    path = _saved(folder)
    victim = tmp_path / "victim"
    path.rename(victim)
    whole = victim.read_bytes()
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(victim if kind == "link" else tmp_path / "nowhere")
    files = _files(folder)
    assert not files.keeps(TOKENS, adapter="")
    assert files.load(TOKENS, adapter="") is None
    assert not path.is_symlink()
    path.symlink_to(victim)
    files.put(PREFIX, adapter="")
    files.close()
    assert path.is_file()
    assert not path.is_symlink()
    assert victim.read_bytes() == whole
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.attack
def test_a_link_in_the_folders_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    folder = tmp_path / "link"
    folder.symlink_to(target)
    with capture_logs() as logs:
        files = _files(folder)
        files.put(PREFIX, adapter="")
        files.close()
    assert list(target.iterdir()) == []
    assert target.stat().st_mode & 0o777 == 0o755
    assert [entry["event"] for entry in logs] == ["engine.prefixes_not_saved"]


@pytest.mark.attack
@pytest.mark.parametrize("kind", ["readable", "short", "link", "folder"])
def test_a_secret_that_others_may_know_is_replaced(folder: Path, tmp_path: Path, kind: str) -> None:
    path = _saved(folder)
    secret = folder / "secret"
    known = secret.read_bytes()
    if kind == "readable":
        secret.chmod(0o644)
    elif kind == "short":
        secret.write_bytes(b"")
    elif kind == "link":
        secret.rename(tmp_path / "secret")
        secret.symlink_to(tmp_path / "secret")
    else:
        secret.unlink()
        secret.mkdir()
    files = _files(folder)
    assert files.load(TOKENS, adapter="") is None
    if kind == "folder":
        assert files.keeps(TOKENS, adapter=""), "nothing can be kept, and nothing fails"
        return
    assert secret.read_bytes() != known
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


def test_the_least_recently_used_files_make_room(folder: Path) -> None:
    prefixes = [Prefix((n,), PREFIX.sha256, bytes(1000)) for n in range(4)]
    paths = [_saved(folder, prefix) for prefix in prefixes[:3]]
    for age, path in zip((30, 20, 10), paths, strict=True):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    files = _files(folder, max_bytes=3 * paths[0].stat().st_size)
    assert files.load((0,), adapter="") is not None, "and so it counts as used"
    files.put(prefixes[3], adapter="")
    assert files.flush(ENOUGH_S)
    assert [files.keeps((n,), adapter="") for n in range(4)] == [True, False, True, True]
    files.put(Prefix((5,), PREFIX.sha256, bytes(9000)), adapter="")
    assert files.flush(ENOUGH_S)
    assert not files.keeps((5,), adapter="")
    assert len(list(folder.glob("*.prefix"))) == 3


def test_what_a_killed_process_left_half_written_goes(folder: Path) -> None:
    path = _saved(folder)
    left, written_now = (folder / f"{name}.new" for name in ("dead", "alive"))
    left.write_bytes(b"half")
    written_now.write_bytes(b"half")
    os.utime(left, (0, left.stat().st_mtime - 7200))
    _saved(folder, Prefix((1,), PREFIX.sha256, b"s"))
    assert path.exists()
    assert (left.exists(), written_now.exists()) == (False, True)


@pytest.mark.parametrize("what", ["write", "replace"])
def test_a_full_disk_is_said_once_and_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    files = _files(folder)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync" if what == "write" else "replace", full)
    with capture_logs() as logs:
        for n in range(3):
            files.put(Prefix((n,), PREFIX.sha256, b"s"), adapter="")
            assert files.flush(ENOUGH_S)
    assert [entry["why"] for entry in logs] == ["No space left on device"]
    assert files.keeps((9,), adapter=""), "so nobody saves a state for nothing"
    assert [path.name for path in folder.iterdir()] == ["secret"]


def test_a_file_in_the_folders_place_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with capture_logs() as logs:
        files = _files(tmp_path / "file")
        assert files.load(TOKENS, adapter="") is None
        assert files.keeps(TOKENS, adapter="")
        files.put(PREFIX, adapter="")
        files.drop(TOKENS, adapter="")
        files.close()
    assert len(logs) == 1


def test_processes_that_write_the_same_prefix_at_once_do_no_harm(folder: Path) -> None:
    ready = threading.Barrier(4)
    failures: list[object] = []

    def process() -> None:
        ready.wait(ENOUGH_S)
        files = _files(folder)
        for _ in range(10):
            files.put(PREFIX, adapter="")
            if not files.flush(ENOUGH_S) or files.load(TOKENS, adapter="") not in (PREFIX, None):
                failures.append(files)
        files.close()

    threads = [threading.Thread(target=process) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ENOUGH_S)
    assert failures == []
    assert _files(folder).load(TOKENS, adapter="") == PREFIX
    assert sorted(path.suffix for path in folder.iterdir()) == ["", ".prefix"]


class SlowDisk:
    """Writes when it is let."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.began = threading.Event()
        self.written: list[str] = []

    def write(self, key: str, _prefix: Prefix) -> None:
        self.began.set()
        assert self.may_go_on.wait(ENOUGH_S)
        self.written.append(key)


@pytest.fixture
def slow_disk() -> Iterator[SlowDisk]:
    disk = SlowDisk()
    yield disk
    disk.may_go_on.set()


def test_a_slow_disk_holds_up_nobody_and_gets_the_latest(slow_disk: SlowDisk) -> None:
    writer = LatestWriter(slow_disk.write)
    writer.put("first", PREFIX)
    assert slow_disk.began.wait(ENOUGH_S)
    for name in ("second", "third", "fourth"):
        writer.put(name, PREFIX)
    assert not writer.flush(0.0)
    assert writer.waiting("second") is None
    assert not writer.close(0.0), "it does not wait for ever either"
    slow_disk.may_go_on.set()
    assert writer.flush(ENOUGH_S)
    assert writer.close()
    assert slow_disk.written == ["first", "fourth", "third"]
    writer.put("late", PREFIX)
    assert writer.flush(0.0)


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PermissionError, match="another user"):
        PrivateFolder(folder)
