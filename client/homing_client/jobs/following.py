"""Watching a job and waiting for what comes of it, over breaks of the line."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from homing_agent.runtime.job_words import short_job
from homing_core.errors import HomingError, NotFoundError, UnavailableError
from homing_core.jobs import JobState

from homing_client.jobs.keeper import REACH_S
from homing_client.jobs.pauses import Pauses, passing
from homing_client.jobs.watching import events_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent, JobResult

    from homing_client.jobs.book import JobBook
    from homing_client.jobs.entry import JobEntry
    from homing_client.jobs.keeper import JobKeeper
    from homing_client.jobs.node import JobNodes


class Following:
    """Watches jobs for whoever wants to see them; the keeper does what is to be done.

    Args:
        book: the jobs.
        nodes: the way to the nodes.
        keeper: looks after the jobs.
    """

    def __init__(self, book: JobBook, nodes: JobNodes, keeper: JobKeeper) -> None:
        """Keep them."""
        self._book = book
        self._nodes = nodes
        self._keeper = keeper

    async def watch(self, job: JobId, after: int) -> AsyncGenerator[JobEvent, None]:
        """Events behind a number, to the end of the job; leaving stops nothing.

        Raises:
            HomingError: the node refuses, or what it says cannot be true.
        """
        last, pauses = after, Pauses()
        self._keeper.ensure(job)
        while True:
            entry = await self._keeper.news.until(lambda: self._handed_in(job))
            if not entry.submitted or (entry.state.final and entry.last_seq <= last):
                return
            try:
                node = await self._nodes.open(entry.node, REACH_S)
                async with aclosing(events_of(node, job, last)) as events:
                    async for event in events:
                        last = max(last, event.seq)
                        pauses.clear()
                        yield event
            except NotFoundError:
                await self._keeper.news.until(lambda: self._ended(job))
                return
            except HomingError as error:
                if not passing(error):
                    raise
                await self._keeper.pause(entry.node, pauses.next_s(error), error)
            else:
                return

    async def result(self, job: JobId, *, patient: bool) -> JobResult:
        """What came of a job.

        Args:
            job: the job.
            patient: whether to wait until it has ended, and until its node answers.

        Raises:
            HomingError: it failed or was ended; or there is nothing now, and nobody is patient.
        """
        self._keeper.ensure(job)

        def look() -> JobEntry | None:
            entry = self._book.get(job)
            if entry.delivered or entry.ended:
                return entry
            error = self._keeper.error(job)
            if error is not None and not (patient and passing(error)):
                raise error
            if not patient and not entry.state.final:
                msg = f"{entry.asked.tool.name} has not ended"
                raise UnavailableError(msg, f"Follow it with: homing jobs watch {short_job(job)}")
            return None

        entry = await self._keeper.news.until(look)
        if entry.result is not None:
            return entry.result
        raise why_none(entry)

    def _handed_in(self, job: JobId) -> JobEntry | None:
        entry = self._book.get(job)
        return entry if entry.submitted or entry.state.final else None

    def _ended(self, job: JobId) -> JobEntry | None:
        entry = self._book.get(job)
        return entry if entry.state.final else None


def why_none(entry: JobEntry) -> HomingError:
    """Why an ended job has no result."""
    if entry.failure is not None:
        return entry.failure.to_error()
    if entry.state is JobState.CANCELLED:
        return UnavailableError(f"{entry.asked.tool.name} was ended before it was done", "")
    return UnavailableError(f"{entry.asked.tool.name} has no result", "Run it again.")
