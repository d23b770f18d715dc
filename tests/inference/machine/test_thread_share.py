"""Engines of several processes divide the cores among those that compute."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

import pytest
from homing_inference.machine.busy_engines import BusyEngines, engines_folder
from homing_inference.machine.thread_share import REFRESH_S, ThreadShare

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator
    from pathlib import Path

BOUND_S = 30
ENGINE = """
import sys
from pathlib import Path
from homing_inference.machine.thread_share import ThreadShare

share = ThreadShare(cores=8, folder=Path(sys.argv[1]))
for line in sys.stdin:
    getattr(share, line.strip())()
    print("done", flush=True)
"""


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


class Other:
    """An engine in a process of its own."""

    def __init__(self, process: Process) -> None:
        self.process = process

    async def does(self, what: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{what}\n".encode())
        async with asyncio.timeout(BOUND_S):
            assert await self.process.stdout.readline() == b"done\n"

    async def killed(self) -> None:
        self.process.kill()
        async with asyncio.timeout(BOUND_S):
            await self.process.wait()


@contextlib.asynccontextmanager
async def other_engine(folder: Path) -> AsyncGenerator[Other]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", ENGINE, str(folder)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Other(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "homing" / "engines"


async def test_cores_are_divided_among_the_engines_that_compute(folder: Path) -> None:
    clock = Clock()
    mine = ThreadShare(cores=8, folder=folder, clock=clock)
    mine.busy()
    assert mine.now() == 8
    async with other_engine(folder) as one, other_engine(folder) as two:
        await one.does("busy")
        assert mine.now() == 8, "the count is not taken anew each time"
        clock.at += REFRESH_S
        assert mine.now() == 4
        await two.does("busy")
        clock.at += REFRESH_S
        assert mine.now() == 2
        await one.does("idle")
        clock.at += REFRESH_S
        assert mine.now() == 4
        await two.does("close")
        clock.at += REFRESH_S
        assert mine.now() == 8


async def test_an_engine_that_is_killed_gives_its_cores_back(folder: Path) -> None:
    clock = Clock()
    mine = ThreadShare(cores=8, folder=folder, clock=clock)
    mine.busy()
    (mine_file,) = names(folder)
    async with other_engine(folder) as one:
        await one.does("busy")
        assert mine.now() == 4
        await one.killed()
        clock.at += REFRESH_S
        assert mine.now() == 8
    assert names(folder) == {mine_file}, "the file of the dead engine was left"


async def test_an_idle_engine_sees_those_that_compute(folder: Path) -> None:
    mine = ThreadShare(cores=2, folder=folder)
    async with other_engine(folder) as one, other_engine(folder) as two:
        await one.does("busy")
        await two.does("busy")
        assert mine.now() == 1


def test_two_engines_of_one_process_see_each_other(folder: Path) -> None:
    mine = ThreadShare(cores=4, folder=folder)
    other = ThreadShare(cores=4, folder=folder)
    other.busy()
    mine.busy()
    assert mine.now() == 2


def test_a_fixed_number_is_not_shared_but_others_see_the_engine(folder: Path) -> None:
    fixed = ThreadShare(6, cores=8, folder=folder)
    sharing = ThreadShare(cores=8, folder=folder)
    fixed.busy()
    sharing.busy()
    assert fixed.now() == 6
    assert sharing.now() == 4


def test_a_file_that_was_taken_away_is_made_again(folder: Path) -> None:
    clock = Clock()
    mine = ThreadShare(cores=4, folder=folder, clock=clock)
    mine.busy()
    for path in folder.iterdir():
        path.unlink()
    clock.at += REFRESH_S
    mine.now()
    assert BusyEngines(folder).count_others() == 1


def test_files_of_nobody_are_cleared_away_and_never_counted(folder: Path) -> None:
    mine = ThreadShare(cores=4, folder=folder)
    mine.busy()
    (mine_file,) = names(folder)
    for name in ("x.engine", "-.engine", "99999999999-a.engine", "²-a.engine", "something-else"):
        (folder / name).touch()
    (folder / "loop.engine").symlink_to(folder / "loop.engine")
    assert mine.now() == 4
    assert names(folder) == {mine_file, "something-else", "loop.engine"}
    assert {
        path.name for path in folder.iterdir() if path.name.startswith(("x", "-", "9"))
    } == set()
    assert (folder / "something-else").exists()


@pytest.mark.attack
def test_a_folder_that_others_can_write_to_is_not_believed(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o777)
    mine = ThreadShare(cores=4, folder=folder)
    mine.busy()
    assert mine.now() == 4
    assert names(folder) == set()
    theirs = ThreadShare(cores=4, folder=folder)
    folder.parent.chmod(0o700)
    theirs.busy()
    folder.parent.chmod(0o777)
    assert ThreadShare(cores=4, folder=folder).now() == 4


def test_where_there_can_be_no_folder_an_engine_is_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    mine = ThreadShare(cores=4, folder=tmp_path / "file" / "engines")
    mine.busy()
    assert mine.now() == 4
    mine.idle()
    mine.close()


def test_the_folder_is_this_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert engines_folder() == tmp_path / "homing" / "engines"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert engines_folder().name == "engines"
