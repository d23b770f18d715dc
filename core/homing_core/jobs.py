"""Jobs: home tools that may take minutes or hours and survive restarts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.provenance import Sensitivity

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue
    from homing_core.ids import ApprovalId, JobId, RequestId
    from homing_core.tools import ToolCall, ToolId


class JobState(Enum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    UNKNOWN_EFFECT = "unknown_effect"
    """The node died while a side effect was under way: a person must say if it happened."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether the job will not change any more."""
        return self in {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What is asked of a node.

    Attributes:
        id: chosen by the phone, journalled before it is sent.
        request_id: the request it belongs to.
        tool: the exact tool, with its schema hash.
        call: name and arguments.
        sensitivity: how far its data may travel.
        priority: higher runs first; 0 is normal.
    """

    id: JobId
    request_id: RequestId
    tool: ToolId
    call: ToolCall
    sensitivity: Sensitivity = Sensitivity.HOME_ONLY
    priority: int = 0


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is.

    Attributes:
        done: units finished.
        total: units in all; 0 if unknown.
        unit: what is counted, such as "files".
        note: one line for a person.
    """

    done: float
    total: float
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One numbered entry of a job's record; numbers start at 1 without gaps.

    Attributes:
        seq: its number.
        at: wall time at the node, seconds since the epoch.
        state: the job's state after this event.
        progress: how far it is, if this event says so.
        approval_id: the approval it waits for, if any.
        note: one line for a person.
    """

    seq: int
    at: float
    state: JobState
    progress: JobProgress | None = None
    approval_id: ApprovalId | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job as its owner sees it.

    Attributes:
        id: the job.
        tool_name: what runs.
        state: where it stands.
        submitted_at: wall time at the node, seconds since the epoch.
        last_seq: number of its newest event.
        progress: the newest progress, if any.
        summary: one line for a person; empty until it ends.
        detail: further facts, such as result size in bytes.
    """

    id: JobId
    tool_name: str
    state: JobState
    submitted_at: float
    last_seq: int
    progress: JobProgress | None = None
    summary: str = ""
    detail: JsonValue = None
