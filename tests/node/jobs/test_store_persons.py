"""What every store of jobs does: questions to persons, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import pytest
from homing_core.errors import (
    ConflictError,
)
from homing_core.ids import new_job_id
from homing_core.jobs import JobState
from homing_node.jobs.store import JobKey, LostJobError
from support.job_rows import (
    ANN,
    BOB,
    DAEMON,
    LEASE_S,
    NOW,
    ending,
    entry,
    new_job,
    put,
    question,
    running,
    states,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_node.jobs.store import JobStore

Opener: TypeAlias = "Callable[[], JobStore]"


def test_a_question_waits_and_its_answer_goes_back_to_the_queue(store: JobStore) -> None:
    row = running(store)
    asked = question(row.key)
    store.ask(row.fence, asked, entry(JobState.WAITING_APPROVAL, note="may I"))
    assert store.get(row.key).state is JobState.WAITING_APPROVAL
    assert store.events(row.key, 2)[0].approval_id == asked.id
    assert store.questions() == store.questions(row.key) == (asked,)
    assert store.question(asked.id) == asked
    after = store.answer(asked.id, "allow", BOB, entry(JobState.QUEUED), NOW + 1)
    assert after.state is JobState.QUEUED
    (answered,) = store.questions(row.key)
    assert (answered.verdict, answered.answered_by, answered.shown) == ("allow", BOB, asked.shown)
    assert store.questions() == ()
    assert store.question(asked.id) == answered
    assert store.answer(asked.id, "allow", BOB, entry(JobState.QUEUED), NOW + 2) == after
    with pytest.raises(ConflictError):
        store.answer(asked.id, "deny", BOB, entry(JobState.QUEUED), NOW + 2)
    assert len(states(store, row.key)) == 4
    again = store.claim(row.key, DAEMON, NOW, LEASE_S, attempt=1)
    assert again is not None
    with pytest.raises(ConflictError):
        store.ask(again.fence, asked, entry(JobState.WAITING_APPROVAL))  # an id is used once


def test_a_job_may_wait_for_a_person_from_the_start(store: JobStore) -> None:
    key = JobKey(ANN, new_job_id())
    asked = question(key)
    row = put(store, new_job(job=key.id, state=JobState.WAITING_APPROVAL, question=asked))
    assert row.state is JobState.WAITING_APPROVAL
    assert store.events(key, 0)[0].approval_id == asked.id
    assert store.questions() == (asked,)
    assert store.claim(key, DAEMON, NOW, LEASE_S, attempt=0) is None
    assert store.queued(9) == ()
    with pytest.raises(ConflictError):
        put(store, new_job(state=JobState.WAITING_APPROVAL, question=asked))


def test_nobody_is_asked_for_a_job_whose_end_is_wanted(store: JobStore) -> None:
    row = running(store)
    store.want_cancel(row.key)
    with pytest.raises(LostJobError):
        store.ask(row.fence, question(row.key), entry(JobState.WAITING_APPROVAL))
    assert store.questions(row.key) == ()
    assert store.get(row.key).state is JobState.RUNNING


def test_an_answer_comes_too_late(store: JobStore) -> None:
    row = running(store)
    asked = question(row.key)
    store.ask(row.fence, asked, entry(JobState.WAITING_APPROVAL))
    for late in (asked.expires_at, float("nan")):
        with pytest.raises(ConflictError):
            store.answer(asked.id, "allow", BOB, entry(JobState.QUEUED), late)
    store.finish(store.get(row.key).fence, ending(state=JobState.FAILED))
    with pytest.raises(ConflictError):
        store.answer(asked.id, "allow", BOB, entry(JobState.QUEUED), NOW)
    assert store.questions() == ()


def test_an_answer_may_be_repeated_once_the_job_has_ended(store: JobStore) -> None:
    row = running(store)
    asked = question(row.key)
    store.ask(row.fence, asked, entry(JobState.WAITING_APPROVAL))
    store.answer(asked.id, "deny", BOB, entry(JobState.QUEUED), NOW)
    ended = store.finish(store.get(row.key).fence, ending(state=JobState.FAILED))
    assert store.answer(asked.id, "deny", BOB, entry(JobState.QUEUED), NOW) == ended


def test_what_an_owner_allowed_is_spent_with_what_a_person_says_and_nothing_else(
    store: JobStore,
) -> None:
    row = running(store)
    said = {
        "allow": question(row.key),
        "own": question(row.key, owners_only=False, at=NOW + 1),
        "deny": question(row.key, at=NOW + 2),
    }
    for attempt, (name, asked) in enumerate(said.items(), 2):
        store.ask(row.fence, asked, entry(JobState.WAITING_APPROVAL))
        verdict = "deny" if name == "deny" else "allow"
        store.answer(asked.id, verdict, BOB, entry(JobState.QUEUED), NOW)
        claimed = store.claim(row.key, DAEMON, NOW, LEASE_S, attempt=attempt - 1)
        assert claimed is not None
        row = claimed
    for spend in (False, True):
        store.append(row.fence, entry(JobState.UNKNOWN_EFFECT))
        store.settle(row.fence, {}, entry(JobState.QUEUED), spend=spend)
        assert [one.spent for one in store.questions(row.key)] == [spend, False, False]
        claimed = store.claim(row.key, DAEMON, NOW, LEASE_S, attempt=row.attempt)
        assert claimed is not None
        row = claimed
