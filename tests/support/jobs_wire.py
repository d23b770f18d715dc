"""Jobs on the wire: what a phone sends, for tests against a whole node or a service alone."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc.aio
from homing_core.approvals import ApprovalStatement, Verdict
from homing_core.clock import SystemClock
from homing_core.ids import new_approval_id, new_job_id, new_request_id, new_tool_call_id
from homing_core.jobs import JobSpec
from homing_core.provenance import Sensitivity
from homing_core.tools import ToolCall
from homing_crypto.approvals import sign_approval
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.approvals import encode_signed_approval
from homing_proto.codec.job_questions import decode_pending_approvals, encode_settlement
from homing_proto.codec.jobs import (
    decode_job_event,
    decode_job_status,
    decode_job_statuses,
    encode_job_spec,
)
from homing_proto.v1 import job_pb2 as wire
from homing_proto.v1 import job_pb2_grpc
from support.node_rig import DEADLINE_S, within

if TYPE_CHECKING:
    from collections.abc import Generator

    from homing_core.approvals import SignedApproval
    from homing_core.canonical import JsonObject
    from homing_core.ids import JobId
    from homing_core.jobs import JobEvent, JobStatus, PendingApproval, Settlement
    from homing_core.tools import ToolSpec
    from homing_crypto.identity import DeviceIdentity

HOUR_S = 3600


def job_for(tool: ToolSpec, text: str = "hello", **more: str) -> JobSpec:
    """A job that calls a tool with a text; its data may go to peers."""
    arguments: JsonObject = {"text": text, **more}
    call = ToolCall(new_tool_call_id(), tool.name, arguments)
    return JobSpec(new_job_id(), new_request_id(), tool.id, call, Sensitivity.TRUSTED_PEERS)


def consent(
    identity: DeviceIdentity,
    spec: JobSpec,
    verdict: Verdict = Verdict.ALLOW,
    *,
    expires_in: float = HOUR_S,
    step: int = 1,
) -> SignedApproval:
    """A person's answer on this device to exactly this job's call."""
    statement = ApprovalStatement(
        id=new_approval_id(),
        request_id=spec.request_id,
        step=step,
        tool_hash=spec.tool.schema_hash,
        argument_hash=spec.call.argument_hash,
        verdict=verdict,
        device=identity.device_id,
        expires_at=int(SystemClock().now() + expires_in),
    )
    return sign_approval(identity, statement)


def answer_to(
    identity: DeviceIdentity, question: PendingApproval, verdict: Verdict = Verdict.ALLOW
) -> SignedApproval:
    """A person's answer on this device to a question."""
    statement = ApprovalStatement(
        id=question.id,
        request_id=question.request_id,
        step=question.step,
        tool_hash=question.tool.schema_hash,
        argument_hash=question.call.argument_hash,
        verdict=verdict,
        device=identity.device_id,
        expires_at=int(SystemClock().now() + HOUR_S),
    )
    return sign_approval(identity, statement)


@contextlib.contextmanager
def _as_errors() -> Generator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error


@dataclass
class JobsClient:
    """A device's calls about jobs. Every method raises `HomingError`."""

    identity: DeviceIdentity
    channel: grpc.aio.Channel

    @property
    def stub(self) -> job_pb2_grpc.JobsServiceAsyncStub:
        """The bare calls."""
        return job_pb2_grpc.JobsServiceStub(self.channel)

    async def submit(self, spec: JobSpec, approval: SignedApproval | None = None) -> JobStatus:
        request = wire.SubmitJobRequest(
            job=encode_job_spec(spec),
            approval=None if approval is None else encode_signed_approval(approval),
        )
        with _as_errors():
            answer = await self.stub.SubmitJob(request, timeout=DEADLINE_S)
        return decode_job_status(answer.status)

    async def status(self, job: JobId) -> JobStatus:
        with _as_errors():
            answer = await self.stub.GetJob(wire.GetJobRequest(id=job), timeout=DEADLINE_S)
        return decode_job_status(answer.status)

    async def jobs(self, most: int = 0, before: str = "") -> tuple[JobStatus, ...]:
        with _as_errors():
            request = wire.ListJobsRequest(limit=most, before_id=before)
            answer = await self.stub.ListJobs(request, timeout=DEADLINE_S)
        return decode_job_statuses(answer.jobs)

    def watching(
        self, job: JobId, after: int = 0
    ) -> grpc.aio.UnaryStreamCall[wire.WatchJobRequest, wire.WatchJobResponse]:
        """An open watch, as phones have it: without an end of its own."""
        return self.stub.WatchJob(wire.WatchJobRequest(id=job, after_seq=after))

    async def watch(self, job: JobId, after: int = 0) -> list[JobEvent]:
        """Its record, to the end of the job."""
        found: list[JobEvent] = []
        with _as_errors():
            call = self.watching(job, after)
            while isinstance(answer := await within(call.read()), wire.WatchJobResponse):
                found.append(decode_job_event(answer.event))
        return found

    async def cancel(self, job: JobId) -> JobStatus:
        with _as_errors():
            answer = await self.stub.CancelJob(wire.CancelJobRequest(id=job), timeout=DEADLINE_S)
        return decode_job_status(answer.status)

    async def pending(self) -> tuple[PendingApproval, ...]:
        with _as_errors():
            request = wire.ListPendingApprovalsRequest()
            answer = await self.stub.ListPendingApprovals(request, timeout=DEADLINE_S)
        return decode_pending_approvals(answer.approvals)

    async def answer(self, approval: SignedApproval) -> JobStatus:
        request = wire.AnswerApprovalRequest(approval=encode_signed_approval(approval))
        with _as_errors():
            answer = await self.stub.AnswerApproval(request, timeout=DEADLINE_S)
        return decode_job_status(answer.status)

    async def settle(self, job: JobId, said: Settlement) -> JobStatus:
        request = wire.SettleJobRequest(id=job, settlement=encode_settlement(said))
        with _as_errors():
            answer = await self.stub.SettleJob(request, timeout=DEADLINE_S)
        return decode_job_status(answer.status)

    async def pieces(self, job: JobId, offset: int = 0) -> list[wire.DownloadResultResponse]:
        request = wire.DownloadResultRequest(id=job, offset_bytes=offset)
        found: list[wire.DownloadResultResponse] = []
        with _as_errors():
            call = self.stub.DownloadResult(request, timeout=DEADLINE_S)
            while isinstance(piece := await within(call.read()), wire.DownloadResultResponse):
                found.append(piece)
        return found

    async def download(self, job: JobId, offset: int = 0) -> bytes:
        """The sealed result, from an offset."""
        return b"".join([piece.data for piece in await self.pieces(job, offset)])

    async def ack(self, job: JobId, sha256: str) -> None:
        with _as_errors():
            request = wire.AckResultRequest(id=job, sha256=sha256)
            await self.stub.AckResult(request, timeout=DEADLINE_S)
