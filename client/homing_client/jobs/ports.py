"""What the phone's command line sees of its jobs, without the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from homing_core.approvals import Verdict
    from homing_core.canonical import JsonObject
    from homing_core.errors import HomingError
    from homing_core.ids import ApprovalId, DeviceId, JobId, RequestId
    from homing_core.jobs import (
        JobEvent,
        JobProgress,
        JobResult,
        JobState,
        PendingApproval,
        Settlement,
    )
    from homing_core.provenance import Sensitivity
    from homing_core.tools import Place, ToolSpec


@dataclass(frozen=True, slots=True)
class PhoneJob:
    """A job as this phone knows it. Times are wall time here, seconds since the epoch.

    Attributes:
        id: the job.
        request_id: the request it belongs to.
        node: device id of the node that has it.
        node_name: for people.
        place: `HOME` or `PEER`.
        tool: what runs.
        arguments: with what.
        submitted: whether the node has said that it has it.
        state: as last heard; `QUEUED` before anything was.
        last_seq: number of the newest event that is known.
        progress: the newest.
        asked_at: when it was written down.
        ended_at: when its end was heard of; 0 before.
        delivered: whether its result is here for good.
        note: one line for a person.
        error: why it cannot be handed in or fetched just now; None if it can.
    """

    id: JobId
    request_id: RequestId
    node: DeviceId
    node_name: str
    place: Place
    tool: ToolSpec
    arguments: JsonObject
    submitted: bool
    state: JobState
    last_seq: int
    progress: JobProgress | None
    asked_at: float
    ended_at: float
    delivered: bool
    note: str = ""
    error: HomingError | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """The step that a person was shown and answers: what is signed, and at which node it waits.

    Attributes:
        node: device id of the node that asks.
        id: the approval.
        job_id: the job that waits.
        request_id: its request.
        step: number of the step within the job, from 1.
        tool_hash: schema hash of the tool.
        argument_hash: of the arguments.
    """

    node: DeviceId
    id: ApprovalId
    job_id: JobId
    request_id: RequestId
    step: int
    tool_hash: str
    argument_hash: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """An approval that waits for this phone's person.

    Attributes:
        node: device id of the node that asks.
        node_name: for people.
        approval: what it asks.
    """

    node: DeviceId
    node_name: str
    approval: PendingApproval

    @property
    def shown(self) -> Shown:
        """What a person answers who has seen this."""
        asked = self.approval
        return Shown(
            self.node,
            asked.id,
            asked.job_id,
            asked.request_id,
            asked.step,
            asked.tool.schema_hash,
            asked.call.argument_hash,
        )


@dataclass(frozen=True, slots=True)
class NodeTools:
    """What one node offers to this phone.

    Attributes:
        node: device id of the node.
        node_name: for people.
        tools: what it offers.
        error: why nothing is known of that; None if it is.
    """

    node: DeviceId
    node_name: str
    tools: tuple[ToolSpec, ...] = ()
    error: HomingError | None = None


class PhoneJobs(Protocol):
    """Jobs of this phone. Every method raises `HomingError`; an id may be a unique beginning."""

    async def start(  # noqa: PLR0913  # what a person may say of it
        self,
        tool: str,
        arguments: JsonObject,
        *,
        node: str,
        sensitivity: Sensitivity,
        request_id: RequestId,
        allowed: bool,
        schema_hash: str = "",
    ) -> PhoneJob:
        """Start a home tool without a model, because a person said so exactly.

        Args:
            tool: its name, or `server.name` where several have it.
            arguments: as its schema wants them.
            node: name or beginning of the id of the node; empty takes the first that has the tool
                and may have the data, home before peers.
            sensitivity: how far the arguments may travel.
            request_id: chosen by whoever asks, so that repeating it is harmless.
            allowed: whether the person consents to a tool that changes something.
            schema_hash: of the tool that the person was shown; another is refused. Empty takes
                the tool as it is.
        """
        ...

    async def list(self, *, refresh: bool) -> tuple[PhoneJob, ...]:
        """All that this phone knows of, newest first; nodes are asked for news if `refresh`."""
        ...

    async def tools(self) -> tuple[NodeTools, ...]:
        """Home tools as each node offers them now, home before peers."""
        ...

    def watch(self, job: str, after: int) -> AsyncGenerator[JobEvent, None]:
        """Its events behind a number, to the end, over breaks of the line."""
        ...

    async def cancel(self, job: str) -> PhoneJob:
        """End it."""
        ...

    async def result(self, job: str) -> JobResult:
        """What came of it; fetched if it is not here yet."""
        ...

    async def save_files(self, job: str, folder: Path, *, replace: bool) -> tuple[Path, ...]:
        """Copy the result's files into a folder; nothing is replaced unless that is said."""
        ...

    async def waiting(self) -> tuple[Waiting, ...]:
        """What nodes want to have answered."""
        ...

    async def answer(self, shown: Shown, verdict: Verdict) -> PhoneJob | None:
        """A person's answer to exactly what they were shown, signed here.

        Returns:
            The job it belongs to, if it is this phone's.

        Raises:
            NotFoundError: that node waits for no such answer.
            ConflictError: it asks something else under this id.
        """
        ...

    async def settle(self, job: str, said: Settlement) -> PhoneJob:
        """What a person says of a job of which nobody knows whether it happened."""
        ...

    async def forget(self, job: str) -> None:
        """Remove an ended job and its result from this phone."""
        ...
