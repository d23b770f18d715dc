"""Reading and changing one job within a transaction."""

from __future__ import annotations

import hashlib
import secrets
from itertools import islice
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from homing_node.jobs import refused, transitions
from homing_node.jobs.sql_rows import LOOK, Found, event_values, found, question, row_values
from homing_node.jobs.sql_tables import EVENTS, JOBS, OF_JOB, QUESTIONS, RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from homing_core.jobs import JobEvent

    from homing_node.jobs.sql_engine import JobDatabase
    from homing_node.jobs.store import Fence, JobKey, JobRow, Question

PART_BYTES: Final = 256 * 1024
"""Of a sealed result in one row."""
_PARTS_AT_ONCE: Final = 16
"""Rows of a result in one transaction, 4 MiB: a long one does not keep others from writing."""
_MANY: Final = 500
"""Numbers in one statement."""


def look(
    connection: sa.Connection,
    *where: sa.ColumnElement[bool],
    order: sa.ColumnElement[int] | None = None,
    most: int | None = None,
) -> tuple[Found, ...]:
    """Jobs, oldest first unless another order is said."""
    turn = (JOBS.c.number,) if order is None else (order, JOBS.c.number)
    query = LOOK.where(*where).order_by(*turn).limit(most)
    return tuple(found(values) for values in connection.execute(query).mappings())


def of_key(key: JobKey) -> sa.ColumnElement[bool]:
    """Where a job is this one."""
    return sa.and_(JOBS.c.account == key.account, JOBS.c.id == key.id)


def one(connection: sa.Connection, key: JobKey) -> Found:
    """A job as it is; raises `NotFoundError`."""
    jobs = look(connection, of_key(key))
    if not jobs:
        raise refused.no_such_job()
    return jobs[0]


def locked(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> tuple[Found, ...]:
    """Jobs that nobody else changes until the transaction ends, always in the same order.

    In SQLite the whole transaction is alone, and says nothing of locks.
    """
    query = LOOK.where(*where).order_by(JOBS.c.number).with_for_update(of=JOBS)
    return tuple(found(values) for values in connection.execute(query).mappings())


def locked_one(connection: sa.Connection, key: JobKey) -> Found:
    """One such job; raises `NotFoundError`."""
    jobs = locked(connection, of_key(key))
    if not jobs:
        raise refused.no_such_job()
    return jobs[0]


def fenced(connection: sa.Connection, fence: Fence) -> Found:
    """One such job, whoever has it; raises `LostJobError` if it was forgotten."""
    jobs = locked(connection, of_key(fence.key))
    if not jobs:
        raise refused.lost_job()
    return jobs[0]


def save(connection: sa.Connection, job: Found, row: JobRow) -> None:
    """Write a job's row."""
    values = row_values(row, job.cipher) | {"result_stage": job.stage}
    connection.execute(sa.update(JOBS).where(JOBS.c.number == job.number).values(**values))


def add(connection: sa.Connection, job: Found, change: tuple[JobRow, JobEvent]) -> JobRow:
    """Write a job's row and its new event."""
    row, event = change
    save(connection, job, row)
    connection.execute(sa.insert(EVENTS).values(**event_values(job.number, event, job.cipher)))
    return row


def asked(connection: sa.Connection, job: Found) -> tuple[Question, ...]:
    """A job's questions, oldest first."""
    query = sa.select(QUESTIONS).where(QUESTIONS.c.number == job.number)
    ordered = query.order_by(QUESTIONS.c.at, QUESTIONS.c.id)
    return tuple(question(values, job) for values in connection.execute(ordered).mappings())


def forget(connection: sa.Connection, numbers: Sequence[int]) -> None:
    """Delete jobs and all that belongs to them."""
    for start in range(0, len(numbers), _MANY):
        some = numbers[start : start + _MANY]
        for table in (*OF_JOB, JOBS):
            connection.execute(sa.delete(table).where(table.c.number.in_(some)))


class Incoming:
    """A sealed result on its way in: in parts, the last of them with the job's end.

    Args:
        database: where it goes.
        pieces: the result, in order.

    Attributes:
        stage: what its parts are stored under; they count once the job names it.
        size: bytes so far.
    """

    def __init__(self, database: JobDatabase, pieces: Iterable[bytes]) -> None:
        """Nothing was taken."""
        self.stage = secrets.token_hex(16)
        self.size = 0
        self._database = database
        self._parts = self._cut(pieces)
        self._hash = hashlib.sha256()
        self._written = 0
        self._last: list[bytes] = []

    @property
    def sha256(self) -> str:
        """Of all of it, hex; empty if there is none."""
        return self._hash.hexdigest() if self.size else ""

    def take(self, fence: Fence) -> None:
        """Take all, and store all but the last parts; raises `LostJobError`."""
        self._last = list(islice(self._parts, _PARTS_AT_ONCE))
        while further := list(islice(self._parts, _PARTS_AT_ONCE)):
            with self._database.write() as connection:
                job = fenced(connection, fence)
                transitions.current(job.row, fence)
                self.store(connection, job.number)
            self._last = further

    def store(self, connection: sa.Connection, number: int) -> None:
        """Store the parts that were taken last."""
        rows = [
            {"number": number, "stage": self.stage, "part": part, "data": data}
            for part, data in enumerate(self._last, self._written)
        ]
        if rows:
            connection.execute(sa.insert(RESULTS), rows)
        self._written += len(rows)
        self._last = []

    def discard(self) -> None:
        """Delete what was stored."""
        if self._written:
            with self._database.write() as connection:
                connection.execute(sa.delete(RESULTS).where(RESULTS.c.stage == self.stage))

    def _cut(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        waiting = bytearray()
        for piece in pieces:
            self._hash.update(piece)
            self.size += len(piece)
            waiting += piece
            while len(waiting) >= PART_BYTES:
                yield bytes(waiting[:PART_BYTES])
                del waiting[:PART_BYTES]
        if waiting:
            yield bytes(waiting)


def read_parts(connection: sa.Connection, job: Found, offset: int, most: int) -> bytes:
    """Part of a stored result; raises `NotFoundError` if it is not there any more."""
    end = min(offset + most, job.row.result_bytes)
    if offset >= end:
        return b""
    first = offset // PART_BYTES
    query = (
        sa.select(RESULTS.c.data)
        .where(RESULTS.c.number == job.number, RESULTS.c.stage == job.stage)
        .where(RESULTS.c.part.between(first, (end - 1) // PART_BYTES))
        .order_by(RESULTS.c.part)
    )
    data = b"".join(connection.execute(query).scalars())
    start = offset - first * PART_BYTES
    wanted = data[start : start + end - offset]
    if len(wanted) != end - offset:  # fetched and deleted since the job's row was read
        raise refused.no_result()
    return wanted
