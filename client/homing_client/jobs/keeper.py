"""What the resident process does for jobs by itself, one errand a job.

    written down → handed in → followed to its end → result fetched → acknowledged

Each step leaves its mark in the book before the next begins, so an errand that is ended anywhere,
by a kill too, goes on from there when the process is back. Where a node is away, an errand waits,
and goes on as soon as that node has proven itself.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import (
    HomingError,
    IntegrityError,
    NotFoundError,
    UnavailableError,
    UnpairedError,
)
from homing_core.generation import Failed

from homing_client.jobs.handing_in import hand_in
from homing_client.jobs.news import News
from homing_client.jobs.notes import Notes
from homing_client.jobs.pauses import LEAST_S, Pauses, passing
from homing_client.jobs.watching import events_of, of_status

if TYPE_CHECKING:
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId, JobId
    from homing_core.jobs import JobEvent

    from homing_client.jobs.book import JobBook
    from homing_client.jobs.entry import JobEntry
    from homing_client.jobs.fetching import Fetcher
    from homing_client.jobs.node import JobNode, JobNodes
    from homing_client.jobs.results import ResultFolder

REACH_S: Final = 5.0
"""How long a node is looked for, in seconds."""
STREAMS: Final = 16
"""Jobs that are followed by a stream of their own; further ones are asked about now and then."""
POLL_S: Final = 20.0
KEEP_S: Final = 30 * 86_400.0
"""Jobs are kept here this long after their end."""
_TIDY_S: Final = 6 * 60 * 60.0

_log = get_logger(__name__)


class JobKeeper:
    """Looks after all jobs. Belongs to one event loop.

    Args:
        book: the jobs.
        nodes: the way to the nodes.
        fetcher: fetches results.
        folder: where results lie.
        clock: wall time.

    Attributes:
        news: told whenever something in the book or about an error has changed.
    """

    def __init__(
        self,
        book: JobBook,
        nodes: JobNodes,
        fetcher: Fetcher,
        folder: ResultFolder,
        clock: Clock,
    ) -> None:
        """Nothing is done yet."""
        self._book = book
        self._nodes = nodes
        self._fetcher = fetcher
        self._folder = folder
        self._clock = clock
        self._errands: dict[JobId, asyncio.Task[None]] = {}
        self._errors: dict[JobId, HomingError] = {}
        self._streams = asyncio.Semaphore(STREAMS)
        self._there: defaultdict[DeviceId, News] = defaultdict(News)
        self._closed = False
        self.news = News()
        nodes.subscribe(lambda node: self._there[node].tell())

    async def run(self) -> None:
        """Take up what is left to do, and now and then remove what is old; never ends."""
        while True:
            try:
                await self._follow_keys()
                await self._tidy()
                for entry in self._book.unsettled():
                    self.ensure(entry.id)
            except HomingError as error:
                _log.warning("jobs.not_tidied", code=error.code.value, what=error.what)
            await asyncio.sleep(_TIDY_S)

    def ensure(self, job: JobId) -> None:
        """See to it that a job is looked after."""
        if job in self._errands or self._closed:
            return
        task = asyncio.create_task(self._errand(job))
        self._errands[job] = task
        task.add_done_callback(lambda _: self._ended(job, task))

    def error(self, job: JobId) -> HomingError | None:
        """What keeps a job from going on just now; None if nothing does."""
        return self._errors.get(job)

    async def leave(self, job: JobId) -> None:
        """Stop looking after one."""
        task = self._errands.get(job)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def close(self) -> None:
        """Stop looking after all; what was begun goes on at the nodes."""
        self._closed = True
        tasks = tuple(self._errands.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _errand(self, job: JobId) -> None:
        pauses = Pauses()
        while (before := self._unsettled(job)) is not None:
            try:
                polled = await self._step(before)
                self._errors.pop(job, None)
                self.news.tell()
                if polled or self._book.get(job) != before:
                    pauses.clear()
                    continue
                msg = f"{before.node_name} says nothing new of the job"
                error: HomingError = UnavailableError(msg, "It is asked again.")
            except HomingError as problem:
                error = problem
            self._errors[job] = error
            self.news.tell()
            await self.pause(before.node, pauses.next_s(error), error)

    def _unsettled(self, job: JobId) -> JobEntry | None:
        """The job, if something is left to do for it and can be done."""
        try:
            entry = self._book.get(job)
        except (NotFoundError, IntegrityError):  # forgotten meanwhile; or damaged, which is logged
            return None
        return None if entry.settled else entry

    async def _step(self, entry: JobEntry) -> bool:
        """Do the next thing that is left to do; whether it is in order that nothing has changed."""
        job, now = entry.id, self._clock.now
        if entry.cancel_wanted and not entry.tried:
            self._book.note_cancelled(job, now())
            return False
        try:
            node = await self._nodes.open(entry.node, REACH_S)
            if entry.cancel_wanted and not entry.state.final:
                await self._end(node, entry)
            elif not entry.submitted:
                await hand_in(node, entry, self._book, self._clock)
            elif not entry.state.final:
                return await self._follow(node, entry)
            elif not entry.fetched:
                await self._fetcher.fetch(node, entry)
            else:
                await self._fetcher.ack(node, entry)
        except NotFoundError as error:
            # The node has proven its key and knows the job no more, or is not paired any more.
            self._book.note_failed(job, Failed.from_error(error), now())
            if entry.delivered:
                self._book.note_acked(job)
        except UnpairedError as error:
            if entry.submitted:  # a peer may take its home's word again
                raise
            self._book.note_failed(job, Failed.from_error(error), now())
        return False

    async def _end(self, node: JobNode, entry: JobEntry) -> None:
        """Have the node end it. What was perhaps handed in is not handed in for that."""
        job, now = entry.id, self._clock.now
        try:
            told = await node.cancel(job)
        except NotFoundError:
            if entry.submitted:
                raise
            # It never arrived, and from now on the node refuses it: see `Jobs.cancel` there.
            self._book.note_cancelled(job, now())
            return
        self._book.note_submitted(job)  # before the wish goes: nothing is left to be handed in
        self._book.note_event(job, of_status(told.status), now())
        self._book.want_cancel(job, wanted=False)

    async def _follow(self, node: JobNode, entry: JobEntry) -> bool:
        try:
            async with asyncio.timeout(POLL_S):
                await self._streams.acquire()
        except TimeoutError:
            told = await node.status(entry.id)
            self._book.note_event(entry.id, of_status(told.status), self._clock.now())
            return True
        try:
            await self._stream(node, entry)
        finally:
            self._streams.release()
        return False

    async def _stream(self, node: JobNode, entry: JobEntry) -> None:
        notes = Notes(lambda event: self._write(entry.id, event))
        try:
            async with aclosing(events_of(node, entry.id, entry.last_seq)) as events:
                async for event in events:
                    notes.take(event)
        finally:
            notes.close()

    def _write(self, job: JobId, event: JobEvent) -> None:
        self._book.note_event(job, event, self._clock.now())
        self._errors.pop(job, None)
        self.news.tell()

    async def pause(self, node: DeviceId, pause_s: float, error: HomingError) -> None:
        """Wait; where the node was away, until it has proven itself at the latest.

        Args:
            node: the node.
            pause_s: how long, in seconds.
            error: why.
        """
        least = min(pause_s, LEAST_S)
        await asyncio.sleep(least)
        if pause_s > least:
            if isinstance(error, UnavailableError) or not passing(error):
                await self._there[node].wait(pause_s - least)
            else:
                await asyncio.sleep(pause_s - least)

    def _ended(self, job: JobId, task: asyncio.Task[None]) -> None:
        if self._errands.get(job) is task:
            del self._errands[job]
        self._errors.pop(job, None)
        if not task.cancelled() and isinstance(problem := task.exception(), Exception):
            _log.error("jobs.errand_failed", job=job, exc_info=problem)
        self.news.tell()

    async def _follow_keys(self) -> None:
        """Make up for a kill between the list of nodes and this book, when a node had a new key."""
        known = {node.id for node in await self._nodes.known()}
        for old, new in self._book.nodes.successors():
            if new in known and old not in known:
                self._book.nodes.succeed(old, new)

    async def _tidy(self) -> None:
        for entry in self._book.old(self._clock.now() - KEEP_S):
            self._book.forget(entry.id)
        known = [entry.id for entry in self._book.all()]
        await asyncio.to_thread(self._folder.tidy, known)
        self.news.tell()
