"""Jobs and tools of a node: what the phone asks over its main connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_proto.codec.approvals import encode_signed_approval
from homing_proto.codec.fields import refuse
from homing_proto.codec.job_questions import decode_pending_approvals, encode_settlement
from homing_proto.codec.jobs import (
    decode_job_event,
    decode_job_status,
    decode_sealer_certificate,
    encode_job_spec,
)
from homing_proto.codec.tools import decode_tool_specs
from homing_proto.v1 import job_pb2 as wire
from homing_proto.v1 import job_pb2_grpc, node_pb2, node_pb2_grpc

from homing_client.jobs.node import SealedPiece, Told
from homing_client.rpc.node_calls import plain_errors

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import grpc.aio
    from homing_core.approvals import SignedApproval
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent, JobSpec, PendingApproval, Settlement
    from homing_core.tools import ToolSpec

CALL_S: Final = 10.0
"""Deadline of each small call, in seconds."""


class JobsCalls:
    """A node's jobs, on a channel that is pinned to its key; implements `JobNode`.

    Every method raises `HomingError`: a `BrokenLineError` where trying again may help.

    Args:
        channel: see `homing_crypto.credentials.client_channel`.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stubs."""
        self._jobs = job_pb2_grpc.JobsServiceStub(channel)
        self._tools = node_pb2_grpc.ToolsServiceStub(channel)

    async def tools(self) -> tuple[ToolSpec, ...]:
        """See `JobNode.tools`."""
        with plain_errors():
            answer = await self._tools.ListTools(node_pb2.ListToolsRequest(), timeout=CALL_S)
        return decode_tool_specs(answer.tools)

    async def submit(self, spec: JobSpec, approval: SignedApproval | None) -> Told:
        """See `JobNode.submit`."""
        request = wire.SubmitJobRequest(
            job=encode_job_spec(spec),
            approval=None if approval is None else encode_signed_approval(approval),
        )
        with plain_errors():
            answer = await self._jobs.SubmitJob(request, timeout=CALL_S)
        return decode_told(answer.status, spec.id)

    async def status(self, job: JobId) -> Told:
        """See `JobNode.status`."""
        with plain_errors():
            answer = await self._jobs.GetJob(wire.GetJobRequest(id=job), timeout=CALL_S)
        return decode_told(answer.status, job)

    async def watch(self, job: JobId, after: int) -> AsyncGenerator[JobEvent, None]:
        """See `JobNode.watch`."""
        with plain_errors():
            call = self._jobs.WatchJob(wire.WatchJobRequest(id=job, after_seq=after))
        try:
            with plain_errors():
                async for answer in call:
                    yield decode_job_event(answer.event)
        finally:
            call.cancel()

    async def cancel(self, job: JobId) -> Told:
        """See `JobNode.cancel`."""
        with plain_errors():
            answer = await self._jobs.CancelJob(wire.CancelJobRequest(id=job), timeout=CALL_S)
        return decode_told(answer.status, job)

    async def pending(self) -> tuple[PendingApproval, ...]:
        """See `JobNode.pending`."""
        with plain_errors():
            answer = await self._jobs.ListPendingApprovals(
                wire.ListPendingApprovalsRequest(), timeout=CALL_S
            )
        return decode_pending_approvals(answer.approvals)

    async def answer(self, approval: SignedApproval) -> Told:
        """See `JobNode.answer`."""
        request = wire.AnswerApprovalRequest(approval=encode_signed_approval(approval))
        with plain_errors():
            answer = await self._jobs.AnswerApproval(request, timeout=CALL_S)
        return decode_told(answer.status)

    async def settle(self, job: JobId, said: Settlement) -> Told:
        """See `JobNode.settle`."""
        request = wire.SettleJobRequest(id=job, settlement=encode_settlement(said))
        with plain_errors():
            answer = await self._jobs.SettleJob(request, timeout=CALL_S)
        return decode_told(answer.status, job)

    async def download(self, job: JobId, offset: int) -> AsyncGenerator[SealedPiece, None]:
        """See `JobNode.download`."""
        with plain_errors():
            call = self._jobs.DownloadResult(
                wire.DownloadResultRequest(id=job, offset_bytes=offset)
            )
        try:
            with plain_errors():
                async for answer in call:
                    yield SealedPiece(answer.offset_bytes, answer.data, answer.total_bytes)
        finally:
            call.cancel()

    async def ack(self, job: JobId, sha256: str) -> None:
        """See `JobNode.ack`."""
        with plain_errors():
            await self._jobs.AckResult(wire.AckResultRequest(id=job, sha256=sha256), timeout=CALL_S)


def decode_told(message: wire.JobStatus, job: JobId | None = None) -> Told:
    """A status of the job that was asked about.

    Raises:
        InvalidDataError: it is malformed, or another job's.
    """
    status = decode_job_status(message)
    if job is not None and status.id != job:
        refuse("the node answered about another job")
    return Told(status, decode_sealer_certificate(message))
