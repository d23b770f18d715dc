"""Jobs of the phone, as its command line reaches them over the local socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_proto.codec.common import encode_sensitivity
from homing_proto.codec.job_questions import encode_settlement
from homing_proto.codec.jobs import decode_job_event
from homing_proto.codec.json_text import encode_json
from homing_proto.v1 import phone_jobs_pb2 as wire
from homing_proto.v1 import phone_jobs_pb2_grpc

from homing_client.rpc.phone_calls import local_errors
from homing_client.rpc.phone_jobs_codec import (
    ResultReader,
    decode_node_tools,
    decode_phone_job,
    decode_saved_paths,
    decode_waiting,
    encode_answer,
    joined,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    import grpc.aio
    from homing_core.approvals import Verdict
    from homing_core.canonical import JsonObject
    from homing_core.ids import RequestId
    from homing_core.jobs import JobEvent, JobResult, Settlement
    from homing_core.provenance import Sensitivity

    from homing_client.jobs.ports import NodeTools, PhoneJob, Shown, Waiting

_CALL_S = 60.0
"""A node that is away is waited for a while, and several are asked one after the other."""


class PhoneJobsCalls:
    """The command line's side; a `PhoneJobs`. Every method raises `HomingError`.

    Args:
        channel: an open one to the local socket.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = phone_jobs_pb2_grpc.PhoneJobsServiceStub(channel)

    async def start(  # noqa: PLR0913  # as in `PhoneJobs`
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
        """See `PhoneJobs.start`."""
        request = wire.StartPhoneJobRequest(
            tool=tool,
            arguments_json=encode_json(arguments),
            node=node,
            sensitivity=encode_sensitivity(sensitivity),
            request_id=request_id,
            allowed=allowed,
            schema_hash=schema_hash,
        )
        with local_errors():
            return decode_phone_job((await self._stub.StartPhoneJob(request, timeout=_CALL_S)).job)

    async def list(self, *, refresh: bool) -> tuple[PhoneJob, ...]:
        """See `PhoneJobs.list`."""
        call = self._stub.ListPhoneJobs(wire.ListPhoneJobsRequest(refresh=refresh), timeout=_CALL_S)
        with local_errors():
            return tuple([decode_phone_job(found.job) async for found in call])

    async def tools(self) -> tuple[NodeTools, ...]:
        """See `PhoneJobs.tools`."""
        call = self._stub.ListHomeTools(wire.ListHomeToolsRequest(), timeout=_CALL_S)
        with local_errors():
            return joined([decode_node_tools(found) async for found in call])

    async def watch(self, job: str, after: int) -> AsyncGenerator[JobEvent, None]:
        """See `PhoneJobs.watch`."""
        call = self._stub.WatchPhoneJob(wire.WatchPhoneJobRequest(job=job, after_seq=after))
        try:
            with local_errors():
                async for found in call:
                    yield decode_job_event(found.event)
        finally:
            call.cancel()

    async def cancel(self, job: str) -> PhoneJob:
        """See `PhoneJobs.cancel`."""
        request = wire.CancelPhoneJobRequest(job=job)
        with local_errors():
            found = await self._stub.CancelPhoneJob(request, timeout=_CALL_S)
        return decode_phone_job(found.job)

    async def result(self, job: str) -> JobResult:
        """See `PhoneJobs.result`. A large one takes its time, so there is no limit."""
        call = self._stub.FetchPhoneJobResult(wire.FetchPhoneJobResultRequest(job=job))
        reader = ResultReader()
        with local_errors():
            async for piece in call:
                reader.feed(piece)
        return reader.end()

    async def save_files(self, job: str, folder: Path, *, replace: bool) -> tuple[Path, ...]:
        """See `PhoneJobs.save_files`. Large files take their time, so there is no limit."""
        request = wire.SavePhoneJobFilesRequest(job=job, folder=str(folder), replace=replace)
        with local_errors():
            found = await self._stub.SavePhoneJobFiles(request)
        return decode_saved_paths(found.paths)

    async def waiting(self) -> tuple[Waiting, ...]:
        """See `PhoneJobs.waiting`."""
        call = self._stub.ListWaitingApprovals(wire.ListWaitingApprovalsRequest(), timeout=_CALL_S)
        with local_errors():
            return tuple([decode_waiting(found) async for found in call])

    async def answer(self, shown: Shown, verdict: Verdict) -> PhoneJob | None:
        """See `PhoneJobs.answer`."""
        request = encode_answer(shown, verdict)
        with local_errors():
            found = await self._stub.AnswerWaitingApproval(request, timeout=_CALL_S)
        return decode_phone_job(found.job) if found.HasField("job") else None

    async def settle(self, job: str, said: Settlement) -> PhoneJob:
        """See `PhoneJobs.settle`."""
        request = wire.SettlePhoneJobRequest(job=job, settlement=encode_settlement(said))
        with local_errors():
            found = await self._stub.SettlePhoneJob(request, timeout=_CALL_S)
        return decode_phone_job(found.job)

    async def forget(self, job: str) -> None:
        """See `PhoneJobs.forget`."""
        with local_errors():
            await self._stub.ForgetPhoneJob(wire.ForgetPhoneJobRequest(job=job), timeout=_CALL_S)
