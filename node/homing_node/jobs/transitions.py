"""How a job's row changes, decided without I/O: the same rules for every place jobs are kept in."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from homing_core.approvals import Verdict
from homing_core.errors import (
    ConflictError,
    IntegrityError,
    InternalError,
    OverloadedError,
)
from homing_core.jobs import JobEvent, JobProgress, JobState

from homing_node.jobs import refused
from homing_node.jobs.lease import silence
from homing_node.jobs.store import Entry, JobRow, LostJobError

if TYPE_CHECKING:
    from homing_node.jobs.store import Ending, Fence, NewJob, Question


def check_waiting(waiting: int, waiting_of_peer: int, most: int) -> None:
    """Raise `OverloadedError` if too much waits to be fetched.

    Args:
        waiting: bytes of results of the account.
        waiting_of_peer: the same of all devices of its peer.
        most: how many either may have; 0 is no limit.
    """
    if most and max(waiting, waiting_of_peer) >= most:
        whose = "this device" if waiting >= most else "devices of this home"
        msg = f"results of {whose} wait here, {max(waiting, waiting_of_peer) >> 20} MiB of them"
        raise OverloadedError(msg, "Fetch them, and hand this in again.")


def check_room(unended: int, unended_of_peer: int, *, most: int, most_of_peer: int) -> None:
    """Raise `OverloadedError` if an account or its peer has as many jobs as it may.

    Args:
        unended: jobs of the account that have not ended.
        unended_of_peer: the same of all devices of its peer.
        most: how many the account may have; 0 is no limit.
        most_of_peer: how many the peer may have; 0 is no limit.
    """
    if most and unended >= most:
        msg = f"this device has {unended} jobs that have not ended, and may have {most}"
        raise OverloadedError(msg, "Wait for one to end, or cancel one.")
    if most_of_peer and unended_of_peer >= most_of_peer:
        msg = f"devices of this home have {unended_of_peer} jobs here, and may have {most_of_peer}"
        raise OverloadedError(msg, "Wait for one to end, or cancel one.")


def first(job: NewJob) -> tuple[JobRow, JobEvent]:
    """A job that was handed in, and its first event."""
    row = JobRow(
        key=job.key,
        digest=job.digest,
        device=job.device,
        peer=job.peer,
        request_id=job.request_id,
        tool=job.tool,
        sensitivity=job.sensitivity,
        priority=job.priority,
        submitted_at=job.at,
        state=job.state,
        last_seq=0,
    )
    if (job.state, job.question is None) not in {
        (JobState.QUEUED, True),
        (JobState.WAITING_APPROVAL, False),
    }:
        msg = "a new job is queued, or waits for the answer to its question"
        raise InternalError(msg)
    approval = None if job.question is None else job.question.id
    return moved(row, Entry(job.at, job.state, approval_id=approval))


def same(row: JobRow, job: NewJob) -> JobRow:
    """The job that is there already; raises `ConflictError` if another is handed in as it."""
    if row.digest != job.digest:
        msg = "this job id was used for something else"
        raise ConflictError(msg, "Hand it in under a new id.")
    return row


def moved(row: JobRow, entry: Entry) -> tuple[JobRow, JobEvent]:
    """The row after one more event. Only a job that runs belongs to a daemon."""
    if entry.state.final:
        msg = "a job ends through its ending alone"
        raise InternalError(msg)
    return _after(row, entry)


def held(row: JobRow, fence: Fence) -> JobRow:
    """The row, if the fence's attempt runs it; raises `LostJobError`."""
    if current(row, fence).state is not JobState.RUNNING:
        raise refused.lost_job()
    return row


def current(row: JobRow, fence: Fence) -> JobRow:
    """The row, if the fence's attempt is its newest and it has not ended; or `LostJobError`."""
    if row.attempt != fence.attempt or row.state.final:
        raise refused.lost_job()
    return row


def may_begin(row: JobRow, fence: Fence) -> JobRow:
    """The row, if its attempt may cause an effect now; raises `LostJobError`."""
    if held(row, fence).cancel_wanted:
        msg = "the job's end is wanted, so nothing more is begun"
        raise LostJobError(msg)
    return row


def claimed(
    row: JobRow, runner: str, now: float, lease_s: float, attempt: int
) -> tuple[JobRow, JobEvent] | None:
    """The row in a daemon's hands; None if it may not have it."""
    if row.attempt != attempt or row.cancel_wanted:
        return None
    if row.state is not JobState.QUEUED and not lost(row, now, runner):
        return None
    another = row.state is JobState.RUNNING and row.runner != runner
    note = silence(row, lease_s) if another else ""
    after, event = _after(row, Entry(now, JobState.RUNNING, note=note))
    return replace(after, attempt=attempt + 1, runner=runner, lease_until=now + lease_s), event


def lost(row: JobRow, now: float, runner: str) -> bool:
    """Whether the daemon that has a job is gone, or is `runner` itself."""
    return row.state is JobState.RUNNING and (row.lease_until <= now or row.runner == runner)


def answered(
    row: JobRow, question: Question, verdict: str, answered_by: str, now: float
) -> Question | None:
    """The question with its answer; None if that was said before. Raises `ConflictError`."""
    if question.verdict == verdict:
        return None
    if question.verdict:
        msg = "this was answered otherwise already"
        raise ConflictError(msg, "What was said first counts.")
    if row.state is not JobState.WAITING_APPROVAL:
        msg = "the job does not wait for this answer any more"
        raise ConflictError(msg, "Look at the job: it may have ended.")
    if not now < question.expires_at:
        msg = "this question has expired"
        raise ConflictError(msg, "Hand the job in again.")
    return replace(question, verdict=verdict, answered_by=answered_by)


def asked(row: JobRow, question: Question, entry: Entry) -> tuple[JobRow, JobEvent]:
    """The row while it waits for a person; `LostJobError` if its end is wanted: nobody is asked."""
    if row.cancel_wanted:
        msg = "the job's end is wanted, so nobody is asked anything more"
        raise LostJobError(msg)
    return moved(row, replace(entry, state=JobState.WAITING_APPROVAL, approval_id=question.id))


def settled(row: JobRow, fence: Fence, entry: Entry) -> tuple[JobRow, JobEvent]:
    """The row once somebody has said what became of it; `ConflictError` if that is not asked."""
    if row.state is not JobState.UNKNOWN_EFFECT or row.attempt != fence.attempt:
        msg = "this job does not wait for anybody to say whether it happened"
        raise ConflictError(msg, "Look at it again: it may have been said.")
    return moved(row, entry)


def spent(question: Question) -> Question:
    """The question once what it allowed may have happened: an owner's yes holds once."""
    gone = question.owners_only and question.verdict == Verdict.ALLOW.value
    return replace(question, spent=True) if gone else question


def ended(row: JobRow, ending: Ending, size: int, sha256: str) -> tuple[JobRow, JobEvent]:
    """The row at its end, and its last event.

    Args:
        row: as it is.
        ending: how it ends.
        size: of the sealed result in bytes; 0 for none.
        sha256: of the sealed result, hex; empty for none.
    """
    if not ending.entry.state.final:
        msg = "a job ends in a final state"
        raise InternalError(msg)
    after, event = _after(row, ending.entry)
    progress = None if after.progress is None else replace(after.progress, note="")
    return replace(
        after,
        progress=progress,
        summary=clean(ending.summary),
        ended_at=ending.entry.at,
        result_bytes=size,
        result_sha256=sha256,
        sealed_by=ending.sealed_by if size else "",
    ), event


def check_hash(ending: Ending, sha256: str) -> None:
    """Raise `IntegrityError` if the sealed result is not what was announced."""
    if ending.result_sha256 and ending.result_sha256 != sha256:
        msg = "the sealed result is not what it should be"
        raise IntegrityError(msg, "Nothing was stored: the job is run again.")


def blanked(question: Question) -> Question:
    """What stays of a question once its job has ended: that it was asked, and what was said.

    Nor the hash of the arguments stays: it would confirm a guess at them.
    """
    return replace(question, shown=b"", argument_hash="")


def without_note(event: JobEvent) -> JobEvent:
    """What stays of an event once its job has ended: a tool's words about its work go."""
    if event.progress is None or not event.progress.note:
        return event
    return replace(event, progress=replace(event.progress, note=""))


def received(row: JobRow, sha256: str, now: float) -> JobRow:
    """The row once its device has the result; raises `ConflictError`."""
    if not row.result_sha256 or row.result_sha256 != sha256:
        msg = "the job's result is another"
        raise ConflictError(msg, "Fetch it again from its beginning.")
    if row.delivered_at or not row.result_bytes:
        return row
    return replace(row, result_bytes=0, sealed_by="", delivered_at=now)


def expired(row: JobRow) -> JobRow:
    """The row without a result that nobody fetched."""
    return replace(row, result_bytes=0, sealed_by="")


def _after(row: JobRow, entry: Entry) -> tuple[JobRow, JobEvent]:
    event = JobEvent(
        row.last_seq + 1,
        entry.at,
        entry.state,
        None if entry.progress is None else _kept_progress(entry.progress),
        entry.approval_id,
        clean(entry.note),
    )
    kept = entry.state is JobState.RUNNING
    return replace(
        row,
        state=entry.state,
        last_seq=event.seq,
        progress=event.progress or row.progress,
        runner=row.runner if kept else "",
        lease_until=row.lease_until if kept else 0.0,
    ), event


def clean(text: str) -> str:
    """A text that every database takes: no zero character, no half of a surrogate pair."""
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


def _kept_progress(progress: JobProgress) -> JobProgress:
    return JobProgress(
        progress.done if math.isfinite(progress.done) else 0.0,
        progress.total if math.isfinite(progress.total) else 0.0,
        clean(progress.unit),
        clean(progress.note),
    )
