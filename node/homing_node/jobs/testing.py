"""Fakes of the boundaries of jobs. They ship with the package."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homing_core.jobs import JobEvent, JobState

from homing_node.jobs import refused, transitions
from homing_node.jobs.store import BURIED_S, MOST_BURIED, Effect, JobRow, Question

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from homing_core.ids import ApprovalId, DeviceId

    from homing_node.jobs.store import Ending, Entry, Fence, JobKey, NewJob


@dataclass
class _Kept:
    number: int
    row: JobRow
    events: list[JobEvent]
    data_key: bytes = field(repr=False)
    payload: bytes = field(repr=False)
    effects: dict[int, Effect] = field(default_factory=dict[int, Effect])
    notes: dict[str, bytes] = field(default_factory=dict[str, bytes])
    questions: list[Question] = field(default_factory=list[Question])
    result: bytes = field(default=b"", repr=False)

    def apply(self, change: tuple[JobRow, JobEvent]) -> JobEvent:
        self.row, event = change
        self.events.append(event)
        return event


class MemoryJobStore:
    """A `JobStore` that forgets when its process ends. See `JobStore` for what each method does."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.RLock()
        self._jobs: dict[JobKey, _Kept] = {}
        self._buried: dict[JobKey, float] = {}
        self._made = 0

    def submit(
        self, job: NewJob, most: int, most_of_peer: int, most_waiting: int = 0
    ) -> tuple[JobRow, bool]:
        """See `JobStore.submit`."""
        with self._lock:
            if (there := self._jobs.get(job.key)) is not None:
                return transitions.same(there.row, job), False
            if job.key in self._buried:
                raise refused.ended_unseen()
            open_rows = [one.row for one in self._jobs.values() if not one.row.state.final]
            transitions.check_room(
                sum(row.key.account == job.key.account for row in open_rows),
                sum(bool(job.peer) and row.peer == job.peer for row in open_rows),
                most=most,
                most_of_peer=most_of_peer,
            )
            rows = self._rows()
            of_peer = [row for row in rows if job.peer and row.peer == job.peer]
            transitions.check_waiting(
                sum(row.result_bytes for row in rows if row.key.account == job.key.account),
                sum(row.result_bytes for row in of_peer),
                most_waiting,
            )
            row, event = transitions.first(job)
            asked = [] if job.question is None else [job.question]
            self._check_unasked(asked)
            self._made += 1
            self._jobs[job.key] = _Kept(
                self._made, row, [event], job.data_key, job.payload, questions=asked
            )
            return row, True

    def get(self, key: JobKey) -> JobRow:
        """See `JobStore.get`."""
        with self._lock:
            return self._kept(key).row

    def jobs(
        self, account: DeviceId | None, *, most: int, before: JobKey | None = None
    ) -> tuple[JobRow, ...]:
        """See `JobStore.jobs`."""
        with self._lock:
            mine = [one for one in self._jobs.values() if account in {None, one.row.key.account}]
            if before is not None:
                number = self._kept(before).number
                mine = [one for one in mine if one.number < number]
            return tuple(one.row for one in reversed(mine))[:most]

    def unended(self, account: DeviceId | None = None) -> tuple[JobRow, ...]:
        """See `JobStore.unended`."""
        with self._lock:
            return tuple(
                one.row
                for one in self._jobs.values()
                if not one.row.state.final and account in {None, one.row.key.account}
            )

    def events(self, key: JobKey, after: int, most: int = 1000) -> tuple[JobEvent, ...]:
        """See `JobStore.events`."""
        with self._lock:
            start = max(after, 0)
            return tuple(self._kept(key).events[start : start + most])

    def secrets(self, key: JobKey) -> tuple[bytes, bytes]:
        """See `JobStore.secrets`."""
        with self._lock:
            kept = self._kept(key)
            if kept.row.state.final:
                raise refused.has_ended()
            return kept.data_key, kept.payload

    def queued(self, most: int) -> tuple[JobRow, ...]:
        """See `JobStore.queued`."""
        with self._lock:
            waiting = [row for row in self._rows() if row.state is JobState.QUEUED]
            return tuple(sorted(waiting, key=lambda row: -row.priority))[:most]

    def claim(
        self, key: JobKey, runner: str, now: float, lease_s: float, *, attempt: int
    ) -> JobRow | None:
        """See `JobStore.claim`."""
        with self._lock:
            kept = self._jobs.get(key)
            if kept is None:
                return None
            change = transitions.claimed(kept.row, runner, now, lease_s, attempt)
            if change is None:
                return None
            kept.apply(change)
            return kept.row

    def time(self, own: float) -> float:
        """See `JobStore.time`."""
        return own

    def renew(self, runner: str, now: float, lease_s: float) -> tuple[JobRow, ...]:
        """See `JobStore.renew`."""
        with self._lock:
            mine = [
                one
                for one in self._jobs.values()
                if one.row.state is JobState.RUNNING and one.row.runner == runner
            ]
            for one in mine:
                one.row = replace(one.row, lease_until=now + lease_s)
            return tuple(one.row for one in mine)

    def lost(self, now: float, runner: str = "") -> tuple[JobRow, ...]:
        """See `JobStore.lost`."""
        with self._lock:
            return tuple(row for row in self._rows() if transitions.lost(row, now, runner))

    def append(self, fence: Fence, entry: Entry) -> JobEvent:
        """See `JobStore.append`."""
        with self._lock:
            kept = self._fenced(fence)
            return kept.apply(transitions.moved(transitions.held(kept.row, fence), entry))

    def begin_effect(self, fence: Fence, effect: Effect) -> None:
        """See `JobStore.begin_effect`."""
        with self._lock:
            kept = self._fenced(fence)
            transitions.may_begin(kept.row, fence)
            if effect.step in kept.effects:
                raise refused.begun_already()
            kept.effects[effect.step] = effect

    def finish_effect(self, fence: Fence, step: int, outcome: bytes) -> None:
        """See `JobStore.finish_effect`."""
        with self._lock:
            kept = self._fenced(fence)
            transitions.current(kept.row, fence)
            effect = kept.effects.get(step)
            if effect is None:
                raise refused.never_begun()
            if not effect.outcome:
                kept.effects[step] = replace(effect, outcome=outcome)

    def effects(self, key: JobKey) -> tuple[Effect, ...]:
        """See `JobStore.effects`."""
        with self._lock:
            return tuple(effect for _, effect in sorted(self._kept(key).effects.items()))

    def put_note(self, fence: Fence, name: str, value: bytes) -> None:
        """See `JobStore.put_note`."""
        with self._lock:
            kept = self._fenced(fence)
            transitions.held(kept.row, fence)
            kept.notes[name] = value

    def notes(self, key: JobKey) -> dict[str, bytes]:
        """See `JobStore.notes`."""
        with self._lock:
            return dict(self._kept(key).notes)

    def ask(self, fence: Fence, question: Question, entry: Entry) -> None:
        """See `JobStore.ask`."""
        with self._lock:
            kept = self._fenced(fence)
            transitions.held(kept.row, fence)
            self._check_unasked([question])
            kept.apply(transitions.asked(kept.row, question, entry))
            kept.questions.append(question)

    def questions(self, key: JobKey | None = None) -> tuple[Question, ...]:
        """See `JobStore.questions`."""
        with self._lock:
            if key is not None:
                return tuple(self._kept(key).questions)
            return tuple(
                question
                for question in self._questions()
                if not question.verdict
                and self._kept(question.key).row.state is JobState.WAITING_APPROVAL
            )

    def question(self, approval: ApprovalId) -> Question:
        """See `JobStore.question`."""
        with self._lock:
            found = next((one for one in self._questions() if one.id == approval), None)
            if found is None:
                raise refused.no_such_question()
            return found

    def answer(
        self, approval: ApprovalId, verdict: str, answered_by: str, entry: Entry, now: float
    ) -> JobRow:
        """See `JobStore.answer`."""
        with self._lock:
            question = next((one for one in self._questions() if one.id == approval), None)
            if question is None:
                raise refused.no_such_question()
            kept = self._kept(question.key)
            after = transitions.answered(kept.row, question, verdict, answered_by, now)
            if after is not None:
                kept.apply(transitions.moved(kept.row, entry))
                kept.questions[kept.questions.index(question)] = after
            return kept.row

    def settle(
        self, fence: Fence, words: Mapping[int, bytes | None], entry: Entry, *, spend: bool
    ) -> JobRow:
        """See `JobStore.settle`."""
        with self._lock:
            kept = self._kept(fence.key)
            change = transitions.settled(kept.row, fence, entry)
            for step, word in words.items():
                if word is None:
                    kept.effects.pop(step, None)
                elif step in kept.effects:
                    kept.effects[step] = replace(kept.effects[step], outcome=word)
            if spend:
                kept.questions = [transitions.spent(question) for question in kept.questions]
            kept.apply(change)
            return kept.row

    def want_cancel(self, key: JobKey) -> JobRow:
        """See `JobStore.want_cancel`."""
        with self._lock:
            kept = self._kept(key)
            if not kept.row.state.final:
                kept.row = replace(kept.row, cancel_wanted=True)
            return kept.row

    def bury(self, key: JobKey, now: float) -> JobRow | None:
        """See `JobStore.bury`."""
        with self._lock:
            if key in self._jobs:
                return self._jobs[key].row
            kept = {one: at for one, at in self._buried.items() if at >= now - BURIED_S}
            if key not in kept:
                if sum(one.account == key.account for one in kept) >= MOST_BURIED:
                    raise refused.ended_too_many()
                kept[key] = now
            self._buried = kept
            return None

    def finish(self, fence: Fence, ending: Ending) -> JobRow:
        """See `JobStore.finish`."""
        sealed = b"".join(ending.result)
        sha256 = hashlib.sha256(sealed).hexdigest() if sealed else ""
        with self._lock:
            kept = self._fenced(fence)
            transitions.current(kept.row, fence)
            transitions.check_hash(ending, sha256)
            kept.apply(transitions.ended(kept.row, ending, len(sealed), sha256))
            kept.data_key = kept.payload = b""
            kept.notes.clear()
            kept.effects.clear()
            kept.questions = [transitions.blanked(question) for question in kept.questions]
            kept.events = [transitions.without_note(event) for event in kept.events]
            kept.result = sealed
            return kept.row

    def read_result(self, key: JobKey, offset: int, most: int) -> bytes:
        """See `JobStore.read_result`."""
        with self._lock:
            kept = self._kept(key)
            if not kept.row.result_bytes:
                raise refused.no_result()
            return kept.result[offset : offset + most]

    def delivered(self, key: JobKey, sha256: str, now: float) -> JobRow:
        """See `JobStore.delivered`."""
        with self._lock:
            kept = self._kept(key)
            kept.row = transitions.received(kept.row, sha256, now)
            kept.result = b""
            return kept.row

    def drop(self, accounts: Collection[DeviceId]) -> tuple[JobRow, ...]:
        """See `JobStore.drop`."""
        with self._lock:
            gone = [row for row in self._rows() if row.key.account in accounts]
            for row in gone:
                del self._jobs[row.key]
            self._buried = {
                one: at for one, at in self._buried.items() if one.account not in accounts
            }
            return tuple(row for row in gone if not row.state.final)

    def prune(self, ended_before: float, undelivered_before: float) -> int:
        """See `JobStore.prune`."""
        with self._lock:
            touched: set[JobKey] = set()
            for kept in list(self._jobs.values()):
                row = kept.row
                if row.result_bytes and row.ended_at < undelivered_before:
                    kept.row, kept.result = transitions.expired(row), b""
                    touched.add(row.key)
                if row.state.final and not kept.row.result_bytes and row.ended_at < ended_before:
                    del self._jobs[row.key]
                    touched.add(row.key)
            return len(touched)

    def close(self) -> None:
        """See `JobStore.close`."""

    def _kept(self, key: JobKey) -> _Kept:
        kept = self._jobs.get(key)
        if kept is None:
            raise refused.no_such_job()
        return kept

    def _fenced(self, fence: Fence) -> _Kept:
        kept = self._jobs.get(fence.key)
        if kept is None:
            raise refused.lost_job()
        return kept

    def _rows(self) -> list[JobRow]:
        return [one.row for one in self._jobs.values()]

    def _check_unasked(self, new: list[Question]) -> None:
        if {one.id for one in new}.intersection(one.id for one in self._questions()):
            raise refused.asked_already()

    def _questions(self) -> list[Question]:
        asked = [question for one in self._jobs.values() for question in one.questions]
        return sorted(asked, key=lambda question: question.at)
