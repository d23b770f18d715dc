"""Attempts at jobs, as they are written down in a database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from homing_node.jobs import refused, transitions
from homing_node.jobs.sql_access import (
    add,
    fenced,
    locked,
    of_key,
)
from homing_node.jobs.sql_looking import RUNNING, SqlPart, effects_of
from homing_node.jobs.sql_rows import (
    effect_values,
    note_values,
)
from homing_node.jobs.sql_tables import (
    EFFECTS,
    JOBS,
    NOTES,
)

if TYPE_CHECKING:
    from homing_core.jobs import JobEvent

    from homing_node.jobs.store import (
        Effect,
        Entry,
        Fence,
        JobKey,
        JobRow,
    )


class SqlRunning(SqlPart):
    """The part of a `JobStore` for who runs a job; see there for what each method does."""

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

    def time(self, own: float) -> float:
        """See `JobStore.time`."""
        if self._database.sqlite:
            return own
        with self._database.read() as connection:
            query = sa.select(sa.extract("epoch", sa.func.clock_timestamp()))
            return float(connection.execute(query).scalar_one())

    def renew(self, runner: str, now: float, lease_s: float) -> tuple[JobRow, ...]:
        """See `JobStore.renew`."""
        with self._database.write() as connection:
            mine = locked(connection, RUNNING, JOBS.c.runner == runner)
            connection.execute(
                sa.update(JOBS)
                .where(RUNNING, JOBS.c.runner == runner)
                .values(lease_until=now + lease_s)
            )
            return tuple(replace(job.row, lease_until=now + lease_s) for job in mine)

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
            if any(begun.step == effect.step for begun in effects_of(connection, job)):
                raise refused.begun_already()
            connection.execute(
                sa.insert(EFFECTS).values(**effect_values(job.number, effect, job.seals))
            )

    def finish_effect(self, fence: Fence, step: int, outcome: bytes) -> None:
        """See `JobStore.finish_effect`."""
        with self._database.write() as connection:
            job = fenced(connection, fence)
            transitions.current(job.row, fence)
            begun = [one for one in effects_of(connection, job) if one.step == step]
            if not begun:
                raise refused.never_begun()
            if not begun[0].outcome:
                connection.execute(
                    sa.update(EFFECTS)
                    .where(EFFECTS.c.number == job.number, EFFECTS.c.step == step)
                    .values(outcome=outcome)
                )

    def put_note(self, fence: Fence, name: str, value: bytes) -> None:
        """See `JobStore.put_note`."""
        with self._database.write() as connection:
            job = fenced(connection, fence)
            transitions.held(job.row, fence)
            values = note_values(job.number, name, value, job.seals)
            mine = (NOTES.c.number == job.number, NOTES.c.label == values["label"])
            connection.execute(sa.delete(NOTES).where(*mine))
            connection.execute(sa.insert(NOTES).values(**values))
