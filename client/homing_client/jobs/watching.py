"""A job's events from its node, over breaks of the line."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError, UnavailableError
from homing_core.jobs import JobEvent
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.ids import JobId
    from homing_core.jobs import JobProgress, JobStatus

    from homing_client.jobs.node import JobNode

MAX_EVENTS: Final = 10_000_000
"""A record with more is a lie: a tool that reports ten times a second writes so many in days."""
_NOTE_CHARS: Final = 300


async def events_of(node: JobNode, job: JobId, after: int) -> AsyncGenerator[JobEvent, None]:
    """A job's events behind a number, to its end, over one connection.

    Where the node has ended the job and forgotten the events, the last one is made of its status.

    Raises:
        InvalidDataError: numbers are repeated or left out, or are too high to be true.
        UnavailableError: the stream ended before the job.
        HomingError: as the node says.
    """
    last = after
    async with aclosing(node.watch(job, after)) as events:
        async for event in events:
            if event.seq != last + 1 or event.seq > MAX_EVENTS:
                msg = "the node's record of this job has wrong numbers"
                raise InvalidDataError(msg, "The node may be damaged; ask its owner.")
            last = event.seq
            yield cleaned(event)
            if event.state.final:
                return
    status = (await node.status(job)).status
    if not status.state.final:
        msg = "the node stopped telling about the job"
        raise UnavailableError(msg, "Its events go on as soon as it answers again.")
    if status.last_seq != last:
        yield of_status(status)


def cleaned(event: JobEvent) -> JobEvent:
    """The event with lines that a person may read safely."""
    return JobEvent(
        event.seq,
        event.at,
        event.state,
        _progress(event.progress),
        event.approval_id,
        clean_label(event.note, _NOTE_CHARS, ""),
    )


def of_status(status: JobStatus) -> JobEvent:
    """What a status says, as the newest event."""
    return JobEvent(
        min(status.last_seq, MAX_EVENTS),
        status.submitted_at,
        status.state,
        _progress(status.progress),
        note=clean_label(status.summary, _NOTE_CHARS, ""),
    )


def _progress(progress: JobProgress | None) -> JobProgress | None:
    if progress is None:
        return None
    unit, note = clean_label(progress.unit, 64, ""), clean_label(progress.note, _NOTE_CHARS, "")
    return type(progress)(progress.done, progress.total, unit, note)
