"""The command line's side of everybody's jobs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.localsocket import open_local_channel
from homing_core.ids import parse_device_id, parse_job_id
from homing_core.labels import clean_label
from homing_proto.codec import limits
from homing_proto.codec.fields import max_chars, max_items, not_negative, optional_device
from homing_proto.codec.job_questions import decode_pending_approvals, encode_settlement
from homing_proto.codec.jobs import JOB_STATES, decode_job_event, decode_job_progress
from homing_proto.codec.tools import decode_tool_name
from homing_proto.v1 import jobs_control_pb2 as wire
from homing_proto.v1 import jobs_control_pb2_grpc

from homing_node.jobs.console import JobView
from homing_node.rpc.control_client import TIMEOUT_S, daemon_errors

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import grpc.aio
    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.ids import ApprovalId
    from homing_core.jobs import JobEvent, PendingApproval, Settlement


class JobsControl:
    """Talks to the daemon that runs on a data directory. Every method raises `HomingError`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Use `connect`."""
        self._stub = jobs_control_pb2_grpc.NodeJobsControlServiceStub(channel)

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(
        cls, paths: ProgramPaths, start_with: str = "homing-node run"
    ) -> AsyncGenerator[JobsControl]:
        """Raises `UnavailableError` if no daemon runs there; `start_with` is what to try."""
        async with open_local_channel(paths, start_with) as channel:
            yield cls(channel)

    async def list(self, most: int) -> tuple[JobView, ...]:
        """Everybody's, newest first."""
        with daemon_errors():
            request = wire.ListNodeJobsRequest(limit=most)
            answer = await self._stub.ListNodeJobs(request, timeout=TIMEOUT_S)
        max_items(answer.jobs, limits.MAX_JOBS, "jobs")
        return tuple(map(decode_node_job, answer.jobs))

    async def show(self, prefix: str) -> tuple[JobView, tuple[JobEvent, ...]]:
        """One, with its record."""
        with daemon_errors():
            request = wire.ShowNodeJobRequest(id_prefix=prefix)
            answer = await self._stub.ShowNodeJob(request, timeout=TIMEOUT_S)
        max_items(answer.events, limits.MAX_JOBS, "events")
        return decode_node_job(answer.job), tuple(map(decode_job_event, answer.events))

    async def cancel(self, prefix: str) -> JobView:
        """End one."""
        with daemon_errors():
            request = wire.CancelNodeJobRequest(id_prefix=prefix)
            answer = await self._stub.CancelNodeJob(request, timeout=TIMEOUT_S)
        return decode_node_job(answer.job)

    async def approvals(self) -> tuple[PendingApproval, ...]:
        """What waits for a person, oldest first."""
        with daemon_errors():
            request = wire.ListNodeApprovalsRequest()
            answer = await self._stub.ListNodeApprovals(request, timeout=TIMEOUT_S)
        return decode_pending_approvals(answer.approvals)

    async def answer(self, approval: ApprovalId, *, allow: bool) -> JobView:
        """Yes or no to the question of this id."""
        with daemon_errors():
            request = wire.AnswerNodeApprovalRequest(approval_id=approval, allow=allow)
            answer = await self._stub.AnswerNodeApproval(request, timeout=TIMEOUT_S)
        return decode_node_job(answer.job)

    async def settle(self, prefix: str, said: Settlement) -> JobView:
        """What became of an effect."""
        with daemon_errors():
            request = wire.SettleNodeJobRequest(
                id_prefix=prefix, settlement=encode_settlement(said)
            )
            answer = await self._stub.SettleNodeJob(request, timeout=TIMEOUT_S)
        return decode_node_job(answer.job)


def decode_node_job(message: wire.NodeJob) -> JobView:
    """Raises `InvalidDataError`."""
    return JobView(
        id=parse_job_id(message.id),
        account=parse_device_id(message.account),
        device_name=clean_label(message.device_name, fallback=""),
        peer=optional_device(message.peer),
        tool_server=max_chars(message.tool_server, limits.MAX_NAME_CHARS, "tool's server"),
        tool_name=decode_tool_name(message.tool_name),
        state=JOB_STATES.decode(message.state),
        submitted_at=not_negative(message.submitted_at, "job's time"),
        ended_at=not_negative(message.ended_at, "job's end"),
        last_seq=message.last_seq,
        progress=decode_job_progress(message.progress) if message.HasField("progress") else None,
        summary=max_chars(message.summary, limits.MAX_LINE_CHARS, "job's summary"),
        priority=message.priority,
        attempt=message.attempt,
        runner=max_chars(message.runner, limits.MAX_NAME_CHARS, "daemon's name"),
        ending=message.ending,
        result_bytes=message.result_bytes,
        delivered_at=not_negative(message.delivered_at, "time of delivery"),
    )
