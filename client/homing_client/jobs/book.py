"""The phone's job book: what was asked of nodes, and what came of it, in one SQLite file.

A job is written here before it is sent, and its result before the node is told that it has arrived:
after a kill at any line the book says what is left to do. Methods are synchronous and quick; they
belong to the thread that opened the book. What matters is on disk when a method returns; how far a
job is (which its node knows best) is written through the kernel only.
"""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Final

from homing_agent.database import open_database
from homing_agent.runtime.logs import get_logger
from homing_core.errors import (
    ConflictError,
    IntegrityError,
    NotFoundError,
    UnavailableError,
    UsageError,
)
from homing_core.ids import DeviceId, JobId
from homing_core.jobs import JobState
from homing_crypto.result_form import encode_result

from homing_client.jobs.json_form import dump, failed_to_json, progress_to_json
from homing_client.jobs.rows import COLUMNS, SCHEMA, VERSION, to_entry, to_row

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from pathlib import Path
    from typing import Self

    from homing_core.generation import Failed
    from homing_core.ids import RequestId
    from homing_core.jobs import JobEvent, JobResult
    from homing_core.tools import ToolSpec

    from homing_client.jobs.entry import JobEntry
    from homing_client.jobs.rows import Value

JOB_BOOK_FILE: Final = "jobs.db"
_MIN_PREFIX: Final = 4
_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    }
)
"""Kinds of failure that say nothing about the file's content."""

_log = get_logger(__name__)


class JobBook:
    """The book. Use `open`."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Use `open`."""
        self._db = connection
        self._path = path

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open it, or make it, readable by its user alone.

        Raises:
            IntegrityError: the file is no job book, is damaged, or is of another version.
            InternalError: it cannot be opened or made.
        """
        connection = open_database(path, SCHEMA, VERSION)
        connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is gone
        return cls(connection, path)

    def close(self) -> None:
        """Let go of the file. Harmless if done."""
        self._db.close()

    # Writing down, looking

    def add(self, entry: JobEntry) -> tuple[JobEntry, bool]:
        """Write a job down; the job as it is, and whether it is new.

        The same request, tool (by hash) and arguments are the same job, at whatever node.

        Raises:
            ConflictError: its id is another job's.
        """
        asked = entry.asked
        of = (asked.request_id, asked.tool.schema_hash, asked.call.argument_hash)
        with _told(), self._transaction():
            row = self._db.execute(
                f"SELECT {COLUMNS} FROM job "  # noqa: S608  # constant
                "WHERE request_id = ? AND tool_hash = ? AND argument_hash = ?",
                of,
            ).fetchone()
            if row is not None:
                return to_entry(row), False
            if self._db.execute("SELECT 1 FROM job WHERE id = ?", (entry.id,)).fetchone():
                msg = "this job id was used for something else"
                raise ConflictError(msg, "Choose a fresh id.")
            columns = f"{COLUMNS}, request_id, tool_hash, argument_hash"
            values = (*to_row(entry), *of)
            self._db.execute(
                f"INSERT INTO job ({columns}) VALUES ({', '.join('?' * len(values))})",  # noqa: S608  # constants
                values,
            )
        return entry, True

    def get(self, job: JobId) -> JobEntry:
        """The job; raises `NotFoundError`, or `IntegrityError` if its entry is damaged."""
        for row in self._rows("id = ?", job):
            return to_entry(row)
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
        with _told():
            found = [
                JobId(str(row[0]))
                for row in self._db.execute("SELECT id FROM job ORDER BY number")
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
        """Every readable job, newest first."""
        return self._readable(reversed(self._rows("1")))

    def unsettled(self) -> tuple[JobEntry, ...]:
        """Jobs for which something is left to do, oldest first."""
        return tuple(entry for entry in self._readable(self._rows("1")) if not entry.settled)

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
        lasting = contextlib.nullcontext() if final else self._unsynced()
        with _told(), lasting:
            self._db.execute(
                "UPDATE job SET last_seq = ?, state = ?, progress = coalesce(?, progress), "
                "note = ?, ended_at = ?, submitted = 1 "
                "WHERE id = ? AND last_seq <= ? AND ended_at = 0",
                (
                    event.seq,
                    event.state.value,
                    kept,
                    event.note,
                    at if final else 0.0,
                    job,
                    event.seq,
                ),
            )

    def note_failed(self, job: JobId, failure: Failed, at: float) -> None:
        """It has ended without a result, and nothing is left to do. What is known stays."""
        with _told():
            self._db.execute(
                "UPDATE job SET failure = ?, fetched = 1, "
                "state = CASE WHEN ended_at = 0 THEN ? ELSE state END, "
                "ended_at = CASE WHEN ended_at = 0 THEN ? ELSE ended_at END "
                "WHERE id = ? AND NOT fetched",
                (dump(failed_to_json(failure)), JobState.FAILED.value, at, job),
            )

    def note_cancelled(self, job: JobId, at: float) -> None:
        """It was ended before its node had it."""
        with _told():
            self._db.execute(
                "UPDATE job SET state = ?, ended_at = ?, fetched = 1, cancel_wanted = 0 "
                "WHERE id = ? AND ended_at = 0",
                (JobState.CANCELLED.value, at, job),
            )

    def want_cancel(self, job: JobId, *, wanted: bool) -> None:
        """Its person has ended it; or, that its node knows that now."""
        self._set(job, cancel_wanted=int(wanted))

    def store_result(self, job: JobId, result: JobResult, sha256: str) -> None:
        """The result is here for good; harmless repeated."""
        self._set(job, result=encode_result(result), sha256=sha256, fetched=1, failure=None)

    def note_acked(self, job: JobId) -> None:
        """Its node knows that."""
        self._set(job, acked=1)

    # Forgetting

    def forget(self, job: JobId) -> None:
        """Remove it; harmless twice."""
        with _told():
            self._db.execute("DELETE FROM job WHERE id = ?", (job,))

    def old(self, ended_before: float) -> tuple[JobEntry, ...]:
        """Settled jobs that ended before a moment."""
        rows = self._rows("ended_at > 0 AND ended_at < ?", ended_before)
        return tuple(entry for entry in self._readable(rows) if entry.settled)

    # Nodes and their tools

    def prepare(self, old: DeviceId, new: DeviceId) -> None:
        """A node is about to be known by another id; called in whatever thread, harmless twice.

        After a kill before `succeed`, `successors` tells, so that no job loses its node.
        """
        with _told(), contextlib.closing(sqlite3.connect(self._path, timeout=5)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            with connection:
                connection.execute("INSERT OR REPLACE INTO successor VALUES (?, ?)", (old, new))

    def successors(self) -> tuple[tuple[DeviceId, DeviceId], ...]:
        """Old and new ids of nodes of which `prepare` was told, and `succeed` was not yet."""
        with _told():
            rows = self._db.execute("SELECT old, new FROM successor").fetchall()
        return tuple((DeviceId(str(old)), DeviceId(str(new))) for old, new in rows)

    def succeed(self, old: DeviceId, new: DeviceId) -> None:
        """A node has a new key, and so another id; harmless twice."""
        with _told(), self._transaction():
            self._db.execute("DELETE FROM successor WHERE old = ?", (old,))
            self._db.execute("UPDATE job SET node = ? WHERE node = ?", (new, old))
            self._db.execute("UPDATE OR REPLACE allowed SET node = ? WHERE node = ?", (new, old))

    def allow(self, tool: ToolSpec) -> None:
        """The person has allowed this very tool of its node."""
        with _told():
            self._db.execute(
                "INSERT OR REPLACE INTO allowed VALUES (?, ?, ?, ?)",
                (tool.node, tool.server, tool.name, tool.schema_hash),
            )

    def allowed(self, tool: ToolSpec) -> str:
        """Schema hash of the tool of that node that was allowed under this name; may be empty."""
        with _told():
            row = self._db.execute(
                "SELECT tool_hash FROM allowed WHERE node = ? AND server = ? AND name = ?",
                (tool.node, tool.server, tool.name),
            ).fetchone()
        return "" if row is None else str(row[0])

    def keys(self) -> frozenset[DeviceId]:
        """Keys of this phone for which results that are still to come may be sealed."""
        return frozenset(entry.key for entry in self.unsettled() if entry.result is None)

    def _set(self, job: JobId, **columns: Value) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        with _told():
            self._db.execute(
                f"UPDATE job SET {names} WHERE id = ?",  # noqa: S608  # our own names
                (*columns.values(), job),
            )

    def _rows(self, which: str, *values: Value) -> list[tuple[Value, ...]]:
        with _told():
            return self._db.execute(
                f"SELECT {COLUMNS} FROM job WHERE {which} ORDER BY number",  # noqa: S608  # our own words
                values,
            ).fetchall()

    def _readable(self, rows: Iterable[tuple[Value, ...]]) -> tuple[JobEntry, ...]:
        found: list[JobEntry] = []
        for row in rows:
            try:
                found.append(to_entry(row))
            except IntegrityError:
                _log.error("jobs.bad_entry", job=str(row[0])[:40])
        return tuple(found)

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # a full disk ends it by itself
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextlib.contextmanager
    def _unsynced(self) -> Generator[None]:
        self._db.execute("PRAGMA synchronous = NORMAL")
        try:
            yield
        finally:
            self._db.execute("PRAGMA synchronous = FULL")


@contextlib.contextmanager
def _told() -> Generator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
        if code in _PASSING:
            msg = "the job book cannot be used now"
            hint = "Check the disk's free space and the folder's mode."
            raise UnavailableError(msg, hint) from error
        msg = f"the job book ({JOB_BOOK_FILE}) is damaged"
        hint = "Move it away: jobs go on at their nodes, but this phone forgets them."
        raise IntegrityError(msg, hint) from error
