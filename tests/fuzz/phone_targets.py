"""What processes hand to each other about jobs: node, phone, and their command lines."""

from __future__ import annotations

import contextlib

from fuzz.found import wire_run
from fuzz.target import Target, examples, joined, of_text, pieces
from homing_agent.runtime.job_words import job_beginning
from homing_client.cli.job_arguments import typed_arguments
from homing_client.rpc.jobs_calls import decode_told
from homing_client.rpc.phone_jobs_codec import ResultReader, decode_answer, decode_waiting
from homing_core.errors import HomingError
from homing_core.tools import ToolSpec
from homing_node.rpc.jobs_control_client import decode_node_job
from homing_proto.codec.job_questions import encode_pending_approval
from homing_proto.codec.jobs import encode_job_status
from homing_proto.v1 import job_pb2, jobs_control_pb2, tool_pb2
from homing_proto.v1 import phone_jobs_pb2 as wire
from support import strategies as values
from support.wire_strategies import arbitrary

_TOOL = ToolSpec(
    "resize",
    "Makes pictures smaller.",
    {
        "type": "object",
        "properties": {
            "names": {"type": "array", "items": {"type": "string"}},
            "width": {"type": "integer", "minimum": 1},
            "keep": {"type": "boolean"},
            "more": {"type": "object", "additionalProperties": True},
        },
    },
)
_HEAD = wire.FetchPhoneJobResultResponse(
    result=wire.PhoneJobResult(job_id="job-" + "0a" * 16)
).SerializeToString()
_TEXT = wire.FetchPhoneJobResultResponse(content="hello").SerializeToString()


def _waiting() -> list[bytes]:
    asked = values.pending_approvals().map(encode_pending_approval)
    made = asked.map(
        lambda one: wire.ListWaitingApprovalsResponse(
            node="0a" * 32, node_name="den", approval=one
        ).SerializeToString()
    )
    return examples(made, 6)


def _answer() -> list[bytes]:
    whole = wire.AnswerWaitingApprovalRequest(
        approval_id="appr-" + "0a" * 16,
        verdict=tool_pb2.VERDICT_ALLOW,
        node="0a" * 32,
        job_id="job-" + "0a" * 16,
        request_id="req-" + "0a" * 16,
        step=1,
        tool_hash="0a" * 32,
        argument_hash="0a" * 32,
    )
    return [whole.SerializeToString()]


def _status() -> list[bytes]:
    return examples(
        values.job_statuses.map(encode_job_status).map(lambda one: one.SerializeToString()), 6
    )


def _node_job() -> list[bytes]:
    known = jobs_control_pb2.NodeJob(
        id="job-" + "0a" * 16,
        account="0a" * 32,
        device_name="Bob",
        tool_name="count",
        state=job_pb2.JOB_STATE_RUNNING,
    )
    return [known.SerializeToString()]


def _result(data: bytes) -> object:
    reader = ResultReader()
    for piece in pieces(data):
        wire_run(wire.FetchPhoneJobResultResponse, reader.feed)(piece)
    return reader.end()


def _arguments(typed: str) -> object:
    words = typed.split("\n")
    with contextlib.suppress(HomingError):
        typed_arguments((), typed, _TOOL)
    return typed_arguments(words, None, _TOOL)


TARGETS = [
    Target(
        "phone.answer",
        wire_run(wire.AnswerWaitingApprovalRequest, decode_answer),
        ("homing_client.rpc.phone_jobs_codec.decode_answer",),
        _answer,
        structured=arbitrary(wire.AnswerWaitingApprovalRequest).map(
            lambda message: message.SerializeToString()
        ),
    ),
    Target(
        "phone.waiting",
        wire_run(wire.ListWaitingApprovalsResponse, decode_waiting),
        ("homing_client.rpc.phone_jobs_codec.decode_waiting",),
        _waiting,
        structured=arbitrary(wire.ListWaitingApprovalsResponse).map(
            lambda message: message.SerializeToString()
        ),
    ),
    Target(
        "phone.told",
        wire_run(job_pb2.JobStatus, decode_told),
        ("homing_client.rpc.jobs_calls.decode_told",),
        _status,
        structured=arbitrary(job_pb2.JobStatus).map(lambda message: message.SerializeToString()),
    ),
    Target(
        "console.job",
        wire_run(jobs_control_pb2.NodeJob, decode_node_job),
        ("homing_node.rpc.jobs_control_client.decode_node_job",),
        _node_job,
        structured=arbitrary(jobs_control_pb2.NodeJob).map(
            lambda message: message.SerializeToString()
        ),
    ),
    Target(
        "phone.job_result", _result, seeds=lambda: [joined([_HEAD]), joined([_HEAD, _TEXT, _TEXT])]
    ),
    of_text(
        "words.job_arguments", _arguments, "names=a.png\nwidth=800\nkeep=yes", 'more={"a":[1]}'
    ),
    of_text("words.job_id", job_beginning, "3f9a0c", "job-3f9a0c"),
]
