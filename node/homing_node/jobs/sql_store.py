"""Jobs in SQLite or Postgres. What each method does is in `store`, the rules are `transitions`.

Every change is one transaction that locks its job first, so of several threads and daemons one
alone changes it at a time, and event numbers have no gaps. Daemons that share a Postgres compare
each other's leases with their own clocks: keep those together (NTP), well within a lease.

After `finish`, `delivered` and `drop` what was destroyed is in neither the SQLite file nor its log;
what holds of Postgres is said in `sql_engine`.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from homing_core.errors import HomingError
from homing_core.jobs import JobState

from homing_node.jobs import transitions
from homing_node.jobs.sealed import DATA_KEY_BYTES, JobCipher
from homing_node.jobs.sql_access import (
    Incoming,
    add,
    asked,
    fenced,
    forget,
    locked,
    locked_one,
    look,
    of_key,
    one,
    read_parts,
    save,
)
from homing_node.jobs.sql_engine import BUSY_S, JobDatabase
from homing_node.jobs.sql_rows import (
    effect,
    effect_values,
    event,
    event_values,
    note,
    note_values,
    question_values,
    row_values,
)
from homing_node.jobs.sql_tables import (
    EFFECTS,
    EVENTS,
    JOBS,
    NOTES,
    QUESTIONS,
    RESULTS,
    SECRETS,
    SQLITE_KEY_PADDING,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from homing_core.ids import ApprovalId, DeviceId, JobId
    from homing_core.jobs import JobEvent

    from homing_node.jobs.sql_rows import Found
    from homing_node.jobs.store import (
        Effect,
        Ending,
        Entry,
        Fence,
        JobKey,
        JobRow,
        NewJob,
        Question,
    )

_SUBMIT: Final = 1
_ENDED: Final = tuple(state.value for state in JobState if state.final)
_OPEN: Final = JOBS.c.state.not_in(_ENDED)
_RUNNING: Final = JOBS.c.state == JobState.RUNNING.value


class SqlJobStore:
    """A `JobStore` on disk.

    Args:
        database: path of a SQLite file, or a URL; see `sql_engine.JobDatabase`.
        busy_s: how long to wait for another process that writes, in seconds.

    Raises:
        HomingError: as `sql_engine.JobDatabase`.
    """

    def __init__(self, database: Path | str, *, busy_s: float = BUSY_S) -> None:
        """Open it."""
        self._database = JobDatabase(database, busy_s=busy_s)
        self._padding = bytes(SQLITE_KEY_PADDING if self._database.sqlite else 0)

    def submit(self, job: NewJob, most: int, most_of_peer: int) -> tuple[JobRow, bool]:
        """See `JobStore.submit`."""
        with self._database.write() as connection:
            self._database.alone(connection, _SUBMIT)
            if there := look(connection, of_key(job.key)):
                return transitions.same(there[0].row, job), False
            transitions.check_room(
                _count(connection, JOBS.c.account == job.key.account),
                _count(connection, JOBS.c.peer == job.peer) if job.peer else 0,
                most=most,
                most_of_peer=most_of_peer,
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
                _put_question(connection, number, job.question, cipher)
            return row, True

    def get(self, key: JobKey) -> JobRow:
        """See `JobStore.get`."""
        with self._database.read() as connection:
            return one(connection, key).row

    def jobs(
        self, account: DeviceId | None, *, most: int, before: JobId | None = None
    ) -> tuple[JobRow, ...]:
        """See `JobStore.jobs`."""
        where = [sa.true() if account is None else JOBS.c.account == account]
        with self._database.read() as connection:
            if before is not None:
                query = sa.select(sa.func.min(JOBS.c.number)).where(*where, JOBS.c.id == before)
                number = connection.execute(query).scalar_one()
                if number is None:
                    raise transitions.no_such_job()
                where.append(JOBS.c.number < number)
            newest_first = JOBS.c.number.desc()
            return _rows(look(connection, *where, order=newest_first, most=most))

    def unended(self, account: DeviceId | None = None) -> tuple[JobRow, ...]:
        """See `JobStore.unended`."""
        mine = sa.true() if account is None else JOBS.c.account == account
        with self._database.read() as connection:
            return _rows(look(connection, _OPEN, mine))

    def events(self, key: JobKey, after: int, most: int = 1000) -> tuple[JobEvent, ...]:
        """See `JobStore.events`."""
        with self._database.read() as connection:
            job = one(connection, key)
            query = (
                sa.select(EVENTS)
                .where(EVENTS.c.number == job.number, EVENTS.c.seq > after)
                .order_by(EVENTS.c.seq)
                .limit(most)
            )
            return tuple(
                event(values, job.cipher) for values in connection.execute(query).mappings()
            )

    def secrets(self, key: JobKey) -> tuple[bytes, bytes]:
        """See `JobStore.secrets`."""
        with self._database.read() as connection:
            job = one(connection, key)
            query = sa.select(SECRETS.c.data_key, SECRETS.c.payload)
            kept = connection.execute(query.where(SECRETS.c.number == job.number)).first()
            if kept is None:
                raise transitions.has_ended()
            return bytes(kept.data_key[-DATA_KEY_BYTES:]), bytes(kept.payload)

    def queued(self, most: int) -> tuple[JobRow, ...]:
        """See `JobStore.queued`."""
        with self._database.read() as connection:
            waiting = JOBS.c.state == JobState.QUEUED.value
            return _rows(look(connection, waiting, order=JOBS.c.priority.desc(), most=most))

    def claim(
        self, key: JobKey, runner: str, now: float, lease_s: float, *, attempt: int
    ) -> JobRow | None:
        """See `JobStore.claim`."""
        with self._database.write() as connection:
            jobs = locked(connection, of_key(key))
            if not jobs:
                return None
            change = transitions.claimed(jobs[0].row, runner, now, lease_s, attempt)
            return None if change is None else add(connection, jobs[0], change)

    def renew(self, runner: str, now: float, lease_s: float) -> tuple[JobKey, ...]:
        """See `JobStore.renew`."""
        with self._database.write() as connection:
            mine = locked(connection, _RUNNING, JOBS.c.runner == runner)
            connection.execute(
                sa.update(JOBS)
                .where(_RUNNING, JOBS.c.runner == runner)
                .values(lease_until=now + lease_s)
            )
            return tuple(job.row.key for job in mine if job.row.cancel_wanted)

    def lost(self, now: float, runner: str = "") -> tuple[JobRow, ...]:
        """See `JobStore.lost`."""
        gone = sa.or_(JOBS.c.lease_until <= now, JOBS.c.runner == runner)
        with self._database.read() as connection:
            return _rows(look(connection, _RUNNING, gone))

    def append(self, fence: Fence, entry: Entry) -> JobEvent:
        """See `JobStore.append`."""
        with self._database.write() as connection:
            job = fenced(connection, fence)
            change = transitions.moved(transitions.held(job.row, fence), entry)
            add(connection, job, change)
            return change[1]

    def begin_effect(self, fence: Fence, effect: Effect) -> None:
        """See `JobStore.begin_effect`."""
        with self._database.write() as connection:
            job = fenced(connection, fence)
            transitions.may_begin(job.row, fence)
            if any(begun.step == effect.step for begun in _effects(connection, job)):
                raise transitions.begun_already()
            connection.execute(
                sa.insert(EFFECTS).values(**effect_values(job.number, effect, job.seals))
            )

    def finish_effect(self, fence: Fence, step: int, outcome: bytes) -> None:
        """See `JobStore.finish_effect`."""
        with self._database.write() as connection:
            job = fenced(connection, fence)
            transitions.current(job.row, fence)
            begun = [one for one in _effects(connection, job) if one.step == step]
            if not begun:
                raise transitions.never_begun()
            if not begun[0].outcome:
                connection.execute(
                    sa.update(EFFECTS)
                    .where(EFFECTS.c.number == job.number, EFFECTS.c.step == step)
                    .values(outcome=outcome)
                )

    def forget_effect(self, key: JobKey, step: int) -> None:
        """See `JobStore.forget_effect`."""
        with self._database.write() as connection:
            job = locked_one(connection, key)
            transitions.may_forget(job.row)
            connection.execute(
                sa.delete(EFFECTS).where(
                    EFFECTS.c.number == job.number, EFFECTS.c.step == step, EFFECTS.c.outcome == b""
                )
            )

    def effects(self, key: JobKey) -> tuple[Effect, ...]:
        """See `JobStore.effects`."""
        with self._database.read() as connection:
            return _effects(connection, one(connection, key))

    def put_note(self, fence: Fence, name: str, value: bytes) -> None:
        """See `JobStore.put_note`."""
        with self._database.write() as connection:
            job = fenced(connection, fence)
            transitions.held(job.row, fence)
            values = note_values(job.number, name, value, job.seals)
            mine = (NOTES.c.number == job.number, NOTES.c.label == values["label"])
            connection.execute(sa.delete(NOTES).where(*mine))
            connection.execute(sa.insert(NOTES).values(**values))

    def notes(self, key: JobKey) -> dict[str, bytes]:
        """See `JobStore.notes`."""
        with self._database.read() as connection:
            job = one(connection, key)
            query = sa.select(NOTES).where(NOTES.c.number == job.number)
            return dict(note(values, job.seals) for values in connection.execute(query).mappings())

    def ask(self, fence: Fence, question: Question, entry: Entry) -> None:
        """See `JobStore.ask`."""
        with self._database.write() as connection:
            job = fenced(connection, fence)
            transitions.held(job.row, fence)
            _put_question(connection, job.number, question, job.seals)
            add(connection, job, transitions.asked(job.row, question, entry))

    def questions(self, key: JobKey | None = None) -> tuple[Question, ...]:
        """See `JobStore.questions`."""
        with self._database.read() as connection:
            if key is not None:
                return asked(connection, one(connection, key))
            waiting = look(connection, JOBS.c.state == JobState.WAITING_APPROVAL.value)
            every = [question for job in waiting for question in asked(connection, job)]
        unanswered = [question for question in every if not question.verdict]
        return tuple(sorted(unanswered, key=lambda question: (question.at, question.id)))

    def answer(
        self, approval: ApprovalId, verdict: str, answered_by: str, entry: Entry, now: float
    ) -> JobRow:
        """See `JobStore.answer`."""
        with self._database.write() as connection:
            of_question = sa.select(QUESTIONS.c.number).where(QUESTIONS.c.id == approval)
            jobs = locked(connection, JOBS.c.number.in_(of_question))
            if not jobs:
                raise transitions.no_such_question()
            job = jobs[0]
            (question,) = (one for one in asked(connection, job) if one.id == approval)
            after = transitions.answered(job.row, question, verdict, answered_by, now)
            if after is None:
                return job.row
            connection.execute(
                sa.update(QUESTIONS)
                .where(QUESTIONS.c.id == approval)
                .values(verdict=after.verdict, answered_by=after.answered_by)
            )
            return add(connection, job, transitions.moved(job.row, entry))

    def requeue(self, key: JobKey, entry: Entry, *, from_state: JobState) -> JobRow:
        """See `JobStore.requeue`."""
        with self._database.write() as connection:
            job = locked_one(connection, key)
            return add(connection, job, transitions.requeued(job.row, entry, from_state))

    def want_cancel(self, key: JobKey) -> JobRow:
        """See `JobStore.want_cancel`."""
        with self._database.write() as connection:
            job = locked_one(connection, key)
            row = job.row if job.row.state.final else replace(job.row, cancel_wanted=True)
            save(connection, job, row)
            return row

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

    def read_result(self, key: JobKey, offset: int, most: int) -> bytes:
        """See `JobStore.read_result`."""
        with self._database.read() as connection:
            job = one(connection, key)
            if not job.row.result_bytes:
                raise transitions.no_result()
            return read_parts(connection, job, offset, most)

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
                gone.extend(job.row for job in jobs if not job.row.state.final)
        self._database.wipe()
        return tuple(gone)

    def prune(self, ended_before: float, undelivered_before: float) -> int:
        """See `JobStore.prune`."""
        touched: set[int] = set()
        with self._database.write() as connection:
            final, waits = JOBS.c.state.in_(_ENDED), JOBS.c.result_bytes > 0
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


def _rows(jobs: tuple[Found, ...]) -> tuple[JobRow, ...]:
    return tuple(job.row for job in jobs)


def _count(connection: sa.Connection, where: sa.ColumnElement[bool]) -> int:
    query = sa.select(sa.func.count()).select_from(JOBS).where(_OPEN, where)
    return int(connection.execute(query).scalar_one())


def _effects(connection: sa.Connection, job: Found) -> tuple[Effect, ...]:
    query = sa.select(EFFECTS).where(EFFECTS.c.number == job.number).order_by(EFFECTS.c.step)
    return tuple(effect(values, job.seals) for values in connection.execute(query).mappings())


def _put_question(
    connection: sa.Connection, number: int, question: Question, cipher: JobCipher
) -> None:
    if connection.execute(sa.select(QUESTIONS.c.id).where(QUESTIONS.c.id == question.id)).first():
        raise transitions.asked_already()
    connection.execute(sa.insert(QUESTIONS).values(**question_values(number, question, cipher)))


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
