"""A job's events at a person's pace: news at once, the rest when it is due, the last not lost."""

from __future__ import annotations

import asyncio

from homing_agent.job_pace import JobPace
from homing_core.clock import SystemClock
from homing_core.jobs import JobEvent, JobProgress, JobState


def event(seq: int, state: JobState = JobState.RUNNING) -> JobEvent:
    return JobEvent(seq, float(seq), state, JobProgress(seq, 9))


async def test_a_tool_that_goes_quiet_is_seen_where_it_is() -> None:
    shown: list[int] = []
    last = asyncio.Event()

    def show(said: JobEvent) -> None:
        shown.append(said.seq)
        if said.seq == 4:
            last.set()

    pace = JobPace(show, SystemClock())
    for seq in range(1, 5):
        pace.see(event(seq))
    assert shown == [1]  # the others come too fast for a person
    async with asyncio.timeout(10):
        await last.wait()
    assert shown == [1, 4]


async def test_a_new_state_is_shown_at_once_and_nothing_behind_the_end() -> None:
    shown: list[int] = []
    pace = JobPace(lambda said: shown.append(said.seq), SystemClock())
    pace.see(event(1))
    pace.see(event(2))
    pace.see(event(3, JobState.SUCCEEDED))
    assert shown == [1, 3]
    pace.see(event(4))
    pace.see(event(5))
    pace.close()
    assert shown == [1, 3, 4]
