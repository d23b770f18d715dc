"""What is sealed of a job, as JSON: call and consent, questions, outcomes of steps.

It was written by a daemon of ours and is authenticated, but perhaps by another version, so reading
checks every field.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.canonical import canonical_json, sha256_json
from homing_core.ids import (
    ToolCallId,
    parse_approval_id,
    parse_device_id,
    parse_job_id,
    parse_request_id,
)
from homing_core.jobs import JobSpec, PendingApproval
from homing_core.provenance import Sensitivity, Trust
from homing_core.strict_json import Fields, read_json
from homing_core.tools import EffectClass, Place, ToolCall, ToolId, ToolSpec, Topic
from homing_crypto.result_form import decode_result, encode_result

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.jobs import JobResult

_ID: Final = 256
_LINE: Final = 1 << 16
_TEXT: Final = 1 << 20
_SPEC: Final = ("id", "request_id", "tool", "call", "sensitivity", "priority")
_TOOL_ID: Final = ("node", "server", "name", "schema_hash")
_CALL: Final = ("id", "name", "arguments")
_STATEMENT: Final = (
    "id",
    "request_id",
    "step",
    "tool_hash",
    "argument_hash",
    "verdict",
    "device",
    "expires_at",
)
_TOOL: Final = (
    "name",
    "description",
    "parameters",
    "effect",
    "place",
    "node",
    "server",
    "idempotent",
    "output_trust",
    "topics",
    "typical_ms",
)
_QUESTION: Final = (
    "v",
    "id",
    "job_id",
    "request_id",
    "step",
    "tool",
    "call",
    "reason",
    "preview",
    "expires_at",
    "device",
    "device_name",
)


@dataclass(frozen=True, slots=True)
class Payload:
    """What was handed in.

    Attributes:
        spec: the job.
        approval: the consent that came with it.
    """

    spec: JobSpec
    approval: SignedApproval | None = None


def digest_of(spec: JobSpec) -> str:
    """SHA-256 (hex) of what is asked: a repeat has the same, whatever consent comes with it.

    It stays when the job has ended and its key is gone. The call's id is in it and stays nowhere:
    128 random bits of the phone's, without which nobody can confirm a guess at the arguments.
    """
    return sha256_json(_spec_to_json(spec))


def encode_payload(payload: Payload) -> bytes:
    """To be sealed as `payload`."""
    approval = None if payload.approval is None else _approval_to_json(payload.approval)
    return canonical_json({"v": 1, "spec": _spec_to_json(payload.spec), "approval": approval})


def decode_payload(data: bytes) -> Payload:
    """Raises `InvalidDataError`."""
    fields = Fields(read_json(data, "a job"), ("v", "spec", "approval"), "a job")
    fields.whole("v", 1, 1)
    approval = fields.raw("approval")
    return Payload(
        _spec_from_json(fields.raw("spec")),
        None if approval is None else _approval_from_json(approval),
    )


def encode_question(question: PendingApproval) -> bytes:
    """To be sealed as `question`."""
    return canonical_json(
        {
            "v": 1,
            "id": question.id,
            "job_id": question.job_id,
            "request_id": question.request_id,
            "step": question.step,
            "tool": _tool_to_json(question.tool),
            "call": _call_to_json(question.call),
            "reason": question.reason,
            "preview": question.preview,
            "expires_at": question.expires_at,
            "device": question.device,
            "device_name": question.device_name,
        }
    )


def decode_question(data: bytes) -> PendingApproval:
    """Raises `InvalidDataError`."""
    fields = Fields(read_json(data, "a question"), _QUESTION, "a question")
    fields.whole("v", 1, 1)
    return PendingApproval(
        id=parse_approval_id(fields.text("id", _ID)),
        job_id=parse_job_id(fields.text("job_id", _ID)),
        request_id=parse_request_id(fields.text("request_id", _ID)),
        step=fields.whole("step", 1),
        tool=_tool_from_json(fields.raw("tool")),
        call=_call_from_json(fields.raw("call")),
        reason=fields.text("reason", _LINE),
        preview=fields.text("preview", _TEXT),
        expires_at=fields.whole("expires_at"),
        device=fields.text("device", _ID),
        device_name=fields.text("device_name", _ID),
    )


def encode_outcome(outcome: JobResult) -> bytes:
    """What a call gave, to be sealed as `outcome`. Raises `InvalidDataError` if it has no form."""
    return encode_result(outcome)


def decode_outcome(data: bytes) -> JobResult:
    """Raises `InvalidDataError`."""
    return decode_result(data)


def _spec_to_json(spec: JobSpec) -> JsonObject:
    return {
        "id": spec.id,
        "request_id": spec.request_id,
        "tool": {
            "node": spec.tool.node,
            "server": spec.tool.server,
            "name": spec.tool.name,
            "schema_hash": spec.tool.schema_hash,
        },
        "call": _call_to_json(spec.call),
        "sensitivity": spec.sensitivity.value,
        "priority": spec.priority,
    }


def _spec_from_json(value: JsonValue) -> JobSpec:
    fields = Fields(value, _SPEC, "a job")
    tool = Fields(fields.raw("tool"), _TOOL_ID, "a tool")
    return JobSpec(
        id=parse_job_id(fields.text("id", _ID)),
        request_id=parse_request_id(fields.text("request_id", _ID)),
        tool=ToolId(*(tool.text(name, _ID) for name in _TOOL_ID)),
        call=_call_from_json(fields.raw("call")),
        sensitivity=fields.one_of(Sensitivity, "sensitivity"),
        priority=fields.whole("priority", -(1 << 31), (1 << 31) - 1),
    )


def _call_to_json(call: ToolCall) -> JsonObject:
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def _call_from_json(value: JsonValue) -> ToolCall:
    fields = Fields(value, _CALL, "a call")
    return ToolCall(
        ToolCallId(fields.text("id", _ID)), fields.text("name", _ID), fields.object("arguments")
    )


def _approval_to_json(approval: SignedApproval) -> JsonObject:
    said = approval.statement
    statement: JsonObject = {
        "id": said.id,
        "request_id": said.request_id,
        "step": said.step,
        "tool_hash": said.tool_hash,
        "argument_hash": said.argument_hash,
        "verdict": said.verdict.value,
        "device": said.device,
        "expires_at": said.expires_at,
    }
    return {
        "statement": statement,
        "signature": b64encode(approval.signature).decode(),
    }


def _approval_from_json(value: JsonValue) -> SignedApproval:
    whole = Fields(value, ("statement", "signature"), "an approval")
    fields = Fields(whole.raw("statement"), _STATEMENT, "an approval")
    try:
        signature = b64decode(whole.text("signature", _ID), validate=True)
    except (binascii.Error, ValueError):
        whole.refuse()
    return SignedApproval(
        ApprovalStatement(
            id=parse_approval_id(fields.text("id", _ID)),
            request_id=parse_request_id(fields.text("request_id", _ID)),
            step=fields.whole("step", 1),
            tool_hash=fields.text("tool_hash", _ID),
            argument_hash=fields.text("argument_hash", _ID),
            verdict=fields.one_of(Verdict, "verdict"),
            device=parse_device_id(fields.text("device", _ID)),
            expires_at=fields.whole("expires_at"),
        ),
        signature,
    )


def _tool_to_json(tool: ToolSpec) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "effect": tool.effect.value,
        "place": tool.place.value,
        "node": tool.node,
        "server": tool.server,
        "idempotent": tool.idempotent,
        "output_trust": tool.output_trust.value,
        "topics": sorted(topic.value for topic in tool.topics),
        "typical_ms": tool.typical_ms,
    }


def _tool_from_json(value: JsonValue) -> ToolSpec:
    fields = Fields(value, _TOOL, "a tool")
    return ToolSpec(
        name=fields.text("name", _ID),
        description=fields.text("description", _TEXT),
        parameters=fields.object("parameters"),
        effect=fields.one_of(EffectClass, "effect"),
        place=fields.one_of(Place, "place"),
        node=fields.text("node", _ID),
        server=fields.text("server", _ID),
        idempotent=fields.flag("idempotent"),
        output_trust=fields.one_of(Trust, "output_trust"),
        topics=frozenset(_topic(one) for one in fields.items("topics", len(Topic))),
        typical_ms=fields.whole("typical_ms"),
    )


def _topic(value: JsonValue) -> Topic:
    return Fields({"topic": value}, ("topic",), "a tool").one_of(Topic, "topic")
