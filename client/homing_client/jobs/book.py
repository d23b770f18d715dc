"""The phone's job book: what was asked of nodes, and what came of it, in one SQLite file.

A job is written here before it is sent, and its result before the node is told that it has arrived:
after a kill at any line the book says what is left to do. Methods are synchronous and quick; they
belong to the thread that opened the book. What matters is on disk when a method returns; how far a
job is (which its node knows best) is written through the kernel only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import (
    ConflictError,
    IntegrityError,
    NotFoundError,
    UsageError,
)
from homing_core.ids import JobId
from homing_core.jobs import JobState
from homing_core.labels import clean_label
from homing_crypto.result_form import encode_result

from homing_client.jobs.book_file import BookFile
from homing_client.jobs.json_form import dump, failed_to_json, progress_to_json
from homing_client.jobs.node_notes import NodeNotes
from homing_client.jobs.rows import COLUMNS, to_entry, to_result, to_row

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from homing_core.generation import Failed
    from homing_core.ids import RequestId
    from homing_core.jobs import JobEvent, JobResult

    from homing_client.jobs.entry import JobEntry
    from homing_client.jobs.rows import Value

_MIN_PREFIX: Final = 4
_NOTE_CHARS: Final = 300
_log = get_logger(__name__)


class JobBook:
    """The book. Every method raises `UnavailableError` or `IntegrityError` if it cannot be used.

    Args:
        path: the file, usually `JOB_BOOK_FILE` in the data directory; made if it is not there.

    Attributes:
        nodes: what is kept about nodes.

    Raises:
        HomingError: as `BookFile`.
    """

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._file = BookFile(path)
        self.nodes = NodeNotes(self._file)

    def close(self) -> None:
        """Let go of the file. Harmless if done."""
        self._file.close()

    # Writing down, looking

    def add(self, entry: JobEntry) -> tuple[JobEntry, bool]:
        """Write a job down; the job as it is, and whether it is new.

        The same request, tool (by hash) and arguments are the same job, at whatever node.

        Raises:
            ConflictError: its id is another job's.
        """
        asked = entry.asked
        of = (asked.request_id, asked.tool.schema_hash, asked.call.argument_hash)
        with self._file.together():
            for row in self._rows("request_id = ? AND tool_hash = ? AND argument_hash = ?", *of):
                return to_entry(row), False
            if self._rows("id = ?", entry.id):
                msg = "this job id was used for something else"
                raise ConflictError(msg, "Choose a fresh id.")
            columns, values = to_row(entry)
            names = (*columns, "request_id", "tool_hash", "argument_hash")
            self._file.write(
                f"INSERT INTO job ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",  # noqa: S608  # our own names
                *values,
                *of,
            )
        return entry, True

    def get(self, job: JobId) -> JobEntry:
        """The job with its result; raises `NotFoundError`, or `IntegrityError` if damaged."""
        for row in self._rows("id = ?", job):
            entry = to_entry(row)
            if not entry.delivered:
                return entry
            ((kept,),) = self._file.rows("SELECT result FROM job WHERE id = ?", job)
            return replace(entry, result=to_result(kept))
        msg = "this phone knows no such job"
        raise NotFoundError(msg, "homing jobs list shows those that it knows.")

    def find(self, text: str) -> JobId:
        """The id that begins with this, with or without `job-`.

        Raises:
            UsageError: too short.
            NotFoundError: nothing matches.
            ConflictError: several do.
        """
        wanted = text.strip().lower().removeprefix("job-")
        if len(wanted) < _MIN_PREFIX:
            msg = f"a job's id is given by at least {_MIN_PREFIX} of its digits"
            raise UsageError(msg, "homing jobs list shows them.")
        found = [
            JobId(str(row[0]))
            for row in self._file.rows("SELECT id FROM job ORDER BY number")
            if str(row[0]).removeprefix("job-").startswith(wanted)
        ]
        if not found:
            msg = "this phone knows no such job"
            raise NotFoundError(msg, "homing jobs list shows those that it knows.")
        if len(found) > 1:
            msg = "several jobs begin like this"
            raise ConflictError(msg, "Give more of the id.")
        return found[0]

    def all(self) -> tuple[JobEntry, ...]:
        """Every readable job without its result, newest first."""
        return self._readable(reversed(self._rows("1")))

    def unsettled(self) -> tuple[JobEntry, ...]:
        """Jobs for which something is left to do, oldest first."""
        rows = self._rows("NOT fetched OR (result IS NOT NULL AND NOT acked)")
        return tuple(entry for entry in self._readable(rows) if not entry.settled)

    def of_request(self, request_id: RequestId) -> tuple[JobEntry, ...]:
        """Jobs that a request has begun, in order; raises `IntegrityError` if one is damaged."""
        return tuple(to_entry(row) for row in self._rows("request_id = ?", request_id))

    # What became of it

    def note_tried(self, job: JobId) -> None:
        """A message that hands it in is about to be sent."""
        self._set(job, tried=1)

    def note_submitted(self, job: JobId) -> None:
        """Its node has it."""
        self._set(job, submitted=1)

    def note_event(self, job: JobId, event: JobEvent, at: float) -> None:
        """What its node said of it, unless something newer is known, or its end.

        Args:
            job: the job.
            event: its note is cleaned.
            at: wall time here.
        """
        progress, final = event.progress, event.state.final
        kept = None if progress is None else dump(progress_to_json(progress))
        write = self._file.write if final else self._file.write_soon
        write(
            "UPDATE job SET last_seq = ?, state = ?, progress = coalesce(?, progress), "
            "note = ?, ended_at = ?, submitted = 1 "
            "WHERE id = ? AND last_seq <= ? AND ended_at = 0",
            event.seq,
            event.state.value,
            kept,
            event.note,
            at if final else 0.0,
            job,
            event.seq,
        )

    def note_failed(self, job: JobId, failure: Failed, at: float) -> None:
        """It has ended without a result, and nothing is left to do. What is known stays."""
        self._file.write(
            "UPDATE job SET failure = ?, fetched = 1, "
            "state = CASE WHEN ended_at = 0 THEN ? ELSE state END, "
            "ended_at = CASE WHEN ended_at = 0 THEN ? ELSE ended_at END "
            "WHERE id = ? AND NOT fetched",
            dump(failed_to_json(failure)),
            JobState.FAILED.value,
            at,
            job,
        )

    def note_cancelled(self, job: JobId, at: float) -> None:
        """It was ended before its node had it."""
        self._file.write(
            "UPDATE job SET state = ?, ended_at = ?, fetched = 1, cancel_wanted = 0 "
            "WHERE id = ? AND ended_at = 0",
            JobState.CANCELLED.value,
            at,
            job,
        )

    def want_cancel(self, job: JobId, *, wanted: bool) -> None:
        """Its person has ended it; or, that its node knows that now."""
        self._set(job, cancel_wanted=int(wanted))

    def store_result(self, job: JobId, result: JobResult, sha256: str) -> None:
        """The result is here for good; harmless repeated. What failed says why in a list, too."""
        first = (result.say or result.content).strip().partition("\n")[0] if result.is_error else ""
        why = clean_label(first, _NOTE_CHARS, fallback="")
        more = {"note": why} if why else {}
        self._set(job, result=encode_result(result), sha256=sha256, fetched=1, failure=None, **more)

    def note_acked(self, job: JobId) -> None:
        """Its node knows that."""
        self._set(job, acked=1)

    # Forgetting

    def forget(self, job: JobId) -> None:
        """Remove it; harmless twice."""
        self._file.write("DELETE FROM job WHERE id = ?", job)

    def old(self, ended_before: float) -> tuple[JobEntry, ...]:
        """Settled jobs that ended before a moment."""
        rows = self._rows("ended_at > 0 AND ended_at < ?", ended_before)
        return tuple(entry for entry in self._readable(rows) if entry.settled)

    def awaits(self) -> bool:
        """Whether a result may still come, sealed for a key that this phone had when it asked."""
        return bool(self._rows("NOT fetched AND tried"))

    def _set(self, job: JobId, **columns: Value) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        self._file.write(f"UPDATE job SET {names} WHERE id = ?", *columns.values(), job)  # noqa: S608  # our own names

    def _rows(self, which: str, *values: Value) -> list[tuple[Value, ...]]:
        return self._file.rows(
            f"SELECT {COLUMNS} FROM job WHERE {which} ORDER BY number",  # noqa: S608  # our own words
            *values,
        )

    def _readable(self, rows: Iterable[tuple[Value, ...]]) -> tuple[JobEntry, ...]:
        found: list[JobEntry] = []
        for row in rows:
            try:
                found.append(to_entry(row))
            except IntegrityError:
                _log.error("jobs.bad_entry", job=str(row[0])[:40])
        return tuple(found)
