"""Jobs: home tools that may take minutes or hours and survive restarts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.provenance import Sensitivity, Trust

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue
    from homing_core.ids import ApprovalId, JobId, RequestId
    from homing_core.tools import ToolCall, ToolId, ToolSpec


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
        summary: one line for a person; empty until it ends. It holds nothing of the result.
        detail: further facts.
        result_bytes: size of the sealed result that waits to be fetched; 0 if none does.
        sealed_by: device id of the daemon that sealed it; empty if none waits.
    """

    id: JobId
    tool_name: str
    state: JobState
    submitted_at: float
    last_seq: int
    progress: JobProgress | None = None
    summary: str = ""
    detail: JsonValue = None
    result_bytes: int = 0
    sealed_by: str = ""


class Settlement(Enum):
    """What a person says of a job that stopped because nobody knows whether its effect happened."""

    HAPPENED = "happened"
    """It did: the job goes on behind it, without what the tool would have said."""
    RUN_AGAIN = "run_again"
    """It did not, or twice does no harm: the call is made once more."""
    GIVE_UP = "give_up"
    """Leave it: the job ends as failed."""


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A step of a job that waits for a person.

    Attributes:
        id: chosen by the node.
        job_id: the job that waits.
        request_id: the request it belongs to.
        step: number of the step within the job, from 1.
        tool: the exact tool.
        call: the exact call.
        reason: why a person is asked.
        preview: what would happen, in the tool's words; may be empty.
        expires_at: void from then on, by the node's clock, seconds since the epoch.
        device: account of the device that submitted the job.
        device_name: what that is called; cleaned.
    """

    id: ApprovalId
    job_id: JobId
    request_id: RequestId
    step: int
    tool: ToolSpec
    call: ToolCall
    reason: str
    preview: str
    expires_at: int
    device: str = ""
    device_name: str = ""


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file that a job made.

    Attributes:
        name: a plain file name.
        media_type: such as `image/png`; empty if unknown.
        size_bytes: its length.
    """

    name: str
    media_type: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class JobResult:
    """What came of a job, as it is sealed for the device that submitted it.

    Attributes:
        job_id: the job.
        content: text for the model.
        say: the same for the person; empty if a model has to word it.
        is_error: whether the tool failed or was refused.
        trust: whether `content` may carry instructions.
        sensitivity: how far it may travel.
        source: a short label for people, such as a folder's name.
        files: what was made besides; their bytes follow the text in the sealed form.
    """

    job_id: JobId
    content: str
    say: str = ""
    is_error: bool = False
    trust: Trust = Trust.UNTRUSTED
    sensitivity: Sensitivity = Sensitivity.HOME_ONLY
    source: str = ""
    files: tuple[ResultFile, ...] = ()
