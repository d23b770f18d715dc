"""Questions to persons and what they say, in a database."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from homing_node.jobs import refused, transitions
from homing_node.jobs.sql_access import (
    add,
    asked,
    fenced,
    locked,
    locked_one,
    save,
)
from homing_node.jobs.sql_looking import SqlPart
from homing_node.jobs.sql_rows import (
    question_values,
)
from homing_node.jobs.sql_tables import (
    EFFECTS,
    JOBS,
    QUESTIONS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.ids import ApprovalId

    from homing_node.jobs.sealed import JobCipher
    from homing_node.jobs.store import (
        Entry,
        Fence,
        JobKey,
        JobRow,
        Question,
    )


class SqlPersons(SqlPart):
    """The part of a `JobStore` for persons; see there for what each method does."""

    def ask(self, fence: Fence, question: Question, entry: Entry) -> None:
        """See `JobStore.ask`."""
        with self._database.write() as connection:
            job = fenced(connection, fence)
            transitions.held(job.row, fence)
            put_question(connection, job.number, question, job.seals)
            add(connection, job, transitions.asked(job.row, question, entry))

    def answer(
        self, approval: ApprovalId, verdict: str, answered_by: str, entry: Entry, now: float
    ) -> JobRow:
        """See `JobStore.answer`."""
        with self._database.write() as connection:
            of_question = sa.select(QUESTIONS.c.number).where(QUESTIONS.c.id == approval)
            jobs = locked(connection, JOBS.c.number.in_(of_question))
            if not jobs:
                raise refused.no_such_question()
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

    def settle(
        self, fence: Fence, words: Mapping[int, bytes | None], entry: Entry, *, spend: bool
    ) -> JobRow:
        """See `JobStore.settle`."""
        with self._database.write() as connection:
            job = locked_one(connection, fence.key)
            change = transitions.settled(job.row, fence, entry)
            for step, word in words.items():
                mine = (EFFECTS.c.number == job.number, EFFECTS.c.step == step)
                if word is None:
                    connection.execute(sa.delete(EFFECTS).where(*mine))
                else:
                    connection.execute(sa.update(EFFECTS).where(*mine).values(outcome=word))
            for question in asked(connection, job) if spend else ():
                connection.execute(
                    sa.update(QUESTIONS)
                    .where(QUESTIONS.c.id == question.id)
                    .values(spent=transitions.spent(question).spent)
                )
            return add(connection, job, change)

    def want_cancel(self, key: JobKey) -> JobRow:
        """See `JobStore.want_cancel`."""
        with self._database.write() as connection:
            job = locked_one(connection, key)
            row = job.row if job.row.state.final else replace(job.row, cancel_wanted=True)
            save(connection, job, row)
            return row


def put_question(
    connection: sa.Connection, number: int, question: Question, cipher: JobCipher
) -> None:
    """Store a question; raises `ConflictError` if its id was used."""
    if connection.execute(sa.select(QUESTIONS.c.id).where(QUESTIONS.c.id == question.id)).first():
        raise refused.asked_already()
    connection.execute(sa.insert(QUESTIONS).values(**question_values(number, question, cipher)))
