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
from homing_client.cli.jobs_view import error_object, job_object, result_object, show_result
from homing_client.cli.json_report import progress_object
from homing_client.cli.silence import or_silence
from homing_client.rpc.phone_calls import ResidentGoneError
from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_client.cli.options import Setup
    from homing_client.jobs.ports import PhoneJob

_SILENCE_S = 2.0
"""After so long without an event it is looked why."""
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
        result: print what came of it, too.
    """

    def __init__(self, setup: Setup, text: str, *, as_json: bool, result: bool = False) -> None:
        """Nothing is shown yet."""
        self._result = result
        self._setup = setup
        self._text = text
        self._as_json = as_json
        self._after = 0
        self._state: JobState | None = None
        self._job: PhoneJob | None = None
        self._show: JobShow | None = None
        self._why = ""

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
        events = or_silence(calls.watch(job.id, self._after), _SILENCE_S)
        async with contextlib.aclosing(events):
            async for event in events:
                if event is None:
                    self._silent(named_job(await calls.list(refresh=False), job.id))
                    continue
                self._after, self._state = event.seq, event.state
                unknown = event.state is JobState.UNKNOWN_EFFECT and event.seq >= job.last_seq
                if self._as_json or not unknown:
                    self._say(job, event, ours=await _ours(calls, event))
                if unknown:  # it goes on when a person has said what they know
                    break
        job = named_job(await calls.list(refresh=True), job.id)
        if self._state is not None and self._state.final:  # the node's own word, if it was seen
            job = replace(job, state=self._state)
        if job.state is JobState.FAILED:
            job = await _with_reason(calls, job)
        status = self._end(job)
        if job.state is JobState.SUCCEEDED and self._result:
            await self._print_result(calls, job)
        return status

    def _silent(self, job: PhoneJob) -> None:
        """Nothing came for a while, which the resident process may know a reason for."""
        why = str(job.error) if job.error else ""
        if self._as_json and why not in {"", self._why}:
            print_json(
                {
                    "event": "away",
                    "job": job.id,
                    "node": job.node_name,
                    "error": error_object(job.error) if job.error else None,
                }
            )
        elif not self._as_json and self._show is not None:
            self._show.away(job.error.what if job.error else "")
        self._why = why

    def _say(self, job: PhoneJob, event: JobEvent, *, ours: bool) -> None:
        self._why = ""
        if self._as_json:
            print_json(progress_object(job.id, job.node_name, event, None))
        elif self._show is not None:
            self._show.show(event, ours=ours)

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

    async def _print_result(self, calls: PhoneJobsCalls, job: PhoneJob) -> None:
        """Its text, as `homing jobs result` prints it, where it can be had at once."""
        try:
            found = await calls.result(job.id)
        except HomingError as error:
            if not self._as_json:
                aside(str(error))
            return
        if self._as_json:
            print_json(result_object(found, None))
        else:
            show_result(job, found, self._setup.command, hint=True)

    def _last_line(self, job: PhoneJob) -> str:
        number, command = short_job(job.id), self._setup.command
        line = f"{job.tool.name} at {job.node_name}: {STATE_WORDS[job.state]}"
        why = job.error.what if job.error else job.note
        match job.state:
            case JobState.SUCCEEDED if self._result:
                return printable(f"{line}.")
            case JobState.SUCCEEDED:
                return printable(f"{line}. The result: {command(f'jobs result {number}')}")
            case JobState.UNKNOWN_EFFECT:
                return printable(f"{line} Say what you know: {command(f'jobs settle {number}')}")
            case _:
                return printable(f"{line}{f': {why}' if why else ''}")


async def _ours(calls: PhoneJobsCalls, event: JobEvent) -> bool:
    """Whether this phone's person can answer what an event asks; yes, if that is not known."""
    if event.state is not JobState.WAITING_APPROVAL or event.approval_id is None:
        return True
    with contextlib.suppress(HomingError):
        return any(one.approval.id == event.approval_id for one in await calls.waiting())
    return True


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
    why = job.error.what if job.error else f"not yet with {job.node_name}"
    return JobEvent(1, job.asked_at, job.state, note=why)
