"""Kills nodes at random moments while their jobs count, and says what came of the counting."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc.aio
from homing_core.jobs import JobState, Settlement
from support.job_daemon import COUNT, LOOK
from support.job_node import Asked, JobNode, asked, job_nodes

if TYPE_CHECKING:
    from pathlib import Path

OUTSTANDING = 6
"""Jobs that a phone has under way at a time."""
_KILL_AFTER_S = (0.02, 0.5)
"""How long a daemon lives after it has come up."""
_STEP_MS = 60
_LOOK_S = 0.02
_AWAY = (grpc.aio.AioRpcError, ConnectionError, grpc.aio.UsageError)


@dataclass
class Tally:
    """What came of it.

    Attributes:
        kills: of daemons.
        jobs: that were handed in.
        lost: jobs that the node forgot, or that it says have succeeded though they did not count.
        duplicated: counts beyond the first of a job.
        failed: jobs that ended in another way than well.
        unknown_reported: times that a node asked whether a job's effect had happened.
        had_happened: of these, how often it had.
        resume_ms: from a daemon's start to the first job that it goes on with.
    """

    kills: int = 0
    jobs: int = 0
    lost: int = 0
    duplicated: int = 0
    failed: int = 0
    unknown_reported: int = 0
    had_happened: int = 0
    resume_ms: list[float] = field(default_factory=list[float])


class Run:
    """One phone, some daemons, one ledger."""

    def __init__(self, nodes: list[JobNode], ledger: Path, seed: int) -> None:
        """Nothing is asked yet."""
        self._nodes = nodes
        self._ledger = ledger
        self._chance = random.Random(seed)  # noqa: S311  # a test's choice of moments
        self._jobs: list[Asked] = []
        self._over = False
        self.tally = Tally()

    async def go(self, kills: int) -> Tally:
        """Ask and kill, then let everything end, and count."""
        for node in self._nodes:
            await node.start()
        asking = asyncio.create_task(self._ask())
        try:
            while self.tally.kills < kills:
                await self._kill_one()
            self._over = True
            await asking
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        self._count()
        return self.tally

    async def _kill_one(self) -> None:
        node = self._chance.choice(self._nodes)
        await asyncio.sleep(self._chance.uniform(*_KILL_AFTER_S))
        await node.kill()
        self.tally.kills += 1
        waits = any(job.status is not None and not job.ended for job in self._jobs)
        ran = len(node.ran)
        await node.start()
        if waits and len(self._nodes) == 1:
            while len(node.ran) == ran:
                if all(job.ended or job.status is None for job in self._jobs):
                    return
                await asyncio.sleep(_LOOK_S)
            self.tally.resume_ms.append(1000 * (node.ran[ran][1] - node.started_at))

    async def _ask(self) -> None:
        """Keep some jobs under way, and look at each until it has ended."""
        looking: set[asyncio.Task[None]] = set()
        phone = self._nodes[0].phone
        while not self._over or looking:
            while not self._over and len(looking) < OUTSTANDING:
                number = len(self._jobs)
                tool = LOOK if number % 4 == 3 else COUNT
                times = {
                    "before_ms": self._chance.randrange(_STEP_MS),
                    "after_ms": self._chance.randrange(_STEP_MS),
                }
                job = asked(phone, tool, f"token-{number}", **times)
                self._jobs.append(job)
                looking.add(asyncio.create_task(self._see_through(job)))
            done, looking = await asyncio.wait(looking, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                await task

    async def _see_through(self, job: Asked) -> None:
        while not job.ended:
            node = self._chance.choice(self._nodes)
            try:
                if job.status is None:
                    job.status = await node.submit(job)
                elif job.status.state is JobState.UNKNOWN_EFFECT:
                    await self._settle(node, job)
                else:
                    job.status = await node.status(job.id)
            except _AWAY as error:
                if isinstance(error, grpc.aio.AioRpcError) and _means_lost(error):
                    self.tally.lost += 1
                    return
            await asyncio.sleep(_LOOK_S)

    async def _settle(self, node: JobNode, job: Asked) -> None:
        """As a person does who looks whether it happened."""
        assert job.status is not None
        happened = job.token in self._tokens()
        if job.status.last_seq not in job.unknown:
            job.unknown.add(job.status.last_seq)
            self.tally.unknown_reported += 1
            self.tally.had_happened += happened
        said = Settlement.HAPPENED if happened else Settlement.RUN_AGAIN
        try:
            job.status = await node.settle(job.id, said)
        except _AWAY:  # perhaps it was heard all the same
            job.status = await node.status(job.id)

    def _tokens(self) -> Counter[str]:
        lines = self._ledger.read_text("utf-8").splitlines() if self._ledger.exists() else []
        return Counter(lines)

    def _count(self) -> None:
        counted = self._tokens()
        self.tally.jobs = len(self._jobs)
        self.tally.duplicated = sum(counted.values()) - len(counted)
        for job in self._jobs:
            if job.status is None or job.status.state is not JobState.SUCCEEDED:
                self.tally.failed += job.ended
            elif job.spec.tool.name == COUNT.name and not counted[job.token]:
                self.tally.lost += 1


def _means_lost(error: grpc.aio.AioRpcError) -> bool:
    return error.code() is grpc.StatusCode.NOT_FOUND


async def kill_run(
    folder: Path, kills: int, seed: int, *, database: str = "", daemons: int = 1
) -> Tally:
    """Kill daemons with -9 at random moments, and say what came of their jobs.

    Args:
        folder: for everything.
        kills: how many.
        seed: of the moments.
        database: URL of a Postgres that the daemons share; empty is each one's own SQLite.
        daemons: how many.
    """
    options: dict[str, str | float] = {"lease": 2.0}
    if database:
        options["database"] = database
    async with job_nodes(folder, daemons, **options) as (nodes, ledger):
        return await Run(nodes, ledger, seed).go(kills)
