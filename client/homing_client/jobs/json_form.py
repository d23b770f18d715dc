"""What the job book keeps as JSON text, and back.

The file is this phone's own, but it may have been damaged or written by another version, so reading
checks every field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeVar, cast

from homing_agent.ports import JobAsked
from homing_core.approvals import ApprovalStatement, SignedApproval, Verdict
from homing_core.errors import HomingError, IntegrityError
from homing_core.generation import Failed
from homing_core.ids import (
    ToolCallId,
    parse_approval_id,
    parse_device_id,
    parse_request_id,
)
from homing_core.jobs import JobProgress
from homing_core.provenance import Sensitivity, Trust
from homing_core.tools import EffectClass, Place, ToolCall, ToolSpec, Topic

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.canonical import JsonObject, JsonValue

E = TypeVar("E", bound=Enum)
V = TypeVar("V")


def dump(value: JsonValue) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def load(text: str, read: Callable[[Fields], V]) -> V:
    """Read an object back; raises `IntegrityError`."""
    try:
        return read(Fields(cast("JsonValue", json.loads(text))))
    except (ValueError, TypeError, RecursionError, HomingError) as error:
        raise unreadable() from error


def unreadable() -> IntegrityError:
    """The error of a damaged entry."""
    msg = "an entry of the job book is damaged"
    return IntegrityError(msg, "Remove it with: homing jobs forget JOB, and ask again.")


class Fields:
    """A JSON object whose fields are read strictly; anything else raises `IntegrityError`."""

    def __init__(self, value: JsonValue) -> None:
        """Take an object."""
        if not isinstance(value, Mapping):
            raise unreadable()
        self._fields = value

    def text(self, name: str) -> str:
        """A text."""
        return self._kind(name, str)

    def flag(self, name: str) -> bool:
        """True or false."""
        return self._kind(name, bool)

    def whole(self, name: str) -> int:
        """A whole number."""
        value = self._fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise unreadable()
        return value

    def number(self, name: str) -> float:
        """A number."""
        value = self._fields.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise unreadable()
        return value

    def member(self, kind: type[E], name: str) -> E:
        """A member of an enum; raises `ValueError` for another word."""
        return kind(self.text(name))

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        return [str(item) for item in self._list(name)]

    def object(self, name: str) -> JsonObject:
        """An object as it is."""
        value = self._fields.get(name)
        if not isinstance(value, Mapping):
            raise unreadable()
        return value

    def fields(self, name: str) -> Fields:
        """An object."""
        return Fields(self._fields.get(name))

    def maybe(self, name: str) -> Fields | None:
        """An object, or None where there is null."""
        value = self._fields.get(name)
        return None if value is None else Fields(value)

    def each(self, name: str) -> list[Fields]:
        """A list of objects."""
        return [Fields(item) for item in self._list(name)]

    def _list(self, name: str) -> Sequence[JsonValue]:
        value = self._fields.get(name)
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise unreadable()
        return value

    def _kind(self, name: str, kind: type[V]) -> V:
        value = self._fields.get(name)
        if not isinstance(value, kind):
            raise unreadable()
        return value


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


def asked_from_json(fields: Fields) -> JobAsked:
    """What was asked; raises `HomingError` or `ValueError`."""
    tool, call, approval = fields.fields("tool"), fields.fields("call"), fields.maybe("approval")
    return JobAsked(
        parse_request_id(fields.text("request_id")),
        fields.whole("step"),
        ToolSpec(
            name=tool.text("name"),
            description=tool.text("description"),
            parameters=tool.object("parameters"),
            effect=tool.member(EffectClass, "effect"),
            place=tool.member(Place, "place"),
            node=tool.text("node"),
            server=tool.text("server"),
            idempotent=tool.flag("idempotent"),
            output_trust=tool.member(Trust, "output_trust"),
            topics=frozenset(map(Topic, tool.texts("topics"))),
            typical_ms=tool.whole("typical_ms"),
        ),
        ToolCall(ToolCallId(call.text("id")), call.text("name"), call.object("arguments")),
        fields.member(Sensitivity, "sensitivity"),
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


def progress_from_json(fields: Fields) -> JobProgress:
    """How far it is; raises `HomingError`."""
    return JobProgress(
        fields.number("done"), fields.number("total"), fields.text("unit"), fields.text("note")
    )


def failed_to_json(failed: Failed) -> JsonObject:
    """Why there is no result."""
    return {"code": failed.code, "what": failed.what, "hint": failed.hint}


def failed_from_json(fields: Fields) -> Failed:
    """Why there is no result; raises `HomingError`."""
    return Failed(fields.text("code"), fields.text("what"), fields.text("hint"))


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


def _approval_from_json(fields: Fields) -> SignedApproval:
    statement = ApprovalStatement(
        parse_approval_id(fields.text("id")),
        parse_request_id(fields.text("request_id")),
        fields.whole("step"),
        fields.text("tool_hash"),
        fields.text("argument_hash"),
        fields.member(Verdict, "verdict"),
        parse_device_id(fields.text("device")),
        fields.whole("expires_at"),
    )
    return SignedApproval(statement, bytes.fromhex(fields.text("signature")))
