"""Looking at jobs in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from homing_core.jobs import JobState

from homing_node.jobs import refused
from homing_node.jobs.sealed import DATA_KEY_BYTES
from homing_node.jobs.sql_access import (
    asked,
    look,
    one,
    read_parts,
)
from homing_node.jobs.sql_rows import (
    effect,
    event,
    note,
)
from homing_node.jobs.sql_tables import (
    EFFECTS,
    EVENTS,
    JOBS,
    NOTES,
    QUESTIONS,
    SECRETS,
)

if TYPE_CHECKING:
    from homing_core.ids import ApprovalId, DeviceId
    from homing_core.jobs import JobEvent

    from homing_node.jobs.sql_engine import JobDatabase
    from homing_node.jobs.sql_rows import Found
    from homing_node.jobs.store import (
        Effect,
        JobKey,
        JobRow,
        Question,
    )

ENDED: Final = tuple(state.value for state in JobState if state.final)
OPEN: Final = JOBS.c.state.not_in(ENDED)
RUNNING: Final = JOBS.c.state == JobState.RUNNING.value


class SqlPart:
    """What the parts of the store have in common.

    Args:
        database: an open one.
    """

    def __init__(self, database: JobDatabase) -> None:
        """Keep it."""
        self._database = database


class SqlLooking(SqlPart):
    """The part of a `JobStore` that changes nothing; see there for what each method does."""

    def get(self, key: JobKey) -> JobRow:
        """See `JobStore.get`."""
        with self._database.read() as connection:
            return one(connection, key).row

    def jobs(
        self, account: DeviceId | None, *, most: int, before: JobKey | None = None
    ) -> tuple[JobRow, ...]:
        """See `JobStore.jobs`."""
        where = [sa.true() if account is None else JOBS.c.account == account]
        with self._database.read() as connection:
            if before is not None:
                where.append(JOBS.c.number < one(connection, before).number)
            newest_first = JOBS.c.number.desc()
            return _rows(look(connection, *where, order=newest_first, most=most))

    def unended(self, account: DeviceId | None = None) -> tuple[JobRow, ...]:
        """See `JobStore.unended`."""
        mine = sa.true() if account is None else JOBS.c.account == account
        with self._database.read() as connection:
            return _rows(look(connection, OPEN, mine))

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
                raise refused.has_ended()
            return bytes(kept.data_key[-DATA_KEY_BYTES:]), bytes(kept.payload)

    def queued(self, most: int) -> tuple[JobRow, ...]:
        """See `JobStore.queued`."""
        with self._database.read() as connection:
            waiting = JOBS.c.state == JobState.QUEUED.value
            return _rows(look(connection, waiting, order=JOBS.c.priority.desc(), most=most))

    def lost(self, now: float, runner: str = "") -> tuple[JobRow, ...]:
        """See `JobStore.lost`."""
        gone = sa.or_(JOBS.c.lease_until <= now, JOBS.c.runner == runner)
        with self._database.read() as connection:
            return _rows(look(connection, RUNNING, gone))

    def effects(self, key: JobKey) -> tuple[Effect, ...]:
        """See `JobStore.effects`."""
        with self._database.read() as connection:
            return effects_of(connection, one(connection, key))

    def notes(self, key: JobKey) -> dict[str, bytes]:
        """See `JobStore.notes`."""
        with self._database.read() as connection:
            job = one(connection, key)
            query = sa.select(NOTES).where(NOTES.c.number == job.number)
            return dict(note(values, job.seals) for values in connection.execute(query).mappings())

    def questions(self, key: JobKey | None = None) -> tuple[Question, ...]:
        """See `JobStore.questions`."""
        with self._database.read() as connection:
            if key is not None:
                return asked(connection, one(connection, key))
            waiting = look(connection, JOBS.c.state == JobState.WAITING_APPROVAL.value)
            every = [question for job in waiting for question in asked(connection, job)]
        unanswered = [question for question in every if not question.verdict]
        return tuple(sorted(unanswered, key=lambda question: (question.at, question.id)))

    def question(self, approval: ApprovalId) -> Question:
        """See `JobStore.question`."""
        of_question = sa.select(QUESTIONS.c.number).where(QUESTIONS.c.id == approval)
        with self._database.read() as connection:
            for job in look(connection, JOBS.c.number.in_(of_question)):
                for found in asked(connection, job):
                    if found.id == approval:
                        return found
        raise refused.no_such_question()

    def read_result(self, key: JobKey, offset: int, most: int) -> bytes:
        """See `JobStore.read_result`."""
        with self._database.read() as connection:
            job = one(connection, key)
            if not job.row.result_bytes:
                raise refused.no_result()
            return read_parts(connection, job, offset, most)


def _rows(jobs: tuple[Found, ...]) -> tuple[JobRow, ...]:
    return tuple(job.row for job in jobs)


def effects_of(connection: sa.Connection, job: Found) -> tuple[Effect, ...]:
    """Calls of a job that were recorded, by step."""
    query = sa.select(EFFECTS).where(EFFECTS.c.number == job.number).order_by(EFFECTS.c.step)
    return tuple(effect(values, job.seals) for values in connection.execute(query).mappings())
