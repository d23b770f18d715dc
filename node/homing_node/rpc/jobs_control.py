"""Everybody's jobs on the daemon's local service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from homing_core.ids import parse_approval_id
from homing_proto.codec import limits
from homing_proto.codec.fields import readable_line, readable_name
from homing_proto.codec.job_questions import decode_settlement, encode_pending_approval
from homing_proto.codec.jobs import JOB_STATES, encode_job_event, encode_job_progress
from homing_proto.v1 import jobs_control_pb2 as wire
from homing_proto.v1 import jobs_control_pb2_grpc

from homing_node.rpc.fitting import fairly

if TYPE_CHECKING:
    import grpc

    from homing_node.jobs.console import JobConsole, JobView
    from homing_node.rpc.servers import AddTo

    Context = grpc.aio.ServicerContext[Any, Any]

_PAGE: Final = 100


class NodeJobsControlService(jobs_control_pb2_grpc.NodeJobsControlServiceServicer):
    """See `jobs_control.proto`.

    Args:
        console: does everything; this class only translates.
    """

    def __init__(self, console: JobConsole) -> None:
        """Keep who does it."""
        self._console = console

    async def ListNodeJobs(  # noqa: N802  # the wire's name
        self, request: wire.ListNodeJobsRequest, context: Context
    ) -> wire.ListNodeJobsResponse:
        """Everybody's."""
        del context
        found = await self._console.list(min(request.limit or _PAGE, limits.MAX_JOBS))
        return wire.ListNodeJobsResponse(jobs=map(encode_node_job, found))

    async def ShowNodeJob(  # noqa: N802  # the wire's name
        self, request: wire.ShowNodeJobRequest, context: Context
    ) -> wire.ShowNodeJobResponse:
        """One, with its record."""
        del context
        view, events = await self._console.show(request.id_prefix)
        newest = events[-limits.MAX_JOBS :]
        return wire.ShowNodeJobResponse(
            job=encode_node_job(view), events=map(encode_job_event, newest)
        )

    async def CancelNodeJob(  # noqa: N802  # the wire's name
        self, request: wire.CancelNodeJobRequest, context: Context
    ) -> wire.CancelNodeJobResponse:
        """End one."""
        del context
        view = await self._console.cancel(request.id_prefix)
        return wire.CancelNodeJobResponse(job=encode_node_job(view))

    async def ListNodeApprovals(  # noqa: N802  # the wire's name
        self, request: wire.ListNodeApprovalsRequest, context: Context
    ) -> wire.ListNodeApprovalsResponse:
        """What waits for a person."""
        del request, context
        found = await self._console.approvals()
        shown = [encode_pending_approval(question) for question in found]
        return wire.ListNodeApprovalsResponse(
            approvals=fairly(shown, lambda question: question.device, limits.MAX_JOBS)
        )

    async def AnswerNodeApproval(  # noqa: N802  # the wire's name
        self, request: wire.AnswerNodeApprovalRequest, context: Context
    ) -> wire.AnswerNodeApprovalResponse:
        """Yes or no."""
        del context
        approval = parse_approval_id(request.approval_id)
        view = await self._console.answer(approval, allow=request.allow)
        return wire.AnswerNodeApprovalResponse(job=encode_node_job(view))

    async def SettleNodeJob(  # noqa: N802  # the wire's name
        self, request: wire.SettleNodeJobRequest, context: Context
    ) -> wire.SettleNodeJobResponse:
        """What became of an effect."""
        del context
        said = decode_settlement(request.settlement)
        view = await self._console.settle(request.id_prefix, said)
        return wire.SettleNodeJobResponse(job=encode_node_job(view))


def add_jobs_control(console: JobConsole) -> AddTo:
    """What puts the service on a server."""

    def add(server: grpc.aio.Server) -> None:
        jobs_control_pb2_grpc.add_NodeJobsControlServiceServicer_to_server(
            NodeJobsControlService(console), server
        )

    return add


def encode_node_job(view: JobView) -> wire.NodeJob:
    """A job as the console sees it."""
    return wire.NodeJob(
        id=view.id,
        account=view.account,
        device_name=readable_name(view.device_name),
        peer=view.peer,
        tool_server=view.tool_server,
        tool_name=view.tool_name,
        state=JOB_STATES.encode(view.state),
        submitted_at=view.submitted_at,
        ended_at=view.ended_at,
        last_seq=view.last_seq,
        progress=None if view.progress is None else encode_job_progress(view.progress),
        summary=readable_line(view.summary),
        priority=view.priority,
        attempt=view.attempt,
        runner=readable_name(view.runner),
        ending=view.ending,
        result_bytes=view.result_bytes,
        delivered_at=view.delivered_at,
    )
