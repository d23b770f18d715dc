"""What every store of jobs does: handing in and looking."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

import pytest
from homing_core.errors import (
    ConflictError,
    NotFoundError,
    OverloadedError,
)
from homing_core.ids import new_approval_id, new_job_id
from homing_core.jobs import JobProgress, JobState
from homing_node.jobs.sealed import JobCipher
from homing_node.jobs.store import Fence, JobKey, LostJobError
from support.job_rows import (
    ANN,
    BOB,
    DAEMON,
    HOME,
    LEASE_S,
    NOW,
    SECRET,
    ending,
    entry,
    new_job,
    put,
    running,
    states,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_node.jobs.store import JobRow, JobStore

Opener: TypeAlias = "Callable[[], JobStore]"


def test_a_job_is_as_it_was_handed_in(store: JobStore) -> None:
    job = new_job(priority=3, peer=HOME)
    row, new = store.submit(job, 0, 0)
    assert new
    assert store.get(job.key) == row
    for name in (
        "key",
        "digest",
        "device",
        "peer",
        "request_id",
        "tool",
        "sensitivity",
        "priority",
    ):
        assert getattr(row, name) == getattr(job, name), name
    assert (row.state, row.submitted_at, row.last_seq, row.attempt) == (JobState.QUEUED, NOW, 1, 0)
    assert row.priority == 3
    assert states(store, job.key) == [JobState.QUEUED]
    assert store.secrets(job.key) == (job.data_key, job.payload)
    assert JobCipher(job.key, job.data_key).open("payload", job.payload) == SECRET.encode()


def test_handing_in_again_changes_nothing_and_another_under_its_id_is_refused(
    store: JobStore,
) -> None:
    job = new_job()
    first, _ = store.submit(job, 1, 0)
    again = store.submit(new_job(job=job.key.id, digest=job.digest, at=NOW + 9), 1, 0)
    assert again == (first, False)
    assert store.secrets(job.key) == (job.data_key, job.payload)  # not those of the repeat
    with pytest.raises(ConflictError):
        store.submit(new_job(job=job.key.id, digest="d2" * 32), 0, 0)
    store.finish(store.get(job.key).fence, ending())
    assert store.submit(job, 1, 0)[1] is False  # not even once it has ended


def test_one_id_of_two_accounts_is_two_jobs(store: JobStore) -> None:
    mine = put(store, new_job(ANN))
    theirs = put(store, new_job(BOB, mine.key.id, digest="d2" * 32))
    assert store.get(mine.key).digest != store.get(theirs.key).digest
    assert store.jobs(ANN, most=9) == (mine,)
    assert store.jobs(None, most=9) == (theirs, mine)


def test_limits_of_account_and_peer(store: JobStore) -> None:
    first = put(store, new_job(ANN, peer=HOME))
    with pytest.raises(OverloadedError):
        store.submit(new_job(ANN, peer=HOME), 1, 0)
    with pytest.raises(OverloadedError):
        store.submit(new_job(BOB, peer=HOME), 0, 1)
    assert store.submit(new_job(BOB), 1, 1)[1]  # of no peer
    store.finish(first.fence, ending())
    assert store.submit(new_job(ANN, peer=HOME), 1, 1)[1]  # what has ended does not count


@pytest.mark.attack
def test_results_that_nobody_fetches_keep_their_account_and_peer_from_handing_in_more(
    store: JobStore,
) -> None:
    ended = [put(store, new_job(ANN, peer=HOME)) for _ in range(2)]
    for row in ended:
        store.submit(new_job(ANN, peer=HOME), 0, 0, 200)  # not as much yet
        store.finish(row.fence, ending(b"x" * 100))
    for account in (ANN, BOB):
        with pytest.raises(OverloadedError, match="wait here"):
            store.submit(new_job(account, peer=HOME), 0, 0, 200)
    assert store.submit(new_job(BOB), 0, 0, 200)[1]  # of no peer
    assert store.submit(new_job(ANN, peer=HOME), 0, 0, 201)[1]
    store.delivered(ended[0].key, store.get(ended[0].key).result_sha256, NOW)
    assert store.submit(new_job(ANN, peer=HOME), 0, 0, 200)[1]


def test_a_limit_holds_among_many_at_once(opener: Opener) -> None:
    stores = [opener(), opener()]
    barrier = threading.Barrier(8)

    def one(number: int) -> bool:
        barrier.wait(30)
        try:
            stores[number % 2].submit(new_job(), 3, 0)
        except OverloadedError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(one, range(8)))
    assert sum(taken) == 3
    assert len(stores[0].unended(ANN)) == 3


def test_what_is_not_there(store: JobStore) -> None:
    key = JobKey(ANN, new_job_id())
    asked: list[Callable[[], object]] = [
        lambda: store.get(key),
        lambda: store.events(key, 0),
        lambda: store.secrets(key),
        lambda: store.effects(key),
        lambda: store.notes(key),
        lambda: store.questions(key),
        lambda: store.want_cancel(key),
        lambda: store.read_result(key, 0, 9),
        lambda: store.delivered(key, "", NOW),
        lambda: store.settle(Fence(key, 1), {}, entry(JobState.QUEUED), spend=True),
        lambda: store.jobs(ANN, most=1, before=key),
        lambda: store.question(new_approval_id()),
        lambda: store.answer(new_approval_id(), "allow", ANN, entry(JobState.QUEUED), NOW),
    ]
    for ask in asked:
        with pytest.raises(NotFoundError):
            ask()
    assert store.claim(key, DAEMON, NOW, LEASE_S, attempt=0) is None
    with pytest.raises(LostJobError):
        store.append(Fence(key, 1), entry(JobState.RUNNING))


def test_paging_goes_from_new_to_old_without_gaps(store: JobStore) -> None:
    made = [put(store, new_job(ANN if n % 3 else BOB)) for n in range(12)]
    newest_first = list(reversed(made))
    for account in (None, ANN, BOB):
        seen: list[JobRow] = []
        while page := store.jobs(account, most=2, before=seen[-1].key if seen else None):
            assert len(page) <= 2
            seen.extend(page)
        assert seen == [row for row in newest_first if account in {None, row.key.account}]
    assert store.unended(BOB) == tuple(row for row in made if row.key.account == BOB)


def test_paging_over_everybody_skips_nobody_who_shares_an_id(store: JobStore) -> None:
    first = put(store, new_job(ANN))
    made = [first, *(put(store, new_job(ANN)) for _ in range(3))]
    made.append(put(store, new_job(BOB, first.key.id)))
    made.extend(put(store, new_job(BOB)) for _ in range(2))
    seen: list[JobRow] = []
    while page := store.jobs(None, most=3, before=seen[-1].key if seen else None):
        seen.extend(page)
    assert seen == list(reversed(made))


def test_events_are_read_from_any_number(store: JobStore) -> None:
    row = running(store)
    for n in range(5):
        store.append(row.fence, entry(JobState.RUNNING, progress=JobProgress(n, 5, "files", "x")))
    assert [event.seq for event in store.events(row.key, 3)] == [4, 5, 6, 7]
    assert [event.seq for event in store.events(row.key, 3, 2)] == [4, 5]
    assert store.events(row.key, 7) == ()
    assert store.events(row.key, 6)[0].progress == JobProgress(4, 5, "files", "x")
    assert store.get(row.key).progress == JobProgress(4, 5, "files", "x")


def test_what_a_tool_reports_is_kept_whatever_it_is(store: JobStore) -> None:
    row = running(store)
    wild = JobProgress(float("nan"), float("inf"), "a\x00b", "half \ud83d of a pair, \x00 zero")
    event = store.append(row.fence, entry(JobState.RUNNING, progress=wild, note="\ud83d\x00"))
    assert store.events(row.key, event.seq - 1) == (event,)
    assert event.progress is not None
    assert (event.progress.done, event.progress.total) == (0.0, 0.0)
