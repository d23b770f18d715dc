"""Watching one job from a terminal, to its end or until the person leaves."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_agent.runtime.cli import INTERRUPTED, print_json
from homing_agent.runtime.job_words import STATE_WORDS, job_beginning, short_job
from homing_core.errors import (
    ConflictError,
    HomingError,
    InternalError,
    NotFoundError,
    RefusedError,
)
from homing_core.jobs import JobEvent, JobState
from homing_core.labels import clean_label

from homing_client.attach import attached_channel
from homing_client.cli.console import aside, printable
from homing_client.cli.job_progress import JobShow
from homing_client.cli.jobs_view import job_object
from homing_client.cli.json_report import progress_object
from homing_client.rpc.phone_calls import ResidentGoneError
from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_client.cli.options import Setup
    from homing_client.jobs.ports import PhoneJob

_TRIES = 3
"""Times that the resident process may go away meanwhile; it is started again."""
_MOST_REASON = 300
"""Characters of a reason; all of it is in the result."""
_EXIT = {JobState.SUCCEEDED: 0, JobState.FAILED: 1, JobState.CANCELLED: 1}


def named_job(jobs: Sequence[PhoneJob], text: str) -> PhoneJob:
    """The job whose id begins like this.

    Raises:
        UsageError: no id begins so.
        NotFoundError: none of this phone's does.
        ConflictError: several do.
    """
    beginning = job_beginning(text)
    found = [job for job in jobs if job.id.startswith(beginning)]
    if not found:
        msg = "this phone knows no such job"
        raise NotFoundError(msg, "See: homing jobs")
    if len(found) > 1:
        msg = f"{len(found)} jobs begin like this"
        raise ConflictError(msg, "Give more of the id; all of it is in: homing jobs --json")
    return found[0]


class Watch:
    """One job, watched.

    Args:
        setup: how to reach the resident process.
        text: the beginning of the job's id.
        as_json: print an object for each event instead of a bar.
    """

    def __init__(self, setup: Setup, text: str, *, as_json: bool) -> None:
        """Nothing is shown yet."""
        self._setup = setup
        self._text = text
        self._as_json = as_json
        self._after = 0
        self._state: JobState | None = None
        self._job: PhoneJob | None = None
        self._show: JobShow | None = None

    async def run(self) -> int:
        """Watch to the end; gives the exit status: 0 done, 1 failed or cancelled, 3 refused.

        Raises:
            HomingError: there is no such job, or it cannot be watched.
        """
        for left in reversed(range(_TRIES)):
            try:
                async with attached_channel(self._setup) as channel:
                    return await self._follow(PhoneJobsCalls(channel))
            except ResidentGoneError:
                if not left:
                    raise
            finally:
                if self._show is not None:
                    self._show.hide()
        msg = "the watching ended without an end"
        raise InternalError(msg, "Watch it again.")

    def left(self) -> int:
        """The person pressed Ctrl-C: say how to come back; gives the exit status."""
        job = self._job
        if job is not None and self._as_json:
            print_json({"event": "left", "job": job.id, "node": job.node_name})
        elif job is not None:
            back = self._setup.command(f"jobs watch {short_job(job.id)}")
            aside(f"The job goes on at {job.node_name}. Come back: {back}")
        return INTERRUPTED

    async def _follow(self, calls: PhoneJobsCalls) -> int:
        job = self._job = named_job(await calls.list(refresh=False), self._text)
        self._show = self._show or JobShow(
            job.id, job.tool.name, job.node_name, self._setup.command
        )
        if not self._after and not job.submitted and not self._as_json:
            self._show.show(_first(job))
        async with contextlib.aclosing(calls.watch(job.id, self._after)) as events:
            async for event in events:
                self._after, self._state = event.seq, event.state
                unknown = event.state is JobState.UNKNOWN_EFFECT and event.seq >= job.last_seq
                if self._as_json or not unknown:
                    self._say(job, event)
                if unknown:  # it goes on when a person has said what they know
                    break
        job = named_job(await calls.list(refresh=True), job.id)
        if self._state is not None and self._state.final:  # the node's own word, if it was seen
            job = replace(job, state=self._state)
        if job.state is JobState.FAILED:
            job = await _with_reason(calls, job)
        return self._end(job)

    def _say(self, job: PhoneJob, event: JobEvent) -> None:
        if self._as_json:
            print_json(progress_object(job.id, job.node_name, event, None))
        elif self._show is not None:
            self._show.show(event)

    def _end(self, job: PhoneJob) -> int:
        if self._show is not None:
            self._show.hide()
        if self._as_json:
            print_json(job_object(job))
        else:
            aside(self._last_line(job))
        if isinstance(job.error, RefusedError):
            return job.error.exit_status
        return _EXIT.get(job.state, 1)

    def _last_line(self, job: PhoneJob) -> str:
        number, command = short_job(job.id), self._setup.command
        line = f"{job.tool.name} at {job.node_name}: {STATE_WORDS[job.state]}"
        why = job.error.what if job.error else job.note
        match job.state:
            case JobState.SUCCEEDED:
                return printable(f"{line}. The result: {command(f'jobs result {number}')}")
            case JobState.UNKNOWN_EFFECT:
                return printable(f"{line} Say what you know: {command(f'jobs settle {number}')}")
            case _:
                return printable(f"{line}{f': {why}' if why else ''}")


async def _with_reason(calls: PhoneJobsCalls, job: PhoneJob) -> PhoneJob:
    """Why it failed, which may have to be fetched."""
    if job.error is not None:
        return job
    try:
        found = await calls.result(job.id)
    except HomingError as error:
        known = job.note and not isinstance(error, RefusedError)
        return job if known else replace(job, error=error)
    return replace(job, note=clean_label(found.content, _MOST_REASON, job.note))


def _first(job: PhoneJob) -> JobEvent:
    """What is known before its node has said anything."""
    why = job.error.what if job.error else f"not yet handed in at {job.node_name}"
    return JobEvent(1, job.asked_at, job.state, note=why)
