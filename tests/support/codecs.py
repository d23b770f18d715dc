"""Every codec with its strategy, message class and directions, for tests that go over all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from homing_proto.codec import (
    approvals,
    common,
    events,
    generation,
    job_questions,
    jobs,
    messages,
    signals,
    tools,
)
from homing_proto.v1 import common_pb2, inference_pb2, job_pb2, tool_pb2
from support import strategies as values

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message
    from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Codec:
    """One pair of functions and what goes through them."""

    name: str
    value: SearchStrategy[Any]
    wire: type[Message]
    encode: Callable[[Any], Message]
    decode: Callable[[Any], Any]


CODECS = [
    Codec(
        "provenance",
        values.provenances,
        common_pb2.Provenance,
        common.encode_provenance,
        common.decode_provenance,
    ),
    Codec("failed", values.failures, common_pb2.Error, common.encode_failed, common.decode_failed),
    Codec(
        "tool_spec",
        values.tool_specs,
        tool_pb2.ToolSpec,
        tools.encode_tool_spec,
        tools.decode_tool_spec,
    ),
    Codec("tool_id", values.tool_ids, tool_pb2.ToolId, tools.encode_tool_id, tools.decode_tool_id),
    Codec(
        "tool_call",
        values.tool_calls,
        tool_pb2.ToolCall,
        tools.encode_tool_call,
        tools.decode_tool_call,
    ),
    Codec(
        "tool_result",
        values.tool_results,
        tool_pb2.ToolResult,
        tools.encode_tool_result,
        tools.decode_tool_result,
    ),
    Codec(
        "approval_statement",
        values.approval_statements,
        tool_pb2.ApprovalStatement,
        approvals.encode_approval_statement,
        approvals.decode_approval_statement,
    ),
    Codec(
        "signed_approval",
        values.signed_approvals,
        tool_pb2.SignedApproval,
        approvals.encode_signed_approval,
        approvals.decode_signed_approval,
    ),
    Codec("part", values.parts, inference_pb2.Part, messages.encode_part, messages.decode_part),
    Codec(
        "message",
        values.messages,
        inference_pb2.Message,
        messages.encode_message,
        messages.decode_message,
    ),
    Codec(
        "sampling",
        values.samplings,
        inference_pb2.Sampling,
        generation.encode_sampling,
        generation.decode_sampling,
    ),
    Codec(
        "generate_request",
        values.generate_requests(),
        inference_pb2.GenerateRequest,
        generation.encode_generate_request,
        generation.decode_generate_request,
    ),
    Codec(
        "call_signals",
        values.call_signals,
        inference_pb2.CallSignals,
        signals.encode_call_signals,
        signals.decode_call_signals,
    ),
    Codec(
        "token_logprobs",
        values.token_logprobs,
        inference_pb2.TokenLogprobs,
        signals.encode_token_logprobs,
        signals.decode_token_logprobs,
    ),
    Codec(
        "event",
        values.generation_events,
        inference_pb2.GenerationEvent,
        events.encode_event,
        events.decode_event,
    ),
    Codec(
        "numbered",
        values.numbered_events,
        inference_pb2.GenerationEvent,
        events.encode_numbered,
        events.decode_numbered,
    ),
    Codec(
        "job_spec", values.job_specs(), job_pb2.JobSpec, jobs.encode_job_spec, jobs.decode_job_spec
    ),
    Codec(
        "job_progress",
        values.job_progress,
        job_pb2.JobProgress,
        jobs.encode_job_progress,
        jobs.decode_job_progress,
    ),
    Codec(
        "job_event",
        values.job_events,
        job_pb2.JobEvent,
        jobs.encode_job_event,
        jobs.decode_job_event,
    ),
    Codec(
        "job_status",
        values.job_statuses,
        job_pb2.JobStatus,
        jobs.encode_job_status,
        jobs.decode_job_status,
    ),
    Codec(
        "pending_approval",
        values.pending_approvals(),
        job_pb2.PendingApproval,
        job_questions.encode_pending_approval,
        job_questions.decode_pending_approval,
    ),
]
