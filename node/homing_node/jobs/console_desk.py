"""What the person at the node's own console may do with everybody's jobs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from homing_core.approvals import Verdict
from homing_core.errors import ConflictError, HomingError, NotFoundError, UnavailableError
from homing_core.jobs import JobState, Settlement
from homing_crypto.audit.actions import note_tool_run
from homing_crypto.audit.records import CONSOLE, AuditKind

from homing_node.jobs.forms import decode_question
from homing_node.jobs.settling import words_for
from homing_node.jobs.store import Entry, LostJobError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.clock import Clock
    from homing_core.ids import ApprovalId, DeviceId
    from homing_core.jobs import JobEvent, PendingApproval
    from homing_crypto.audit.records import Audit

    from homing_node.jobs.opening import Opener
    from homing_node.jobs.records import Records
    from homing_node.jobs.scheduler import Scheduler
    from homing_node.jobs.store import JobKey, JobRow, Question

_MOST_EVENTS: Final = 1_000
_SAID: Final = {
    Settlement.HAPPENED: "a person says that it happened",
    Settlement.RUN_AGAIN: "a person wants it done again",
}


class ConsoleDesk:
    """`ConsoleJobs`. Belongs to one event loop.

    Args:
        records: where jobs are kept.
        scheduler: runs them.
        opener: opens what is sealed.
        audit: where answers are noted.
        clock: for events.
    """

    def __init__(
        self,
        records: Records,
        scheduler: Scheduler,
        opener: Opener,
        audit: Audit,
        clock: Clock,
    ) -> None:
        """Keep where to look."""
        self._records = records
        self._store = records.store
        self._scheduler = scheduler
        self._opener = opener
        self._audit = audit
        self._clock = clock

    async def rows(self, most: int) -> tuple[JobRow, ...]:
        """See `ConsoleJobs.rows`."""
        return await self._records.call(self._store.jobs, None, most=most)

    async def events_any(self, key: JobKey) -> tuple[JobEvent, ...]:
        """See `ConsoleJobs.events_any`."""
        row = await self._records.call(self._store.get, key)
        after = max(row.last_seq - _MOST_EVENTS, 0)
        return await self._records.call(self._store.events, key, after, _MOST_EVENTS)

    async def cancel_any(self, key: JobKey) -> JobRow:
        """See `ConsoleJobs.cancel_any`."""
        row = await self._records.call(self._store.want_cancel, key)
        return row if row.state.final else await self._scheduler.cancel(row)

    async def pending_any(self) -> tuple[PendingApproval, ...]:
        """See `ConsoleJobs.pending_any`."""
        return await self._shown(lambda _: True)

    async def answer_any(self, approval: ApprovalId, *, allow: bool) -> JobRow:
        """See `ConsoleJobs.answer_any`."""
        question = await self._question(approval)
        if question is None:
            msg = "there is no such question"
            raise NotFoundError(msg, "It may have been answered, or its job ended.")
        verdict = Verdict.ALLOW if allow else Verdict.DENY
        row = await self._answered(question, verdict, CONSOLE)
        self._audit.record(
            AuditKind.APPROVAL,
            actor=CONSOLE,
            device=row.key.account,
            detail={
                "approval": question.id,
                "request": row.request_id,
                "step": question.step,
                "schema": question.tool_hash,
                "verdict": verdict.value,
                "accepted": True,
            },
        )
        return row

    async def settle_any(self, key: JobKey, said: Settlement) -> JobRow:
        """See `ConsoleJobs.settle_any`."""
        return await self._settled(key, said, by_owner=True)

    async def end_account(self, account: DeviceId) -> None:
        """See `ConsoleJobs.end_account`."""
        await self._scheduler.end_account(account)
        dropped = await self._records.call(self._store.drop, (account,))
        for row in dropped:
            self._records.ring(row.key)
            note_tool_run(self._audit, account, row.tool, row.key.id, "dropped")

    async def _settled(self, key: JobKey, said: Settlement, *, by_owner: bool) -> JobRow:
        """Do as somebody says of a job in doubt; done again, it needs an owner's yes again."""
        row = await self._records.call(self._store.get, key)
        if row.state is not JobState.UNKNOWN_EFFECT:
            msg = "this job does not wait for anybody to say whether it happened"
            raise ConflictError(msg, "Look at it again: it may have been said.")
        if said is Settlement.GIVE_UP:
            msg = "nobody knows whether it happened, and a person gave it up"
            error = UnavailableError(msg, "Look whether it happened before you ask again.")
            return await self._scheduler.give_up(row, error)
        cipher, _ = await self._opener.cipher(row)
        effects = await self._records.call(self._store.effects, key)
        words = words_for(row, effects, cipher, said)
        entry = Entry(self._clock.now(), JobState.QUEUED, note=_SAID[said])
        spend = said is Settlement.RUN_AGAIN and not by_owner
        row = await self._records.change(
            key, self._store.settle, row.fence, words, entry, spend=spend
        )
        self._scheduler.queued(row)
        return row

    async def _question(self, approval: ApprovalId) -> Question | None:
        """The question, answered or not; None if there is none."""
        try:
            return await self._records.call(self._store.question, approval)
        except NotFoundError:
            return None

    async def _answered(self, question: Question, verdict: Verdict, by: str) -> JobRow:
        note = "a person allowed it" if verdict is Verdict.ALLOW else "a person said no"
        entry = Entry(self._clock.now(), JobState.QUEUED, note=note)
        row = await self._records.change(
            question.key,
            self._store.answer,
            question.id,
            verdict.value,
            by,
            entry,
            self._clock.now(),
        )
        self._scheduler.queued(row)
        return row

    async def _shown(self, wanted: Callable[[Question], bool]) -> tuple[PendingApproval, ...]:
        """Open questions in plain words; one that cannot be opened keeps no other from it."""
        found: list[PendingApproval] = []
        now = self._clock.now()
        for question in await self._records.call(self._store.questions):
            if not wanted(question) or now >= question.expires_at:
                continue
            with contextlib.suppress(HomingError, LostJobError):
                row = await self._records.call(self._store.get, question.key)
                cipher, _ = await self._opener.cipher(row)
                found.append(decode_question(cipher.open("question", question.shown)))
        return tuple(found)
