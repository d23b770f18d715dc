"""What the job book keeps as JSON text, and back.

The file is this phone's own, but it may have been damaged or written by another version, so reading
checks every field.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from homing_agent.ports import JobAsked
from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.errors import HomingError, IntegrityError
from homing_core.generation import Failed
from homing_core.ids import ToolCallId, parse_approval_id, parse_device_id, parse_request_id
from homing_core.jobs import JobProgress
from homing_core.provenance import Sensitivity, Trust
from homing_core.strict_json import Fields, read_json
from homing_core.tools import EffectClass, Place, ToolCall, ToolSpec, Topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.canonical import JsonObject, JsonValue

V = TypeVar("V")
_MOST = 1 << 20
_WHAT = "an entry of the job book"


def dump(value: JsonValue) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def load(text: str, read: Callable[[JsonValue], V]) -> V:
    """Read something back; raises `IntegrityError`."""
    try:
        return read(read_json(text.encode(), _WHAT))
    except (ValueError, TypeError, RecursionError, HomingError) as error:
        raise unreadable() from error


def unreadable() -> IntegrityError:
    """The error of a damaged entry."""
    msg = "an entry of the job book is damaged"
    return IntegrityError(msg, "Remove it with: homing jobs forget JOB, and ask again.")


def asked_to_json(asked: JobAsked) -> JsonObject:
    """What was asked."""
    tool, approval = asked.tool, asked.approval
    return {
        "request_id": asked.request_id,
        "step": asked.step,
        "tool": {
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
        },
        "call": {
            "id": asked.call.id,
            "name": asked.call.name,
            "arguments": asked.call.arguments,
        },
        "sensitivity": asked.sensitivity.value,
        "approval": None if approval is None else _approval_to_json(approval),
    }


def asked_from_json(value: JsonValue) -> JobAsked:
    """What was asked; raises `HomingError` or `ValueError`."""
    names = ("request_id", "step", "tool", "call", "sensitivity", "approval")
    fields = Fields(value, names, _WHAT)
    call = Fields(fields.raw("call"), ("id", "name", "arguments"), _WHAT)
    approval = fields.raw("approval")
    return JobAsked(
        parse_request_id(fields.text("request_id", _MOST)),
        fields.whole("step", 1),
        _tool_from_json(fields.raw("tool")),
        ToolCall(
            ToolCallId(call.text("id", _MOST)), call.text("name", _MOST), call.object("arguments")
        ),
        fields.one_of(Sensitivity, "sensitivity"),
        None if approval is None else _approval_from_json(approval),
    )


def progress_to_json(progress: JobProgress) -> JsonObject:
    """How far it is."""
    return {
        "done": progress.done,
        "total": progress.total,
        "unit": progress.unit,
        "note": progress.note,
    }


def progress_from_json(value: JsonValue) -> JobProgress:
    """How far it is; raises `HomingError` or `TypeError`."""
    fields = Fields(value, ("done", "total", "unit", "note"), _WHAT)
    done, total = fields.raw("done"), fields.raw("total")
    if not isinstance(done, int | float) or not isinstance(total, int | float):
        fields.refuse()
    return JobProgress(done, total, fields.text("unit", _MOST), fields.text("note", _MOST))


def failed_to_json(failed: Failed) -> JsonObject:
    """Why there is no result."""
    return {"code": failed.code, "what": failed.what, "hint": failed.hint}


def failed_from_json(value: JsonValue) -> Failed:
    """Why there is no result; raises `HomingError`."""
    fields = Fields(value, ("code", "what", "hint"), _WHAT)
    return Failed(
        fields.text("code", _MOST), fields.text("what", _MOST), fields.text("hint", _MOST)
    )


def _approval_to_json(approval: SignedApproval) -> JsonObject:
    said = approval.statement
    return {
        "id": said.id,
        "request_id": said.request_id,
        "step": said.step,
        "tool_hash": said.tool_hash,
        "argument_hash": said.argument_hash,
        "verdict": said.verdict.value,
        "device": said.device,
        "expires_at": said.expires_at,
        "signature": approval.signature.hex(),
    }


def _tool_from_json(value: JsonValue) -> ToolSpec:
    names = (
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
    fields = Fields(value, names, _WHAT)
    return ToolSpec(
        name=fields.text("name", _MOST),
        description=fields.text("description", _MOST),
        parameters=fields.object("parameters"),
        effect=fields.one_of(EffectClass, "effect"),
        place=fields.one_of(Place, "place"),
        node=fields.text("node", _MOST),
        server=fields.text("server", _MOST),
        idempotent=fields.flag("idempotent"),
        output_trust=fields.one_of(Trust, "output_trust"),
        topics=frozenset(Topic(item) for item in fields.items("topics", len(Topic))),
        typical_ms=fields.whole("typical_ms"),
    )


def _approval_from_json(value: JsonValue) -> SignedApproval:
    names = (
        "id",
        "request_id",
        "step",
        "tool_hash",
        "argument_hash",
        "verdict",
        "device",
        "expires_at",
        "signature",
    )
    fields = Fields(value, names, _WHAT)
    statement = ApprovalStatement(
        parse_approval_id(fields.text("id", _MOST)),
        parse_request_id(fields.text("request_id", _MOST)),
        fields.whole("step", 1),
        fields.text("tool_hash", _MOST),
        fields.text("argument_hash", _MOST),
        fields.one_of(Verdict, "verdict"),
        parse_device_id(fields.text("device", _MOST)),
        fields.whole("expires_at"),
    )
    return SignedApproval(statement, bytes.fromhex(fields.text("signature", _MOST)))
