"""Jobs to be kept, for tests of their stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.ids import (
    ApprovalId,
    DeviceId,
    JobId,
    new_approval_id,
    new_job_id,
    new_request_id,
)
from homing_core.jobs import JobState
from homing_core.provenance import Sensitivity
from homing_core.tools import ToolId
from homing_node.jobs.sealed import JobCipher, new_data_key
from homing_node.jobs.store import Effect, Ending, Entry, JobKey, NewJob, Question

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_node.jobs.store import JobRow, JobStore

NOW = 1_800_000_000.0
ANN, BOB = DeviceId("a1" * 32), DeviceId("b0" * 32)
HOME = DeviceId("cc" * 32)
DAEMON, OTHER = "daemon-1", "daemon-2"
LEASE_S = 30.0
SECRET = "nightingale-underground"  # noqa: S105  # a word that is looked for


def new_job(account: DeviceId = ANN, job: JobId | None = None, **changes: object) -> NewJob:
    """A queued job whose payload holds `SECRET`."""
    key = JobKey(account, job or new_job_id())
    data_key = new_data_key()
    fields: dict[str, Any] = {
        "key": key,
        "digest": "d1" * 32,
        "device": account,
        "peer": "",
        "request_id": new_request_id(),
        "tool": ToolId("", "builtin", "count", "e1" * 32),
        "sensitivity": Sensitivity.HOME_ONLY,
        "priority": 0,
        "at": NOW,
        "data_key": data_key,
        "payload": JobCipher(key, data_key).seal("payload", SECRET.encode()),
        "state": JobState.QUEUED,
    } | changes
    return NewJob(**fields)


def question(key: JobKey, approval: ApprovalId | None = None, **changes: object) -> Question:
    """A question that expires in an hour."""
    fields: dict[str, Any] = {
        "id": approval or new_approval_id(),
        "key": key,
        "step": 1,
        "tool_hash": "e1" * 32,
        "argument_hash": "f1" * 32,
        "owners_only": True,
        "at": NOW,
        "expires_at": NOW + 3600,
        "shown": b"sealed question",
    } | changes
    return Question(**fields)


def effect(step: int = 1, attempt: int = 1) -> Effect:
    """A call that was begun."""
    return Effect(step, "e1" * 32, "f1" * 32, NOW, attempt)


def entry(state: JobState, at: float = NOW, **changes: object) -> Entry:
    """An event to add."""
    fields: dict[str, Any] = {"at": at, "state": state} | changes
    return Entry(**fields)


def ending(
    *pieces: bytes,
    state: JobState = JobState.SUCCEEDED,
    at: float = NOW,
    result: Iterable[bytes] | None = None,
    sha256: str = "",
) -> Ending:
    """An end, with a result if there are pieces."""
    return Ending(
        entry(state, at),
        "done",
        pieces if result is None else result,
        result_sha256=sha256,
        sealed_by=HOME,
    )


def put(store: JobStore, job: NewJob | None = None) -> JobRow:
    return store.submit(job or new_job(), 0, 0)[0]


def running(store: JobStore, job: NewJob | None = None, runner: str = DAEMON) -> JobRow:
    row = put(store, job)
    claimed = store.claim(row.key, runner, NOW, LEASE_S, attempt=row.attempt)
    assert claimed is not None
    return claimed


def states(store: JobStore, key: JobKey) -> list[JobState]:
    events = store.events(key, 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [event.state for event in events]
