"""The phone killed between any two steps of a job: nothing is lost and nothing happens twice."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
from typing import TYPE_CHECKING, Any

import pytest
from homing_client.jobs.book import JobBook
from homing_client.jobs.results import ResultFolder
from homing_client.jobs.testing import FakeJobNode
from homing_core.ids import new_request_id
from homing_core.jobs import JobState
from support.job_world import WAIT_S, JobWorld, Phone

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

BOOK = {"add", "note_tried", "note_submitted", "note_event", "store_result", "note_acked"}
FOLDER = {"add", "open", "drop_part"}
NODE = {"submit", "status", "ack", "cancel"}


class Killed(BaseException):
    """The process is no more."""


class Fate:
    """Kills at the n-th step, and counts them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.steps = 0
        self.dead = asyncio.Event()

    def tick(self) -> None:
        self.steps += 1
        if self.steps >= self.at:
            self.dead.set()
            raise Killed


def mortal(method: Callable[..., Any], fate: Callable[[], Fate]) -> Callable[..., Any]:
    """The same, with a chance to die before it and after it."""
    if inspect.iscoroutinefunction(method):

        async def later(*args: object, **kwargs: object) -> object:
            fate().tick()
            found = await method(*args, **kwargs)
            fate().tick()
            return found

        return later

    def now(*args: object, **kwargs: object) -> object:
        fate().tick()
        found = method(*args, **kwargs)
        fate().tick()
        return found

    return now


@pytest.fixture
def fates(monkeypatch: pytest.MonkeyPatch) -> list[Fate]:
    """Whoever is last in it decides when the process dies."""
    found = [Fate(1 << 30)]

    def fate() -> Fate:
        return found[-1]

    for kind, names in ((JobBook, BOOK), (ResultFolder, FOLDER), (FakeJobNode, NODE)):
        for name in names:
            monkeypatch.setattr(kind, name, mortal(getattr(kind, name), fate))
    return found


@contextlib.asynccontextmanager
async def living(world: JobWorld, fate: Fate) -> AsyncGenerator[Phone]:
    """A process that a test leaves alive, or that has died: nothing is tidied up then."""
    with contextlib.suppress(Killed):
        async with world.process() as phone:
            yield phone
            if fate.dead.is_set():
                fate.at = 0  # what runs on in this test's process may write nothing any more


async def a_life(world: JobWorld, node: FakeJobNode, request: str, fate: Fate) -> bool:
    """The person asks, under the same id each time; whether the process lived to the end."""

    async def work(phone: Phone) -> None:
        job = (await phone.start(request=request, folder="papers")).id
        await node.first()
        if not node.jobs[job].state.final:
            node.event(job, JobState.RUNNING)
            node.succeed(job, "all of it", files={"sum.txt": b"x" * 3000})
        await phone.settled(job)

    async with living(world, fate) as phone:
        dies = asyncio.create_task(fate.dead.wait())
        works = asyncio.create_task(work(phone))
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait({dies, works}, return_when=asyncio.FIRST_COMPLETED)
        lived = not fate.dead.is_set()
        for task in (dies, works):
            task.cancel()
        found = await asyncio.gather(dies, works, return_exceptions=True)
        if lived:
            assert not isinstance(found[1], BaseException), found[1]
        return lived
    return False


async def test_a_kill_at_any_step_loses_nothing_and_does_nothing_twice(
    tmp_path: Path, fates: list[Fate]
) -> None:
    """Every step has its kill: before and after each write and each call."""
    at, lived = 0, False
    while not lived:
        at += 1
        world = JobWorld(tmp_path / str(at))
        world.folder.mkdir()
        node, request = world.node(), new_request_id()
        fates.append(Fate(at))
        lived = await a_life(world, node, request, fates[-1])
        if not lived:
            fates.append(Fate(1 << 30))
            assert await a_life(world, node, request, fates[-1]), at
        assert len(node.runs) == 1, at
        (job,) = node.runs
        fates.append(Fate(1 << 30))
        async with world.process() as phone:
            (shown,) = await phone.parts.desk.list(refresh=True)
            assert shown.delivered, at
            result = await phone.parts.desk.result(job)
            assert (result.job_id, result.content) == (job, "all of it"), at
            saved = await phone.parts.desk.save_files(job, world.folder / "to", replace=False)
            assert saved[0].read_bytes() == b"x" * 3000, at
            left = {path.name for path in (world.folder / "results").iterdir()}
            assert left == {job}, at
        assert set(node.jobs[job].acked) == {phone_sha(node, job)}, at
    assert at > 30


def phone_sha(node: FakeJobNode, job: str) -> str:
    """By which hash a result is acknowledged."""
    (held,) = [one for key, one in node.jobs.items() if key == job]
    return hashlib.sha256(held.sealed).hexdigest()
