"""Values of jobs as rows of a database, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeAlias, TypeVar

import sqlalchemy as sa
from homing_core.ids import ApprovalId, DeviceId, JobId, RequestId
from homing_core.jobs import JobEvent, JobProgress, JobState
from homing_core.provenance import Sensitivity
from homing_core.tools import ToolId

from homing_node.jobs.sealed import DATA_KEY_BYTES, JobCipher
from homing_node.jobs.sql_errors import damaged
from homing_node.jobs.sql_tables import EFFECTS, EVENTS, JOBS, QUESTIONS, SECRETS
from homing_node.jobs.store import Effect, JobKey, JobRow, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy.engine import RowMapping

P = ParamSpec("P")
T = TypeVar("T")
Values: TypeAlias = "dict[str, Any]"

_PROGRESS: Final = "progress"
_HASH: Final = "argument hash"
_NAME: Final = "note name"

LOOK: Final = sa.select(JOBS, SECRETS.c.data_key).select_from(
    JOBS.outerjoin(SECRETS, SECRETS.c.number == JOBS.c.number)
)
"""Jobs, with their key while they have one."""


@dataclass(frozen=True, slots=True)
class Found:
    """A job as it was found.

    Attributes:
        number: which counts jobs in the order in which they came.
        row: the job.
        cipher: for what is sealed under its key; None once it has ended.
        stage: name of the parts of its result.
    """

    number: int
    row: JobRow
    cipher: JobCipher | None
    stage: str

    @property
    def seals(self) -> JobCipher:
        """The cipher of a job that has not ended; raises `IntegrityError` if its key is gone."""
        if self.cipher is None:
            raise damaged()
        return self.cipher


def _careful(read: Callable[P, T]) -> Callable[P, T]:
    """What a row cannot hold means that the database is damaged."""

    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (ValueError, TypeError, KeyError) as error:
            raise damaged() from error

    return reading


@_careful
def found(values: RowMapping) -> Found:
    """A row of `LOOK`."""
    key = JobKey(DeviceId(values["account"]), JobId(values["id"]))
    stored = values["data_key"]
    cipher = None if stored is None else JobCipher(key, bytes(stored[-DATA_KEY_BYTES:]))
    row = JobRow(
        key=key,
        digest=values["digest"],
        device=DeviceId(values["device"]),
        peer=values["peer"],
        request_id=RequestId(values["request_id"]),
        tool=ToolId(*(values[f"tool_{name}"] for name in ("node", "server", "name", "hash"))),
        sensitivity=Sensitivity(values["sensitivity"]),
        priority=int(values["priority"]),
        submitted_at=float(values["submitted_at"]),
        state=JobState(values["state"]),
        last_seq=int(values["last_seq"]),
        progress=_progress(values, cipher),
        summary=values["summary"],
        attempt=int(values["attempt"]),
        runner=values["runner"],
        lease_until=float(values["lease_until"]),
        cancel_wanted=bool(values["cancel_wanted"]),
        ended_at=float(values["ended_at"]),
        result_bytes=int(values["result_bytes"]),
        result_sha256=values["result_sha256"],
        sealed_by=values["sealed_by"],
        delivered_at=float(values["delivered_at"]),
    )
    return Found(int(values["number"]), row, cipher, str(values["result_stage"]))


def row_values(row: JobRow, cipher: JobCipher | None) -> Values:
    """A job as a row of `JOBS`, without its number and stage."""
    return {
        "account": row.key.account,
        "id": row.key.id,
        "digest": row.digest,
        "device": row.device,
        "peer": row.peer,
        "request_id": row.request_id,
        "tool_node": row.tool.node,
        "tool_server": row.tool.server,
        "tool_name": row.tool.name,
        "tool_hash": row.tool.schema_hash,
        "sensitivity": row.sensitivity.value,
        "priority": row.priority,
        "submitted_at": row.submitted_at,
        "state": row.state.value,
        "last_seq": row.last_seq,
        **_progress_values(row.progress, cipher),
        "summary": row.summary,
        "attempt": row.attempt,
        "runner": row.runner,
        "lease_until": row.lease_until,
        "cancel_wanted": row.cancel_wanted,
        "ended_at": row.ended_at,
        "result_bytes": row.result_bytes,
        "result_sha256": row.result_sha256,
        "sealed_by": row.sealed_by,
        "delivered_at": row.delivered_at,
    }


@_careful
def event(values: RowMapping, cipher: JobCipher | None) -> JobEvent:
    """A row of `EVENTS`."""
    approval = values[EVENTS.c.approval_id.name]
    return JobEvent(
        int(values["seq"]),
        float(values["at"]),
        JobState(values["state"]),
        _progress(values, cipher),
        None if approval is None else ApprovalId(approval),
        values["note"],
    )


def event_values(number: int, one: JobEvent, cipher: JobCipher | None) -> Values:
    """An event as a row of `EVENTS`."""
    return {
        "number": number,
        "seq": one.seq,
        "at": one.at,
        "state": one.state.value,
        **_progress_values(one.progress, cipher),
        "approval_id": one.approval_id,
        "note": one.note,
    }


@_careful
def effect(values: RowMapping, cipher: JobCipher) -> Effect:
    """A row of `EFFECTS`."""
    return Effect(
        int(values["step"]),
        values["tool_hash"],
        cipher.open(_HASH, bytes(values[EFFECTS.c.argument_hash.name])).decode(),
        float(values["begun_at"]),
        int(values["attempt"]),
        bytes(values["outcome"]),
    )


def effect_values(number: int, one: Effect, cipher: JobCipher) -> Values:
    """An effect as a row of `EFFECTS`."""
    return {
        "number": number,
        "step": one.step,
        "tool_hash": one.tool_hash,
        "argument_hash": cipher.seal(_HASH, one.argument_hash.encode()),
        "begun_at": one.begun_at,
        "attempt": one.attempt,
        "outcome": one.outcome,
    }


@_careful
def question(values: RowMapping, found: Found) -> Question:
    """A row of `QUESTIONS`; once the job has ended, what was asked is not known any more."""
    cipher = found.cipher
    sealed = bytes(values[QUESTIONS.c.argument_hash.name])
    return Question(
        id=ApprovalId(values["id"]),
        key=found.row.key,
        step=int(values["step"]),
        tool_hash=values["tool_hash"],
        argument_hash="" if cipher is None else cipher.open(_HASH, sealed).decode(),
        owners_only=bool(values["owners_only"]),
        at=float(values["at"]),
        expires_at=float(values["expires_at"]),
        shown=b"" if cipher is None else bytes(values["shown"]),
        verdict=values["verdict"],
        answered_by=values["answered_by"],
        spent=bool(values["spent"]),
    )


def question_values(number: int, one: Question, cipher: JobCipher) -> Values:
    """A question as a row of `QUESTIONS`."""
    return {
        "id": one.id,
        "number": number,
        "step": one.step,
        "tool_hash": one.tool_hash,
        "argument_hash": cipher.seal(_HASH, one.argument_hash.encode()),
        "owners_only": one.owners_only,
        "at": one.at,
        "expires_at": one.expires_at,
        "shown": one.shown,
        "verdict": one.verdict,
        "answered_by": one.answered_by,
        "spent": one.spent,
    }


@_careful
def note(values: RowMapping, cipher: JobCipher) -> tuple[str, bytes]:
    """A row of `NOTES`: name and value."""
    name = cipher.open(_NAME, bytes(values["name"])).decode("utf-8", "surrogatepass")
    return name, bytes(values["value"])


def note_values(number: int, name: str, value: bytes, cipher: JobCipher) -> Values:
    """A note as a row of `NOTES`: its name may say something as well."""
    return {
        "number": number,
        "label": cipher.label(name),
        "name": cipher.seal(_NAME, name.encode("utf-8", "surrogatepass")),
        "value": value,
    }


def _progress(values: Mapping[Any, Any], cipher: JobCipher | None) -> JobProgress | None:
    if values["progress"] is None:
        return None
    done, total, unit = json.loads(values["progress"])
    sealed = values["progress_note"]
    text = ""
    if sealed is not None and cipher is not None:
        text = cipher.open(_PROGRESS, bytes(sealed)).decode()
    return JobProgress(float(done), float(total), str(unit), text)


def _progress_values(progress: JobProgress | None, cipher: JobCipher | None) -> Values:
    if progress is None:
        return {"progress": None, "progress_note": None}
    sealed = None
    if progress.note and cipher is not None:
        sealed = cipher.seal(_PROGRESS, progress.note.encode())
    return {
        "progress": json.dumps([progress.done, progress.total, progress.unit], allow_nan=False),
        "progress_note": sealed,
    }
