"""What every store of jobs does: ends, results, forgetting."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

import pytest
from homing_core.errors import (
    ConflictError,
    HomingError,
    IntegrityError,
    NotFoundError,
    OverloadedError,
)
from homing_core.jobs import JobProgress, JobState
from homing_node.jobs.sql_access import PART_BYTES
from homing_node.jobs.store import BURIED_S, LostJobError
from support.job_rows import (
    ANN,
    BOB,
    DAEMON,
    HOME,
    LEASE_S,
    NOW,
    SECRET,
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
    from collections.abc import Callable, Iterator

    from homing_node.jobs.store import JobStore

Opener: TypeAlias = "Callable[[], JobStore]"


def test_an_end_that_is_wanted(store: JobStore) -> None:
    row = running(store)
    assert store.want_cancel(row.key).cancel_wanted
    assert store.want_cancel(row.key).cancel_wanted
    (renewed,) = store.renew(DAEMON, NOW, LEASE_S)
    assert renewed.cancel_wanted
    with pytest.raises(LostJobError):
        store.begin_effect(row.fence, effect())
    store.append(row.fence, entry(JobState.RUNNING))  # it may still say how far it is
    assert store.claim(row.key, DAEMON, NOW, LEASE_S, attempt=1) is None
    ended = store.finish(row.fence, ending(state=JobState.CANCELLED))
    assert store.want_cancel(row.key) == ended
    waiting = put(store)
    store.want_cancel(waiting.key)
    assert [one.key for one in store.queued(9)] == [waiting.key]  # for whoever ends it
    assert store.claim(waiting.key, DAEMON, NOW, LEASE_S, attempt=0) is None


@pytest.mark.attack
def test_what_was_ended_before_it_arrived_is_not_taken_any_more(opener: Opener) -> None:
    """The phone's message was on its way, to another daemon, while its person ended the job."""
    store, other = opener(), opener()
    late, job = new_job(), new_job(BOB)
    assert store.bury(late.key, NOW) is None
    assert store.bury(late.key, NOW) is None
    with pytest.raises(ConflictError, match="ended before it arrived"):
        put(other, late)
    with pytest.raises(NotFoundError):
        store.get(late.key)
    assert store.bury(job.key, NOW) is None
    assert store.drop([BOB]) == ()
    row = put(other, job)  # a device that was paired anew
    assert store.bury(row.key, NOW) == row


def test_endings_of_unknown_jobs_are_few_and_forgotten(
    store: JobStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("sql_store", "testing"):
        monkeypatch.setattr(f"homing_node.jobs.{module}.MOST_BURIED", 2)
    jobs = [new_job() for _ in range(3)]
    for job in jobs[:2]:
        store.bury(job.key, NOW)
    with pytest.raises(OverloadedError):
        store.bury(jobs[2].key, NOW + BURIED_S)
    store.bury(jobs[0].key, NOW + BURIED_S)
    store.bury(new_job(BOB).key, NOW)
    store.bury(jobs[2].key, NOW + BURIED_S + 1)
    put(store, jobs[1])


def test_with_its_end_all_that_was_its_own_goes(store: JobStore) -> None:
    row = running(store)
    progress = JobProgress(1, 2, "files", SECRET)
    store.append(row.fence, entry(JobState.RUNNING, progress=progress))
    store.begin_effect(row.fence, effect())
    store.put_note(row.fence, "cursor", b"sealed")
    store.ask(row.fence, question(row.key), entry(JobState.WAITING_APPROVAL))
    row = store.finish(store.get(row.key).fence, ending(b"sealed ", b"result", at=NOW + 5))
    assert row == store.get(row.key)
    assert (row.state, row.summary, row.ended_at) == (JobState.SUCCEEDED, "done", NOW + 5)
    assert (row.result_bytes, row.sealed_by) == (13, HOME)
    assert row.result_sha256 == hashlib.sha256(b"sealed result").hexdigest()
    with pytest.raises(NotFoundError):
        store.secrets(row.key)
    assert (store.notes(row.key), store.effects(row.key)) == ({}, ())
    (asked,) = store.questions(row.key)
    assert (asked.shown, asked.argument_hash) == (b"", "")
    assert row.progress == JobProgress(1, 2, "files", "")
    assert SECRET not in repr((row, store.events(row.key, 0)))
    assert states(store, row.key)[-1] is JobState.SUCCEEDED
    for write in (
        lambda: store.finish(row.fence, ending(b"another")),
        lambda: store.append(row.fence, entry(JobState.RUNNING)),
    ):
        with pytest.raises(LostJobError):
            write()


def test_a_result_is_read_from_any_place(store: JobStore) -> None:
    row = running(store)
    whole = bytes(range(256)) * (20 * PART_BYTES // 256) + b"end"  # more than one transaction
    pieces = (whole[at : at + 70_001] for at in range(0, len(whole), 70_001))
    sha256 = hashlib.sha256(whole).hexdigest()
    ended = store.finish(row.fence, ending(result=pieces, sha256=sha256))
    assert (ended.result_bytes, ended.result_sha256) == (len(whole), sha256)
    for offset, most in (
        (0, len(whole)),
        (0, 1),
        (PART_BYTES - 1, 2),
        (PART_BYTES, PART_BYTES),
        (len(whole) - 3, 999),
        (len(whole), 9),
        (len(whole) + 9, 9),
    ):
        assert store.read_result(row.key, offset, most) == whole[offset : offset + most]


def test_a_job_may_end_without_a_result(store: JobStore) -> None:
    row = running(store)
    ended = store.finish(row.fence, ending(state=JobState.CANCELLED))
    assert (ended.result_bytes, ended.result_sha256, ended.sealed_by) == (0, "", "")
    with pytest.raises(NotFoundError):
        store.read_result(row.key, 0, 9)
    with pytest.raises(ConflictError):
        store.delivered(row.key, "", NOW)


def breaks_off(size: int) -> Iterator[bytes]:
    yield bytes(size)
    msg = "the disk of the result's files failed"
    raise IntegrityError(msg)


@pytest.mark.parametrize("size", [10, 20 * PART_BYTES])
def test_a_result_that_breaks_off_ends_nothing(store: JobStore, size: int) -> None:
    row = running(store)
    with pytest.raises(IntegrityError):
        store.finish(row.fence, ending(result=breaks_off(size)))
    with pytest.raises(IntegrityError):
        store.finish(row.fence, ending(b"result", sha256="00" * 32))
    assert store.get(row.key) == row
    assert all(store.secrets(row.key))
    store.finish(row.fence, ending(b"result"))
    assert store.read_result(row.key, 0, 99) == b"result"


def test_two_ends_at_once_are_one(opener: Opener) -> None:
    stores = [opener(), opener()]
    row = running(stores[0])
    barrier = threading.Barrier(2)

    def end(number: int) -> bytes | None:
        barrier.wait(30)
        try:
            stores[number].finish(row.fence, ending(b"result of %d" % number))
        except LostJobError:
            return None
        return b"result of %d" % number

    with ThreadPoolExecutor(2) as pool:
        (won,) = [one for one in pool.map(end, range(2)) if one is not None]
    assert stores[0].read_result(row.key, 0, 99) == won


def test_a_delivered_result_is_gone(store: JobStore) -> None:
    row = running(store)
    with pytest.raises(ConflictError):
        store.delivered(row.key, "", NOW)
    ended = store.finish(row.fence, ending(b"result"))
    with pytest.raises(ConflictError):
        store.delivered(row.key, "00" * 32, NOW)
    assert store.read_result(row.key, 0, 9) == b"result"
    gone = store.delivered(row.key, ended.result_sha256, NOW + 7)
    assert (gone.result_bytes, gone.delivered_at, gone.sealed_by) == (0, NOW + 7, "")
    assert store.delivered(row.key, ended.result_sha256, NOW + 8) == gone
    with pytest.raises(NotFoundError):
        store.read_result(row.key, 0, 9)


def test_an_account_is_forgotten(store: JobStore) -> None:
    ended = running(store)
    store.finish(ended.fence, ending(b"result"))
    active, other = running(store), put(store, new_job(BOB))
    store.put_note(active.fence, "a", b"b")
    assert store.drop([ANN, HOME]) == (active,)
    assert store.jobs(None, most=9) == (other,)
    for key in (ended.key, active.key):
        with pytest.raises(NotFoundError):
            store.get(key)
    with pytest.raises(LostJobError):
        store.put_note(active.fence, "a", b"b")
    assert store.drop([ANN]) == ()
    assert store.drop([]) == ()
    assert store.submit(new_job(job=active.key.id), 1, 0)[1]  # nothing of it is left


def test_what_ended_long_ago_is_forgotten(store: JobStore) -> None:
    fetched, waits, plain = running(store), running(store), running(store)
    active = put(store)
    result = store.finish(fetched.fence, ending(b"result")).result_sha256
    store.delivered(fetched.key, result, NOW)
    store.finish(waits.fence, ending(b"result"))
    store.finish(plain.fence, ending(at=NOW + 50))
    assert store.prune(NOW, NOW) == 0  # nothing ended before
    assert store.prune(NOW + 1, NOW) == 1
    assert [row.key for row in store.jobs(None, most=9)] == [active.key, plain.key, waits.key]
    assert store.prune(NOW - 9, NOW + 1) == 1  # the result goes, the job is still told of
    assert store.get(waits.key).result_bytes == 0
    with pytest.raises(NotFoundError):
        store.read_result(waits.key, 0, 9)
    assert store.prune(NOW + 99, NOW + 99) == 2
    assert store.jobs(None, most=9) == (active,)


def test_closing_twice_is_harmless(store: JobStore) -> None:
    store.close()
    store.close()


def test_errors_name_no_words_of_a_job(store: JobStore) -> None:
    """Whatever was refused, its words stay out of what is logged and shown."""
    row = running(store)
    store.put_note(row.fence, SECRET, SECRET.encode())
    refused: list[Callable[[], object]] = [
        lambda: store.finish(row.fence, ending(SECRET.encode(), sha256="00" * 32)),
        lambda: store.append(row.fence, entry(JobState.FAILED, note=SECRET)),
        lambda: store.finish_effect(row.fence, 9, SECRET.encode()),
    ]
    for call in refused:
        with pytest.raises(HomingError) as caught:
            call()
        assert SECRET not in f"{caught.value!r} {caught.value}"
