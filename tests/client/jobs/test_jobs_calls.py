"""The phone's side of the jobs protocol, against a node that answers whatever a test says."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc.aio
import pytest
from homing_client.rpc.jobs_calls import JobsCalls, decode_told
from homing_client.rpc.node_calls import BrokenLineError
from homing_core.errors import InvalidDataError, NotFoundError, OverloadedError
from homing_core.ids import new_job_id, new_request_id, new_tool_call_id
from homing_core.jobs import JobSpec, JobState, JobStatus, Settlement
from homing_core.tools import ToolCall
from homing_crypto.rpc_errors import status_parts
from homing_proto.codec.jobs import encode_job_status
from homing_proto.codec.tools import encode_tool_spec
from homing_proto.v1 import job_pb2 as wire
from homing_proto.v1 import job_pb2_grpc, node_pb2, node_pb2_grpc, tool_pb2
from hypothesis import given
from hypothesis import strategies as st
from support.job_world import WAIT_S, tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Coroutine

    from homing_core.errors import HomingError
    from homing_core.ids import JobId

Context = grpc.aio.ServicerContext[Any, Any]
JOB = new_job_id()


@dataclass
class Answers(job_pb2_grpc.JobsServiceServicer, node_pb2_grpc.ToolsServiceServicer):
    """Answers what a test says.

    Attributes:
        status: of every job.
        events: of every job.
        pieces: of every result.
        tools: on offer.
        error: raised by every call, where set.
        asked: the last request.
    """

    status: wire.JobStatus = field(
        default_factory=lambda: encode_job_status(
            JobStatus(JOB, "summarise", JobState.RUNNING, 1.0, 1)
        )
    )
    events: list[wire.JobEvent] = field(default_factory=list[wire.JobEvent])
    pieces: list[wire.DownloadResultResponse] = field(
        default_factory=list[wire.DownloadResultResponse]
    )
    tools: list[tool_pb2.ToolSpec] = field(default_factory=list[tool_pb2.ToolSpec])
    error: HomingError | None = None
    asked: Any = None

    async def _take(self, request: object, context: Context) -> None:
        self.asked = request
        if self.error is not None:
            await context.abort(*status_parts(self.error))

    async def ListTools(  # noqa: N802  # the wire's name
        self, request: node_pb2.ListToolsRequest, context: Context
    ) -> node_pb2.ListToolsResponse:
        await self._take(request, context)
        return node_pb2.ListToolsResponse(tools=self.tools)

    async def SubmitJob(  # noqa: N802  # the wire's name
        self, request: wire.SubmitJobRequest, context: Context
    ) -> wire.SubmitJobResponse:
        await self._take(request, context)
        return wire.SubmitJobResponse(status=self.status)

    async def GetJob(  # noqa: N802  # the wire's name
        self, request: wire.GetJobRequest, context: Context
    ) -> wire.GetJobResponse:
        await self._take(request, context)
        return wire.GetJobResponse(status=self.status)

    async def WatchJob(  # noqa: N802  # the wire's name
        self, request: wire.WatchJobRequest, context: Context
    ) -> AsyncIterator[wire.WatchJobResponse]:
        await self._take(request, context)
        for event in self.events:
            yield wire.WatchJobResponse(event=event)

    async def ListPendingApprovals(  # noqa: N802  # the wire's name
        self, request: wire.ListPendingApprovalsRequest, context: Context
    ) -> wire.ListPendingApprovalsResponse:
        await self._take(request, context)
        return wire.ListPendingApprovalsResponse(approvals=[wire.PendingApproval(id="nonsense")])

    async def DownloadResult(  # noqa: N802  # the wire's name
        self, request: wire.DownloadResultRequest, context: Context
    ) -> AsyncIterator[wire.DownloadResultResponse]:
        await self._take(request, context)
        for piece in self.pieces:
            yield piece

    async def ListJobs(  # noqa: N802  # the wire's name
        self, request: wire.ListJobsRequest, context: Context
    ) -> wire.ListJobsResponse:
        await self._take(request, context)
        return wire.ListJobsResponse(jobs=[self.status])

    async def CancelJob(  # noqa: N802  # the wire's name
        self, request: wire.CancelJobRequest, context: Context
    ) -> wire.CancelJobResponse:
        await self._take(request, context)
        return wire.CancelJobResponse(status=self.status)

    async def AnswerApproval(  # noqa: N802  # the wire's name
        self, request: wire.AnswerApprovalRequest, context: Context
    ) -> wire.AnswerApprovalResponse:
        await self._take(request, context)
        return wire.AnswerApprovalResponse(status=self.status)

    async def SettleJob(  # noqa: N802  # the wire's name
        self, request: wire.SettleJobRequest, context: Context
    ) -> wire.SettleJobResponse:
        await self._take(request, context)
        return wire.SettleJobResponse(status=self.status)

    async def AckResult(  # noqa: N802  # the wire's name
        self, request: wire.AckResultRequest, context: Context
    ) -> wire.AckResultResponse:
        await self._take(request, context)
        return wire.AckResultResponse()


@contextlib.asynccontextmanager
async def answering() -> AsyncGenerator[tuple[Answers, JobsCalls, grpc.aio.Server]]:
    answers, server = Answers(), grpc.aio.server()
    job_pb2_grpc.add_JobsServiceServicer_to_server(answers, server)
    node_pb2_grpc.add_ToolsServiceServicer_to_server(answers, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with asyncio.timeout(WAIT_S), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as line:
            yield answers, JobsCalls(line), server
    finally:
        await server.stop(0)


async def fails(work: Coroutine[object, object, object], kind: type[HomingError]) -> HomingError:
    with pytest.raises(kind) as caught:
        await work
    return caught.value


async def events(calls: JobsCalls, job: JobId = JOB, after: int = 0) -> list[int]:
    async with contextlib.aclosing(calls.watch(job, after)) as found:
        return [event.seq async for event in found]


async def test_what_is_asked_is_sent_whole() -> None:
    spec = JobSpec(
        JOB, new_request_id(), tool().id, ToolCall(new_tool_call_id(), "summarise", {"folder": "a"})
    )
    async with answering() as (answers, calls, _):
        told = await calls.submit(spec, None)
        assert (told.status.id, told.sealer_certificate) == (JOB, b"")
        assert answers.asked.job.id == JOB
        assert answers.asked.job.tool.schema_hash == tool().schema_hash
        assert answers.asked.job.call.arguments_json == '{"folder":"a"}'
        assert not answers.asked.HasField("approval")
        answers.tools = [encode_tool_spec(tool())]
        assert [spec.schema_hash for spec in await calls.tools()] == [tool().schema_hash]
        await calls.cancel(JOB)
        assert answers.asked.id == JOB
        await calls.settle(JOB, Settlement.GIVE_UP)
        assert answers.asked.settlement == wire.SETTLEMENT_GIVE_UP
        await calls.ack(JOB, "ab" * 32)
        assert (answers.asked.id, answers.asked.sha256) == (JOB, "ab" * 32)


async def test_an_answer_about_another_job_is_not_believed() -> None:
    async with answering() as (answers, calls, _):
        answers.status.id = new_job_id()
        await fails(calls.status(JOB), InvalidDataError)


async def test_states_of_a_later_version_are_read_as_the_strictest() -> None:
    async with answering() as (answers, calls, _):
        answers.status.state = 99  # type: ignore[assignment]  # a number of a later version
        assert (await calls.status(JOB)).status.state is JobState.UNKNOWN_EFFECT
        answers.events = [wire.JobEvent(seq=1, at=1.0, state=99)]  # type: ignore[arg-type]  # same
        assert await events(calls) == [1]


async def test_malformed_answers_are_told_as_such() -> None:
    async with answering() as (answers, calls, _):
        answers.events = [wire.JobEvent(seq=0, at=1.0, state=wire.JOB_STATE_RUNNING)]
        await fails(events(calls), InvalidDataError)
        answers.events = [wire.JobEvent(seq=1, at=float("nan"), state=wire.JOB_STATE_RUNNING)]
        await fails(events(calls), InvalidDataError)
        await fails(calls.pending(), InvalidDataError)
        answers.tools = [encode_tool_spec(tool()), encode_tool_spec(tool())]
        await fails(calls.tools(), InvalidDataError)
        answers.status.sealer_certificate = b"x" * 100_000
        await fails(calls.status(JOB), InvalidDataError)


async def test_errors_of_the_node_and_of_the_line_are_told_apart() -> None:
    async with answering() as (answers, calls, server):
        answers.error = NotFoundError("there is no such job")
        assert (await fails(calls.status(JOB), NotFoundError)).what == "there is no such job"
        await fails(events(calls), NotFoundError)
        answers.error = OverloadedError("too many", retry_after_ms=2000)
        busy = await fails(calls.status(JOB), OverloadedError)
        assert isinstance(busy, OverloadedError)
        assert busy.retry_after_ms == 2000
        await server.stop(0)
        await fails(calls.status(JOB), BrokenLineError)


async def test_pieces_come_as_they_are() -> None:
    async with answering() as (answers, calls, _):
        answers.pieces = [
            wire.DownloadResultResponse(offset_bytes=at, data=b"abc", total_bytes=6)
            for at in (0, 3)
        ]
        async with contextlib.aclosing(calls.download(JOB, 0)) as pieces:
            found = [(piece.offset, piece.data, piece.total) async for piece in pieces]
        assert found == [(0, b"abc", 6), (3, b"abc", 6)]


@given(st.binary(max_size=200))
def test_no_status_breaks_its_reader(data: bytes) -> None:
    message = wire.JobStatus()
    with contextlib.suppress(Exception):
        message.ParseFromString(data)
    with contextlib.suppress(InvalidDataError):
        assert decode_told(message).status.id.startswith("job-")
