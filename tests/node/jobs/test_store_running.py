"""What every store of jobs does: turns, leases, fences, effects, notes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

import pytest
from homing_core.errors import (
    ConflictError,
    InternalError,
    NotFoundError,
)
from homing_core.jobs import JobState
from homing_node.jobs.store import Fence, JobKey, LostJobError
from support.job_rows import (
    ANN,
    DAEMON,
    LEASE_S,
    NOW,
    OTHER,
    effect,
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


def test_whose_turn_it_is(store: JobStore) -> None:
    low = put(store, new_job(priority=-1))
    first, second = put(store), put(store)
    high = put(store, new_job(priority=5))
    assert store.queued(9) == (high, first, second, low)
    assert store.queued(2) == (high, first)


def test_a_thousand_jobs_wait_in_order(store: JobStore) -> None:
    made = [put(store).key for _ in range(1000)]
    assert [row.key for row in store.queued(2000)] == made
    assert len(store.unended(ANN)) == 1000


def test_a_claimed_job_runs_and_counts_its_attempt(store: JobStore) -> None:
    row = running(store)
    assert (row.state, row.attempt, row.runner) == (JobState.RUNNING, 1, DAEMON)
    assert row.lease_until == NOW + LEASE_S
    assert store.get(row.key) == row
    assert store.queued(9) == ()
    assert states(store, row.key) == [JobState.QUEUED, JobState.RUNNING]
    assert store.claim(row.key, OTHER, NOW, LEASE_S, attempt=1) is None  # its lease holds
    assert store.claim(row.key, DAEMON, NOW, LEASE_S, attempt=0) is None  # an old attempt


def test_each_job_is_claimed_once_among_many_daemons(opener: Opener) -> None:
    stores = [opener(), opener()]
    jobs = [put(stores[0]) for _ in range(12)]
    barrier = threading.Barrier(6)

    def daemon(number: int) -> list[JobKey]:
        mine = stores[number % 2]
        barrier.wait(30)
        claims = (mine.claim(row.key, f"daemon-{number}", NOW, LEASE_S, attempt=0) for row in jobs)
        return [row.key for row in claims if row is not None]

    with ThreadPoolExecutor(6) as pool:
        got = [key for keys in pool.map(daemon, range(6)) for key in keys]
    assert sorted(got) == sorted(row.key for row in jobs)
    assert all(row.attempt == 1 for row in stores[1].unended())


def test_event_numbers_have_no_gaps_among_many_writers(opener: Opener) -> None:
    stores = [opener(), opener()]
    row = running(stores[0])

    def append_one(number: int) -> int:
        return stores[number % 2].append(row.fence, entry(JobState.RUNNING)).seq

    with ThreadPoolExecutor(6) as pool:
        numbers = list(pool.map(append_one, range(30)))
    assert sorted(numbers) == list(range(3, 33))
    assert stores[0].get(row.key).last_seq == 32


def test_a_lease_is_renewed_and_one_that_is_over_lets_another_in(store: JobStore) -> None:
    row = running(store)
    assert store.lost(NOW + LEASE_S - 1) == ()
    (renewed,) = store.renew(DAEMON, NOW + 20, LEASE_S)
    assert renewed == store.get(row.key)
    assert store.lost(NOW + LEASE_S + 1) == ()
    over = NOW + 20 + LEASE_S
    (gone,) = store.lost(over)
    assert gone.key == row.key
    assert store.claim(row.key, OTHER, over - 1, LEASE_S, attempt=1) is None
    taken = store.claim(row.key, OTHER, over, LEASE_S, attempt=1)
    assert taken is not None
    assert (taken.attempt, taken.runner) == (2, OTHER)
    said = store.events(row.key, taken.last_seq - 1)[0].note
    assert said.startswith(f"daemon {DAEMON[:12]} had this job and is silent since 20")
    assert store.renew(DAEMON, over, LEASE_S) == ()
    assert store.get(row.key).runner == OTHER


def test_a_daemon_that_starts_again_finds_its_own_jobs(store: JobStore) -> None:
    row = running(store)
    assert store.lost(NOW, OTHER) == ()
    assert [one.key for one in store.lost(NOW, DAEMON)] == [row.key]
    assert store.claim(row.key, OTHER, NOW, LEASE_S, attempt=1) is None
    again = store.claim(row.key, DAEMON, NOW, LEASE_S, attempt=1)
    assert again is not None
    assert again.attempt == 2


def test_who_was_overtaken_changes_nothing(store: JobStore) -> None:
    old = running(store)
    store.begin_effect(old.fence, effect())
    new = store.claim(old.key, OTHER, NOW + LEASE_S, LEASE_S, attempt=1)
    assert new is not None
    before = (store.get(old.key), store.events(old.key, 0), store.effects(old.key))
    writes: list[Callable[[], object]] = [
        lambda: store.append(old.fence, entry(JobState.RUNNING)),
        lambda: store.begin_effect(old.fence, effect(2)),
        lambda: store.finish_effect(old.fence, 1, b"sealed"),
        lambda: store.put_note(old.fence, "cursor", b"sealed"),
        lambda: store.ask(old.fence, question(old.key), entry(JobState.WAITING_APPROVAL)),
        lambda: store.finish(old.fence, ending(b"result")),
    ]
    for write in writes:
        with pytest.raises(LostJobError):
            write()
    assert (store.get(old.key), store.events(old.key, 0), store.effects(old.key)) == before
    assert store.notes(old.key) == {}
    assert store.questions(old.key) == ()


@pytest.mark.parametrize(
    "state", [JobState.QUEUED, JobState.WAITING_APPROVAL, JobState.UNKNOWN_EFFECT]
)
def test_a_job_that_is_parked_belongs_to_nobody(store: JobStore, state: JobState) -> None:
    row = running(store)
    store.append(row.fence, entry(state))
    parked = store.get(row.key)
    assert (parked.state, parked.runner, parked.lease_until, parked.attempt) == (state, "", 0.0, 1)
    assert store.lost(NOW + 9999, DAEMON) == ()
    for write in (
        lambda: store.append(row.fence, entry(JobState.RUNNING)),
        lambda: store.begin_effect(row.fence, effect()),
        lambda: store.put_note(row.fence, "a", b"b"),
    ):
        with pytest.raises(LostJobError):
            write()
    assert store.finish(parked.fence, ending()).state is JobState.SUCCEEDED


def test_a_final_state_is_reached_by_ending_alone(store: JobStore) -> None:
    row = running(store)
    with pytest.raises(InternalError):
        store.append(row.fence, entry(JobState.SUCCEEDED))
    with pytest.raises(InternalError):
        store.finish(row.fence, ending(state=JobState.QUEUED))
    with pytest.raises(InternalError):
        store.submit(new_job(state=JobState.WAITING_APPROVAL), 0, 0)
    assert all(store.secrets(row.key))


def test_effects_are_recorded_before_and_after(store: JobStore) -> None:
    row = running(store)
    store.begin_effect(row.fence, effect(1))
    with pytest.raises(ConflictError):
        store.begin_effect(row.fence, effect(1))
    store.begin_effect(row.fence, effect(2))
    store.finish_effect(row.fence, 1, b"sealed outcome")
    store.finish_effect(row.fence, 1, b"another word")  # the first counts
    first, second = store.effects(row.key)
    assert (first.step, first.outcome, first.argument_hash) == (1, b"sealed outcome", "f1" * 32)
    assert second == effect(2)
    with pytest.raises(NotFoundError):
        store.finish_effect(row.fence, 3, b"")


def test_what_a_person_says_of_an_unknown_effect_is_stored_at_once(store: JobStore) -> None:
    row = running(store)
    words = {2: None, 3: b"it happened", 4: b"never begun"}
    store.begin_effect(row.fence, effect(1))
    store.finish_effect(row.fence, 1, b"known")
    store.begin_effect(row.fence, effect(2))
    store.begin_effect(row.fence, effect(3))
    back = entry(JobState.QUEUED)
    with pytest.raises(ConflictError):
        store.settle(row.fence, words, back, spend=False)  # while it runs
    store.append(row.fence, entry(JobState.UNKNOWN_EFFECT))
    with pytest.raises(ConflictError):
        store.settle(Fence(row.key, 2), words, back, spend=False)  # of another attempt
    assert len(store.effects(row.key)) == 3
    queued = store.settle(row.fence, words, back, spend=False)
    assert queued.state is JobState.QUEUED
    said = [(one.step, one.outcome) for one in store.effects(row.key)]
    assert said == [(1, b"known"), (3, b"it happened")]
    with pytest.raises(ConflictError):
        store.settle(row.fence, {3: None}, back, spend=False)
    assert [one.step for one in store.effects(row.key)] == [1, 3]


def test_nothing_of_what_a_person_says_is_stored_if_the_job_cannot_go_on(store: JobStore) -> None:
    row = running(store)
    store.begin_effect(row.fence, effect(1))
    store.append(row.fence, entry(JobState.UNKNOWN_EFFECT))
    with pytest.raises(InternalError):  # a job ends through its ending alone
        store.settle(row.fence, {1: None}, entry(JobState.FAILED), spend=True)
    assert store.effects(row.key) == (effect(1),)
    assert store.get(row.key).state is JobState.UNKNOWN_EFFECT


def test_that_it_happened_is_recorded_while_nobody_runs_it(store: JobStore) -> None:
    row = running(store)
    store.begin_effect(row.fence, effect())
    store.append(row.fence, entry(JobState.UNKNOWN_EFFECT))
    store.finish_effect(row.fence, 1, b"it happened")
    assert store.effects(row.key)[0].outcome == b"it happened"


def test_notes_outlive_an_attempt(store: JobStore) -> None:
    row = running(store)
    store.put_note(row.fence, "cursor", b"1")
    store.put_note(row.fence, "cursor", b"2")
    store.put_note(row.fence, "half \ud83d", b"\x00\xff")
    again = store.claim(row.key, DAEMON, NOW, LEASE_S, attempt=1)
    assert again is not None
    assert store.notes(row.key) == {"cursor": b"2", "half \ud83d": b"\x00\xff"}
