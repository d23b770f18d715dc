"""Jobs in SQLite or Postgres. What each method does is in `store`, the rules are `transitions`.

Every change is one transaction that locks its job first, so of several threads and daemons one
alone changes it at a time, and event numbers have no gaps. Daemons that share a Postgres compare
leases by its clock; see `JobStore.time`.

After `finish`, `delivered` and `drop` what was destroyed is in neither the SQLite file nor its log;
what holds of Postgres is said in `sql_engine`.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from homing_core.errors import HomingError

from homing_node.jobs import refused, transitions
from homing_node.jobs.sealed import JobCipher
from homing_node.jobs.sql_access import (
    Incoming,
    add,
    fenced,
    forget,
    locked,
    locked_one,
    look,
    of_key,
    save,
)
from homing_node.jobs.sql_engine import BUSY_S, JobDatabase
from homing_node.jobs.sql_looking import ENDED, OPEN, SqlLooking
from homing_node.jobs.sql_persons import SqlPersons, put_question
from homing_node.jobs.sql_rows import (
    event_values,
    row_values,
)
from homing_node.jobs.sql_running import SqlRunning
from homing_node.jobs.sql_tables import (
    BURIED,
    EFFECTS,
    EVENTS,
    JOBS,
    NOTES,
    QUESTIONS,
    RESULTS,
    SECRETS,
    SQLITE_KEY_PADDING,
)
from homing_node.jobs.store import BURIED_S, MOST_BURIED

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from homing_core.ids import DeviceId

    from homing_node.jobs.store import (
        Ending,
        Fence,
        JobKey,
        JobRow,
        NewJob,
    )

_SUBMIT: Final = 1


class SqlJobStore(SqlLooking, SqlRunning, SqlPersons):
    """A `JobStore` on disk.

    Args:
        database: path of a SQLite file, or a URL; see `sql_engine.JobDatabase`.
        busy_s: how long to wait for another process that writes, in seconds.

    Raises:
        HomingError: as `sql_engine.JobDatabase`.
    """

    def __init__(self, database: Path | str, *, busy_s: float = BUSY_S) -> None:
        """Open it."""
        super().__init__(JobDatabase(database, busy_s=busy_s))
        self._padding = bytes(SQLITE_KEY_PADDING if self._database.sqlite else 0)

    def submit(
        self, job: NewJob, most: int, most_of_peer: int, most_waiting: int = 0
    ) -> tuple[JobRow, bool]:
        """See `JobStore.submit`."""
        with self._database.write() as connection:
            self._database.alone(connection, _SUBMIT)
            if there := look(connection, of_key(job.key)):
                return transitions.same(there[0].row, job), False
            if connection.execute(sa.select(BURIED.c.id).where(*_grave(job.key))).first():
                raise refused.ended_unseen()
            transitions.check_room(
                _count(connection, JOBS.c.account == job.key.account),
                _count(connection, JOBS.c.peer == job.peer) if job.peer else 0,
                most=most,
                most_of_peer=most_of_peer,
            )
            transitions.check_waiting(
                _waiting(connection, JOBS.c.account == job.key.account),
                _waiting(connection, JOBS.c.peer == job.peer) if job.peer else 0,
                most_waiting,
            )
            row, first = transitions.first(job)
            cipher = JobCipher(job.key, job.data_key)
            made = connection.execute(
                sa.insert(JOBS).values(**row_values(row, cipher)).returning(JOBS.c.number)
            )
            number = made.scalar_one()
            connection.execute(
                sa.insert(SECRETS).values(
                    number=number, payload=job.payload, data_key=self._padding + job.data_key
                )
            )
            connection.execute(sa.insert(EVENTS).values(**event_values(number, first, cipher)))
            if job.question is not None:
                put_question(connection, number, job.question, cipher)
            return row, True

    def bury(self, key: JobKey, now: float) -> JobRow | None:
        """See `JobStore.bury`."""
        with self._database.write() as connection:
            self._database.alone(connection, _SUBMIT)
            if there := look(connection, of_key(key)):
                return there[0].row
            connection.execute(sa.delete(BURIED).where(BURIED.c.at < now - BURIED_S))
            if connection.execute(sa.select(BURIED.c.id).where(*_grave(key))).first():
                return None
            mine = sa.select(sa.func.count()).where(BURIED.c.account == key.account)
            if int(connection.execute(mine).scalar_one()) >= MOST_BURIED:
                raise refused.ended_too_many()
            connection.execute(sa.insert(BURIED).values(account=key.account, id=key.id, at=now))
            return None

    def finish(self, fence: Fence, ending: Ending) -> JobRow:
        """See `JobStore.finish`."""
        incoming = Incoming(self._database, ending.result)
        try:
            incoming.take(fence)
            transitions.check_hash(ending, incoming.sha256)
            with self._database.write() as connection:
                job = fenced(connection, fence)
                transitions.current(job.row, fence)
                change = transitions.ended(job.row, ending, incoming.size, incoming.sha256)
                incoming.store(connection, job.number)
                row = add(connection, replace(job, stage=incoming.stage), change)
                _destroy(connection, job.number, incoming.stage)
        except BaseException:
            with contextlib.suppress(HomingError):
                incoming.discard()
            raise
        self._database.wipe()
        return row

    def delivered(self, key: JobKey, sha256: str, now: float) -> JobRow:
        """See `JobStore.delivered`."""
        with self._database.write() as connection:
            job = locked_one(connection, key)
            row = transitions.received(job.row, sha256, now)
            connection.execute(sa.delete(RESULTS).where(RESULTS.c.number == job.number))
            save(connection, job, row)
        self._database.wipe()
        return row

    def drop(self, accounts: Collection[DeviceId]) -> tuple[JobRow, ...]:
        """See `JobStore.drop`."""
        gone: list[JobRow] = []
        with self._database.write() as connection:
            for account in sorted(accounts):
                jobs = locked(connection, JOBS.c.account == account)
                forget(connection, [job.number for job in jobs])
                connection.execute(sa.delete(BURIED).where(BURIED.c.account == account))
                gone.extend(job.row for job in jobs if not job.row.state.final)
        self._database.wipe()
        return tuple(gone)

    def prune(self, ended_before: float, undelivered_before: float) -> int:
        """See `JobStore.prune`."""
        touched: set[int] = set()
        with self._database.write() as connection:
            final, waits = JOBS.c.state.in_(ENDED), JOBS.c.result_bytes > 0
            for job in locked(connection, final, waits, JOBS.c.ended_at < undelivered_before):
                save(connection, job, transitions.expired(job.row))
                connection.execute(sa.delete(RESULTS).where(RESULTS.c.number == job.number))
                touched.add(job.number)
            old = locked(connection, final, sa.not_(waits), JOBS.c.ended_at < ended_before)
            forget(connection, [job.number for job in old])
            touched.update(job.number for job in old)
        self._database.wipe()
        return len(touched)

    def close(self) -> None:
        """See `JobStore.close`."""
        self._database.close()


def _grave(key: JobKey) -> tuple[sa.ColumnElement[bool], ...]:
    return BURIED.c.account == key.account, BURIED.c.id == key.id


def _count(connection: sa.Connection, where: sa.ColumnElement[bool]) -> int:
    query = sa.select(sa.func.count()).select_from(JOBS).where(OPEN, where)
    return int(connection.execute(query).scalar_one())


def _waiting(connection: sa.Connection, where: sa.ColumnElement[bool]) -> int:
    """Bytes of results that nobody has fetched."""
    query = sa.select(sa.func.coalesce(sa.func.sum(JOBS.c.result_bytes), 0)).where(where)
    return int(connection.execute(query).scalar_one())


def _destroy(connection: sa.Connection, number: int, stage: str) -> None:
    """All that was the job's own, and parts of results that did not become its result."""
    for table in (SECRETS, EFFECTS, NOTES):
        connection.execute(sa.delete(table).where(table.c.number == number))
    mine = RESULTS.c.number == number
    connection.execute(sa.delete(RESULTS).where(mine, RESULTS.c.stage != stage))
    connection.execute(
        sa.update(QUESTIONS)
        .where(QUESTIONS.c.number == number)
        .values(shown=b"", argument_hash=b"")
    )
