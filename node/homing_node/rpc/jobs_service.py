"""Jobs on the wire. Who may do what with which job is decided by `homing_node.jobs`."""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from homing_core.errors import IntegrityError, OverloadedError, RefusedError
from homing_core.ids import parse_job_id
from homing_crypto.guard import Refusal
from homing_crypto.rpc_guard import current_caller
from homing_proto.codec import limits
from homing_proto.codec.approvals import decode_signed_approval
from homing_proto.codec.fields import sha256_hex
from homing_proto.codec.job_questions import decode_settlement, encode_pending_approval
from homing_proto.codec.jobs import decode_job_spec, encode_job_event, encode_job_status
from homing_proto.v1 import job_pb2 as wire
from homing_proto.v1 import job_pb2_grpc

from homing_node.rpc.fitting import fairly, fitting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator

    import grpc
    from homing_core.jobs import JobStatus

    from homing_node.jobs.ports import Jobs
    from homing_node.rpc.servers import AddTo

    Context = grpc.aio.ServicerContext[Any, Any]

PIECE_BYTES: Final = 64 * 1024
"""The most of a result in one message."""
MOST_WATCHES: Final = 32
"""Jobs that one device may watch at once: half of the calls that it may have open by default."""
MOST_WATCHES_IN_ALL: Final = 512
"""Half of the calls that the node takes at once: watching never fills it."""
_PAGE: Final = 100
_SOON_MS: Final = 5_000


class JobsService(job_pb2_grpc.JobsServiceServicer):
    """See `job.proto`.

    Args:
        jobs: does everything; this class only translates.
        on_refused: told of every call that was let in and then refused; it must not raise.
        certificate_of: the certificate (DER) of another daemon on the same jobs, by its device id;
            empty if that is unknown, or this daemon itself.
    """

    def __init__(
        self,
        jobs: Jobs,
        on_refused: Callable[[Refusal], None],
        certificate_of: Callable[[str], bytes],
    ) -> None:
        """Nobody watches."""
        self._jobs = jobs
        self._on_refused = on_refused
        self._certificate_of = certificate_of
        self._watches: Counter[str] = Counter()

    async def SubmitJob(  # noqa: N802  # the wire's name
        self, request: wire.SubmitJobRequest, context: Context
    ) -> wire.SubmitJobResponse:
        """Take a job."""
        del context
        spec = decode_job_spec(request.job)
        signed = request.HasField("approval")
        approval = decode_signed_approval(request.approval) if signed else None
        with self._noting("SubmitJob"):
            status = await self._jobs.submit(current_caller().device, spec, approval)
        return wire.SubmitJobResponse(status=self._status(status))

    async def GetJob(  # noqa: N802  # the wire's name
        self, request: wire.GetJobRequest, context: Context
    ) -> wire.GetJobResponse:
        """One job."""
        del context
        status = await self._jobs.status(current_caller().device, parse_job_id(request.id))
        return wire.GetJobResponse(status=self._status(status))

    async def ListJobs(  # noqa: N802  # the wire's name
        self, request: wire.ListJobsRequest, context: Context
    ) -> wire.ListJobsResponse:
        """The device's jobs; as many of the newest as one answer holds."""
        del context
        before = parse_job_id(request.before_id) if request.before_id else None
        most = min(request.limit or _PAGE, limits.MAX_JOBS)
        found = await self._jobs.list(current_caller().device, most, before)
        return wire.ListJobsResponse(jobs=fitting(map(self._status, found)))

    async def WatchJob(  # noqa: N802  # the wire's name
        self, request: wire.WatchJobRequest, context: Context
    ) -> AsyncGenerator[wire.WatchJobResponse, None]:
        """Its record, until the job ends."""
        del context
        device, job = current_caller().device, parse_job_id(request.id)
        with self._watching(device.owner):
            events = self._jobs.watch(device, job, request.after_seq)
            async with contextlib.aclosing(events):
                async for event in events:
                    yield wire.WatchJobResponse(event=encode_job_event(event))

    async def CancelJob(  # noqa: N802  # the wire's name
        self, request: wire.CancelJobRequest, context: Context
    ) -> wire.CancelJobResponse:
        """End it."""
        del context
        status = await self._jobs.cancel(current_caller().device, parse_job_id(request.id))
        return wire.CancelJobResponse(status=self._status(status))

    async def ListPendingApprovals(  # noqa: N802  # the wire's name
        self, request: wire.ListPendingApprovalsRequest, context: Context
    ) -> wire.ListPendingApprovalsResponse:
        """What the caller may answer; of everybody some, as many as one answer holds."""
        del request, context
        found = await self._jobs.pending(current_caller().device)
        shown = [encode_pending_approval(question) for question in found]
        return wire.ListPendingApprovalsResponse(
            approvals=fairly(shown, lambda question: question.device, limits.MAX_JOBS)
        )

    async def AnswerApproval(  # noqa: N802  # the wire's name
        self, request: wire.AnswerApprovalRequest, context: Context
    ) -> wire.AnswerApprovalResponse:
        """A person's signed answer."""
        del context
        approval = decode_signed_approval(request.approval)
        with self._noting("AnswerApproval"):
            status = await self._jobs.answer(current_caller().device, approval)
        return wire.AnswerApprovalResponse(status=self._status(status))

    async def DownloadResult(  # noqa: N802  # the wire's name
        self, request: wire.DownloadResultRequest, context: Context
    ) -> AsyncGenerator[wire.DownloadResultResponse, None]:
        """The sealed result from an offset, in small pieces."""
        del context
        device, job = current_caller().device, parse_job_id(request.id)
        pieces = self._jobs.download(device, job, request.offset_bytes)
        async with contextlib.aclosing(pieces):
            async for piece in pieces:
                for start in range(0, len(piece.data), PIECE_BYTES):
                    yield wire.DownloadResultResponse(
                        offset_bytes=piece.offset_bytes + start,
                        data=piece.data[start : start + PIECE_BYTES],
                        total_bytes=piece.total_bytes,
                    )

    async def SettleJob(  # noqa: N802  # the wire's name
        self, request: wire.SettleJobRequest, context: Context
    ) -> wire.SettleJobResponse:
        """What a person says of an effect that nobody knows of."""
        del context
        job, said = parse_job_id(request.id), decode_settlement(request.settlement)
        with self._noting("SettleJob"):
            status = await self._jobs.settle(current_caller().device, job, said)
        return wire.SettleJobResponse(status=self._status(status))

    async def AckResult(  # noqa: N802  # the wire's name
        self, request: wire.AckResultRequest, context: Context
    ) -> wire.AckResultResponse:
        """The result has arrived for good."""
        del context
        job, sha256 = parse_job_id(request.id), sha256_hex(request.sha256, "hash of the result")
        await self._jobs.ack(current_caller().device, job, sha256)
        return wire.AckResultResponse()

    def _status(self, status: JobStatus) -> wire.JobStatus:
        certificate = self._certificate_of(status.sealed_by) if status.sealed_by else b""
        return encode_job_status(status, certificate)

    @contextlib.contextmanager
    def _watching(self, account: str) -> Generator[None]:
        """A place among the watches: they stay open for hours and leave room for other calls."""
        if self._watches[account] >= MOST_WATCHES:
            msg = f"this device watches {MOST_WATCHES} jobs, which is the most"
            raise OverloadedError(msg, "Watch fewer at once.", _SOON_MS)
        if self._watches.total() >= MOST_WATCHES_IN_ALL:
            msg = "too many jobs are being watched on this node"
            raise OverloadedError(msg, "Ask for the job's status from time to time.", _SOON_MS)
        self._watches[account] += 1
        try:
            yield
        finally:
            self._watches[account] -= 1
            if not self._watches[account]:
                del self._watches[account]

    @contextlib.contextmanager
    def _noting(self, method: str) -> Generator[None]:
        """What the guard let in and the rules for jobs refuse is a refusal too; so is a forgery."""
        try:
            yield
        except (RefusedError, IntegrityError) as error:
            caller = current_caller()
            name = f"/homing_proto.v1.JobsService/{method}"
            self._on_refused(Refusal(name, caller.id, caller.address, error))
            raise


def _itself(_: str) -> bytes:
    """There is no other daemon."""
    return b""


def add_jobs_service(
    jobs: Jobs,
    on_refused: Callable[[Refusal], None],
    certificate_of: Callable[[str], bytes] = _itself,
) -> AddTo:
    """What puts the service on a server; the arguments are those of `JobsService`."""

    def add(server: grpc.aio.Server) -> None:
        job_pb2_grpc.add_JobsServiceServicer_to_server(
            JobsService(jobs, on_refused, certificate_of), server
        )

    return add
