"""Jobs of the phone on its local socket: the service. Its callers use `phone_jobs_calls`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from homing_core.errors import UsageError
from homing_core.ids import parse_request_id
from homing_proto.codec.common import decode_sensitivity
from homing_proto.codec.fields import sha256_hex
from homing_proto.codec.job_questions import decode_settlement
from homing_proto.codec.jobs import encode_job_event
from homing_proto.codec.json_text import decode_json_object
from homing_proto.v1 import phone_jobs_pb2 as wire
from homing_proto.v1 import phone_jobs_pb2_grpc

from homing_client.rpc.phone_jobs_codec import (
    decode_answer,
    decode_folder,
    encode_node_tools,
    encode_phone_job,
    encode_waiting,
    result_pieces,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import grpc.aio

    from homing_client.jobs.ports import PhoneJobs

    Context = grpc.aio.ServicerContext[Any, Any]

_MAX_TEXT = 256


class PhoneJobsService(phone_jobs_pb2_grpc.PhoneJobsServiceServicer):
    """See `phone_jobs.proto`.

    Args:
        jobs: does everything; this class only translates.
        touch: says that somebody uses the process.
    """

    def __init__(self, jobs: PhoneJobs, touch: Callable[[], None]) -> None:
        """Keep who does it."""
        self._jobs = jobs
        self._touch = touch

    async def StartPhoneJob(  # noqa: N802  # the wire's name
        self, request: wire.StartPhoneJobRequest, context: Context
    ) -> wire.StartPhoneJobResponse:
        """Start a home tool without a model."""
        del context
        self._touch()
        job = await self._jobs.start(
            _short(request.tool),
            decode_json_object(request.arguments_json, "arguments"),
            node=_short(request.node),
            sensitivity=decode_sensitivity(request.sensitivity),
            request_id=parse_request_id(request.request_id),
            allowed=request.allowed,
            schema_hash=sha256_hex(request.schema_hash, "schema hash")
            if request.schema_hash
            else "",
        )
        return wire.StartPhoneJobResponse(job=encode_phone_job(job))

    async def ListPhoneJobs(  # noqa: N802  # the wire's name
        self, request: wire.ListPhoneJobsRequest, context: Context
    ) -> AsyncIterator[wire.ListPhoneJobsResponse]:
        """Every job that this phone knows of."""
        del context
        self._touch()
        for job in await self._jobs.list(refresh=request.refresh):
            yield wire.ListPhoneJobsResponse(job=encode_phone_job(job))

    async def ListHomeTools(  # noqa: N802  # the wire's name
        self, request: wire.ListHomeToolsRequest, context: Context
    ) -> AsyncIterator[wire.ListHomeToolsResponse]:
        """Home tools of the nodes."""
        del request, context
        self._touch()
        for of_node in await self._jobs.tools():
            for message in encode_node_tools(of_node):
                yield message

    async def WatchPhoneJob(  # noqa: N802  # the wire's name
        self, request: wire.WatchPhoneJobRequest, context: Context
    ) -> AsyncIterator[wire.WatchPhoneJobResponse]:
        """A job's events."""
        del context
        self._touch()
        watching = self._jobs.watch(_short(request.job), request.after_seq)
        async with contextlib.aclosing(watching) as events:
            async for event in events:
                self._touch()
                yield wire.WatchPhoneJobResponse(event=encode_job_event(event))

    async def CancelPhoneJob(  # noqa: N802  # the wire's name
        self, request: wire.CancelPhoneJobRequest, context: Context
    ) -> wire.CancelPhoneJobResponse:
        """End a job."""
        del context
        self._touch()
        job = await self._jobs.cancel(_short(request.job))
        return wire.CancelPhoneJobResponse(job=encode_phone_job(job))

    async def FetchPhoneJobResult(  # noqa: N802  # the wire's name
        self, request: wire.FetchPhoneJobResultRequest, context: Context
    ) -> AsyncIterator[wire.FetchPhoneJobResultResponse]:
        """What came of a job."""
        del context
        self._touch()
        for piece in result_pieces(await self._jobs.result(_short(request.job))):
            yield piece

    async def SavePhoneJobFiles(  # noqa: N802  # the wire's name
        self, request: wire.SavePhoneJobFilesRequest, context: Context
    ) -> wire.SavePhoneJobFilesResponse:
        """Copy the files of a result into a folder."""
        del context
        self._touch()
        saved = await self._jobs.save_files(
            _short(request.job), decode_folder(request.folder), replace=request.replace
        )
        return wire.SavePhoneJobFilesResponse(paths=[str(path) for path in saved])

    async def ListWaitingApprovals(  # noqa: N802  # the wire's name
        self, request: wire.ListWaitingApprovalsRequest, context: Context
    ) -> AsyncIterator[wire.ListWaitingApprovalsResponse]:
        """What nodes want to have answered."""
        del request, context
        self._touch()
        for waiting in await self._jobs.waiting():
            yield encode_waiting(waiting)

    async def AnswerWaitingApproval(  # noqa: N802  # the wire's name
        self, request: wire.AnswerWaitingApprovalRequest, context: Context
    ) -> wire.AnswerWaitingApprovalResponse:
        """The person's answer."""
        del context
        self._touch()
        job = await self._jobs.answer(*decode_answer(request))
        return wire.AnswerWaitingApprovalResponse(job=encode_phone_job(job) if job else None)

    async def SettlePhoneJob(  # noqa: N802  # the wire's name
        self, request: wire.SettlePhoneJobRequest, context: Context
    ) -> wire.SettlePhoneJobResponse:
        """What the person says of an effect that nobody knows of."""
        del context
        self._touch()
        job = await self._jobs.settle(_short(request.job), decode_settlement(request.settlement))
        return wire.SettlePhoneJobResponse(job=encode_phone_job(job))

    async def ForgetPhoneJob(  # noqa: N802  # the wire's name
        self, request: wire.ForgetPhoneJobRequest, context: Context
    ) -> wire.ForgetPhoneJobResponse:
        """Remove a job from this phone."""
        del context
        self._touch()
        await self._jobs.forget(_short(request.job))
        return wire.ForgetPhoneJobResponse()


def add_phone_jobs(jobs: PhoneJobs, touch: Callable[[], None]) -> Callable[[grpc.aio.Server], None]:
    """What puts the service on the local socket's server."""

    def add(server: grpc.aio.Server) -> None:
        phone_jobs_pb2_grpc.add_PhoneJobsServiceServicer_to_server(
            PhoneJobsService(jobs, touch), server
        )

    return add


def _short(text: str) -> str:
    if len(text) > _MAX_TEXT:
        msg = "what was typed is too long"
        raise UsageError(msg, f"At most {_MAX_TEXT} characters.")
    return text
