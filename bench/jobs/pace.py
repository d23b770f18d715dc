"""How fast jobs are taken, told and worked off."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homing_core.jobs import JobState
from support.job_daemon import GATE, LOOK, REPORT
from support.job_node import asked, job_nodes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from engine.setting import Results
    from support.job_node import JobNode

SUBMITS: Final = 200
WATCHED: Final = 20
"""Jobs of ten reports each."""
DRAINED: Final = 1000
AT_ONCE: Final = 4
_LOOK_S: Final = 0.01
_SENDERS: Final = 8


async def measure_submit(results: Results) -> None:
    """`submit_p50_ms`: from a phone's call to the node's word that it has the job on its disk.

    The queue is held meanwhile, so that nothing but taking jobs is measured.
    """
    async with _held() as (node, _):
        for number in range(SUBMITS):
            job = asked(node.phone, LOOK, f"submit-{number}")
            began = time.perf_counter()
            await node.submit(job)
            results.add("submit_ms", 1000 * (time.perf_counter() - began))


async def measure_events(results: Results) -> None:
    """`event_to_watcher_p50_ms`: from a tool's report to the phone that watches its job."""
    with tempfile.TemporaryDirectory(prefix="homing-bench-") as name:
        async with job_nodes(Path(name), at_once=AT_ONCE) as ((node,), _):
            await node.start()
            for number in range(WATCHED):
                job = asked(node.phone, REPORT, f"report-{number}")
                await node.submit(job)
                async for event in node.watch(job.id):
                    if event.progress is not None and event.progress.note:
                        told = time.time() - float(event.progress.note)
                        results.add("event_to_watcher_ms", 1000 * told)


async def measure_drain(results: Results) -> None:
    """`drain_1000_per_s`, `drain_1000_rss_mb`: a thousand jobs that wait, and then may run."""
    async with _held() as (node, gate):
        jobs = [asked(node.phone, LOOK, f"drain-{number}") for number in range(DRAINED)]
        sending = iter(jobs)

        async def send() -> None:
            for job in sending:
                job.status = await node.submit(job)

        await asyncio.gather(*(send() for _ in range(_SENDERS)))
        ran = len(node.ran)
        began = time.perf_counter()
        gate.touch()
        while len(node.ran) < ran + DRAINED:  # noqa: ASYNC110  # its output is read elsewhere
            await asyncio.sleep(_LOOK_S)
        for job in jobs[-AT_ONCE:]:
            while not job.ended:
                job.status = await node.status(job.id)
        results.add("drain_1000_s", time.perf_counter() - began)
        results.add("drain_1000_rss_mb", _peak_mb(node.pid))
        states = [(await node.status(job.id)).state for job in jobs]
        if any(state is not JobState.SUCCEEDED for state in states):
            msg = "a job of the thousand did not succeed"
            raise RuntimeError(msg)


@contextlib.asynccontextmanager
async def _held() -> AsyncGenerator[tuple[JobNode, Path]]:
    """A node all of whose places are taken until a file is there."""
    with tempfile.TemporaryDirectory(prefix="homing-bench-") as name:
        folder = Path(name)
        gate = folder / "gate"
        async with job_nodes(folder, at_once=AT_ONCE) as ((node,), _):
            await node.start()
            for _ in range(AT_ONCE):
                await node.submit(asked(node.phone, GATE, str(gate), priority=1))
            while len(node.ran) < AT_ONCE:  # noqa: ASYNC110  # as above
                await asyncio.sleep(_LOOK_S)
            yield node, gate


def _peak_mb(pid: int) -> float:
    """The most main memory that a process has had, in MB (`proc(5)`, VmHWM)."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    (line,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024 / 1e6
