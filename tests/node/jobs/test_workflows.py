"""What drives attempts: one contract over memory and DBOS."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, TypeAlias

import pytest
from homing_core.errors import UnavailableError
from homing_core.ids import DeviceId, new_job_id
from homing_node.jobs.dbos_workflows import WORKFLOWS_FILE, DbosWorkflows
from homing_node.jobs.store import JobKey
from homing_node.jobs.workflows import MemoryWorkflows

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from homing_node.jobs.workflows import Workflows

WAIT_S = 20
Made: TypeAlias = "Callable[[], Workflows]"


def key() -> JobKey:
    return JobKey(DeviceId("a" * 64), new_job_id())


class Bodies:
    """Remembers for what it was called, and in which thread's loop."""

    def __init__(self) -> None:
        self.called: list[tuple[JobKey, int]] = []
        self.news = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.fails = False

    async def __call__(self, key: JobKey, attempt: int) -> None:
        assert asyncio.get_running_loop() is self.loop
        self.called.append((key, attempt))
        self.news.set()
        if self.fails:
            msg = "a secret of a job"
            raise ValueError(msg)

    async def until(self, count: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while len(self.called) < count:
                self.news.clear()
                await self.news.wait()


def all_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("workflows*"))


@pytest.fixture(params=["memory", "dbos"])
async def workflows(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Workflows]:
    made = MemoryWorkflows() if request.param == "memory" else DbosWorkflows(tmp_path, "", "run-1")
    yield made
    await made.stop()


async def test_an_attempt_is_driven_once_on_the_loop_of_its_node(workflows: Workflows) -> None:
    bodies, first, second = Bodies(), key(), key()
    await workflows.launch(bodies)
    await workflows.launch(bodies)
    for named in ((first, 1), (first, 1), (second, 1), (first, 2)):
        await workflows.start(*named)
    await bodies.until(3)
    await workflows.tidy(time.time() + 60)
    assert sorted(bodies.called) == sorted([(first, 1), (second, 1), (first, 2)])


async def test_a_body_that_fails_harms_no_other(
    workflows: Workflows, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bodies = Bodies()
    bodies.fails = True
    await workflows.launch(bodies)
    for _ in range(2):
        await workflows.start(key(), 1)
    await bodies.until(2)
    await workflows.stop()
    assert len(bodies.called) == 2
    assert b"a secret of a job" not in all_of(tmp_path)
    assert "Executor ID" not in "".join(capfd.readouterr())


async def test_what_never_began_stops(workflows: Workflows) -> None:
    await workflows.stop()
    assert isinstance(workflows, MemoryWorkflows | DbosWorkflows)


async def test_its_loop_goes_on_in_threads_of_its_own_after_dbos_has_gone(tmp_path: Path) -> None:
    workflows, bodies = DbosWorkflows(tmp_path, "", "run-1"), Bodies()
    await workflows.launch(bodies)
    await workflows.start(key(), 1)
    await bodies.until(1)
    await workflows.stop()
    assert await asyncio.to_thread(lambda: 7) == 7


async def test_one_node_to_a_process_uses_dbos(tmp_path: Path) -> None:
    first, second = (DbosWorkflows(tmp_path, "", name) for name in ("run-1", "run-2"))
    await first.launch(Bodies())
    try:
        with pytest.raises(UnavailableError, match="process"):
            await second.launch(Bodies())
    finally:
        await second.stop()
        await first.stop()


async def test_a_database_that_does_not_answer_is_said_and_may_answer_later(
    tmp_path: Path,
) -> None:
    (tmp_path / WORKFLOWS_FILE).mkdir()
    workflows, bodies = DbosWorkflows(tmp_path, "", "run-1"), Bodies()
    with pytest.raises(UnavailableError, match="database"):
        await workflows.launch(bodies)
    (tmp_path / WORKFLOWS_FILE).rmdir()
    await workflows.launch(bodies)
    await workflows.start(key(), 1)
    await bodies.until(1)
    await workflows.stop()
    assert len(bodies.called) == 1


KILLED = """
import asyncio, os, pathlib, signal, sys
from homing_node.jobs.dbos_workflows import DbosWorkflows
from homing_node.jobs.store import JobKey

async def body(key, attempt):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    workflows = DbosWorkflows(pathlib.Path(sys.argv[1]), "", "run-1")
    await workflows.launch(body)
    await workflows.start(JobKey("a" * 64, sys.argv[2]), 1)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_after_kill_9_the_body_is_called_again_over_an_upgrade(tmp_path: Path) -> None:
    """The killed process runs other code: DBOS goes by the version that we give, not by a hash."""
    job = new_job_id()
    command = [sys.executable, "-c", KILLED, str(tmp_path), job]
    done = await asyncio.to_thread(
        subprocess.run, command, env=os.environ, timeout=60, check=False, capture_output=True
    )
    assert done.returncode < 0
    workflows, bodies = DbosWorkflows(tmp_path, "", "run-1"), Bodies()
    with contextlib.suppress(UnavailableError):
        await workflows.launch(bodies)
    await bodies.until(1)
    await workflows.stop()
    assert bodies.called == [(JobKey(DeviceId("a" * 64), job), 1)]
