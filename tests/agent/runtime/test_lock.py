from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.lock import DataDirLock, lock_owner
from homing_agent.runtime.paths import prepare_data_dir, program_paths
from homing_core.errors import ConflictError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from homing_agent.runtime.paths import ProgramPaths

HOLDER = """
import sys
from pathlib import Path
from homing_agent.runtime.lock import DataDirLock
from homing_agent.runtime.paths import program_paths
lock = DataDirLock.acquire(program_paths("homing-node", "node", Path(sys.argv[1]), environ={}))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def paths(tmp_path: Path) -> ProgramPaths:
    found = program_paths("homing-node", "node", tmp_path / "data", environ={})
    prepare_data_dir(found)
    return found


def test_second_is_told_who_runs(paths: ProgramPaths) -> None:
    with (
        DataDirLock.acquire(paths),
        pytest.raises(ConflictError, match=f"another homing-node runs .pid {os.getpid()}."),
    ):
        DataDirLock.acquire(paths)
    with DataDirLock.acquire(paths) as again:
        assert again.path.exists()


def test_kill_9_lets_go_even_if_a_child_lives_on(paths: ProgramPaths) -> None:
    code = HOLDER.replace(
        'print("held"',
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nprint(\"held\", child.pid",
    )
    holder = subprocess.Popen(  # noqa: S603  # our own text, above
        [sys.executable, "-c", code, str(paths.data_dir)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    word, child = holder.stdout.readline().split()
    assert word == "held"
    try:
        with pytest.raises(ConflictError, match=f"pid {holder.pid}"):
            DataDirLock.acquire(paths)
        holder.send_signal(signal.SIGKILL)
        assert holder.wait(10) == -signal.SIGKILL
        with DataDirLock.acquire(paths):
            assert paths.lock_file.read_text().split()[0] == str(os.getpid())
    finally:
        os.kill(int(child), signal.SIGKILL)
        holder.stdin.close()
        holder.stdout.close()


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"12 \x1b[31mred", b"x" * 5000])
def test_damaged_lock_file_is_no_obstacle(paths: ProgramPaths, content: bytes) -> None:
    paths.lock_file.write_bytes(content)
    with DataDirLock.acquire(paths):
        paths.lock_file.write_bytes(content)
        with pytest.raises(ConflictError) as caught:
            DataDirLock.acquire(paths)
    assert str(caught.value).isprintable()


def test_link_in_place_of_the_lock_is_refused(paths: ProgramPaths, tmp_path: Path) -> None:
    paths.lock_file.symlink_to(tmp_path / "victim")
    with pytest.raises(UsageError, match="cannot be opened"):
        DataDirLock.acquire(paths)
    assert not (tmp_path / "victim").exists()


def test_who_took_it_last(paths: ProgramPaths) -> None:
    assert lock_owner(paths) == 0
    with DataDirLock.acquire(paths):
        assert lock_owner(paths) == os.getpid()
    paths.lock_file.write_bytes(b"\xff\x00 no number")
    assert lock_owner(paths) == 0
