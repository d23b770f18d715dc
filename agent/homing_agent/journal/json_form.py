"""Messages, calls, results and answers as JSON for the journal's file, and back.

The file is this device's own, but it may have been damaged or written by another version, so
reading checks every field and says what is wrong in one error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from homing_core.errors import HomingError, IntegrityError
from homing_core.generation import Failed
from homing_core.ids import ToolCallId, parse_conversation_id, parse_request_id
from homing_core.messages import Message, Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart
from homing_core.provenance import Origin, Provenance, Sensitivity, Trust
from homing_core.tools import Place, ToolCall, ToolResult

from homing_agent.request import FinalAnswer, ToolStep

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.messages import Part

E = TypeVar("E", bound=Enum)


def message_to_json(message: Message) -> JsonObject:
    """One turn."""
    return {"role": message.role.value, "parts": [_part_to_json(part) for part in message.parts]}


def message_from_json(value: JsonValue) -> Message:
    """One turn.

    Raises:
        IntegrityError: this is not one.
    """
    fields = _object(value)
    parts = tuple(_part_from_json(part) for part in _list(fields, "parts"))
    return Message(_enum(Role, fields, "role"), parts)


def call_to_json(call: ToolCall) -> JsonObject:
    """A call."""
    return {"id": call.id, "name": call.name, "arguments": call.arguments}


def call_from_json(value: JsonValue) -> ToolCall:
    """A call.

    Raises:
        IntegrityError: this is not one.
    """
    fields = _object(value)
    arguments = _object(fields.get("arguments"))
    return ToolCall(ToolCallId(_text(fields, "id")), _text(fields, "name"), arguments)


def result_to_json(result: ToolResult) -> JsonObject:
    """A result."""
    return {
        "call_id": result.call_id,
        "content": result.content,
        "is_error": result.is_error,
        "provenance": _provenance_to_json(result.provenance),
    }


def result_from_json(value: JsonValue) -> ToolResult:
    """A result.

    Raises:
        IntegrityError: this is not one.
    """
    fields = _object(value)
    return ToolResult(
        ToolCallId(_text(fields, "call_id")),
        _text(fields, "content"),
        _flag(fields, "is_error"),
        _provenance_from_json(fields.get("provenance")),
    )


def answer_to_json(answer: FinalAnswer) -> JsonObject:
    """An answer."""
    return {
        "request_id": answer.request_id,
        "conversation_id": answer.conversation_id,
        "place": answer.place.value,
        "node": answer.node,
        "reason": answer.reason,
        "confidence": answer.confidence,
        "model": answer.model,
        "stand_in": answer.stand_in,
        "ttft_ms": answer.ttft_ms,
        "total_ms": answer.total_ms,
        "text": answer.text,
        "steps": [_step_to_json(step) for step in answer.steps],
        "exit_status": answer.exit_status,
        "error": None if answer.error is None else _failed_to_json(answer.error),
        "features": answer.features,
        "asks": list(answer.asks),
    }


def answer_from_json(value: JsonValue) -> FinalAnswer:
    """An answer.

    Raises:
        IntegrityError: this is not one.
    """
    fields = _object(value)
    features = _object(fields.get("features"))
    try:
        request_id = parse_request_id(_text(fields, "request_id"))
        conversation_id = parse_conversation_id(_text(fields, "conversation_id"))
    except HomingError as error:
        raise _broken() from error
    return FinalAnswer(
        request_id=request_id,
        conversation_id=conversation_id,
        place=_enum(Place, fields, "place"),
        node=_text(fields, "node"),
        reason=_text(fields, "reason"),
        confidence=_number(fields, "confidence"),
        model=_text(fields, "model"),
        stand_in=_flag(fields, "stand_in"),
        ttft_ms=_number(fields, "ttft_ms"),
        total_ms=_number(fields, "total_ms"),
        text=_text(fields, "text"),
        steps=tuple(_step_from_json(step) for step in _list(fields, "steps")),
        exit_status=int(_number(fields, "exit_status")),
        error=None if fields.get("error") is None else _failed_from_json(fields["error"]),
        features={name: _number(features, name) for name in features},
        asks=_names(fields.get("asks", ())),  # answers of earlier versions have none
    )


def _names(value: JsonValue) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _broken()
    names = tuple(name for name in value if isinstance(name, str))
    if len(names) != len(value):
        raise _broken()
    return names


def _part_to_json(part: Part) -> JsonObject:
    match part:
        case TextPart():
            return {"text": part.text, "provenance": _provenance_to_json(part.provenance)}
        case ThinkingPart():
            return {"thinking": part.text, "provenance": _provenance_to_json(part.provenance)}
        case ToolCallPart():
            return {
                "call": call_to_json(part.call),
                "provenance": _provenance_to_json(part.provenance),
            }
        case ToolResultPart():
            return {"result": result_to_json(part.result)}


def _part_from_json(value: JsonValue) -> Part:
    fields = _object(value)
    if "result" in fields:
        return ToolResultPart(result_from_json(fields["result"]))
    provenance = _provenance_from_json(fields.get("provenance"))
    if "call" in fields:
        return ToolCallPart(call_from_json(fields["call"]), provenance)
    if "thinking" in fields:
        return ThinkingPart(_text(fields, "thinking"), provenance)
    return TextPart(_text(fields, "text"), provenance)


def _provenance_to_json(provenance: Provenance) -> JsonObject:
    return {
        "origin": provenance.origin.value,
        "trust": provenance.trust.value,
        "sensitivity": provenance.sensitivity.value,
        "source": provenance.source,
    }


def _provenance_from_json(value: JsonValue) -> Provenance:
    fields = _object(value)
    return Provenance(
        _enum(Origin, fields, "origin"),
        _enum(Trust, fields, "trust"),
        _enum(Sensitivity, fields, "sensitivity"),
        _text(fields, "source"),
    )


def _step_to_json(step: ToolStep) -> JsonObject:
    return {
        "call": call_to_json(step.call),
        "place": step.place.value,
        "approved_by": step.approved_by,
        "result": None if step.result is None else result_to_json(step.result),
    }


def _step_from_json(value: JsonValue) -> ToolStep:
    fields = _object(value)
    result = fields.get("result")
    return ToolStep(
        call_from_json(fields.get("call")),
        _enum(Place, fields, "place"),
        _text(fields, "approved_by"),
        None if result is None else result_from_json(result),
    )


def _failed_to_json(failed: Failed) -> JsonObject:
    return {
        "code": failed.code,
        "what": failed.what,
        "hint": failed.hint,
        "retryable": failed.retryable,
        "retry_after_ms": failed.retry_after_ms,
    }


def _failed_from_json(value: JsonValue) -> Failed:
    fields = _object(value)
    return Failed(
        _text(fields, "code"),
        _text(fields, "what"),
        _text(fields, "hint"),
        _flag(fields, "retryable"),
        int(_number(fields, "retry_after_ms")),
    )


def _broken() -> IntegrityError:
    msg = "the journal holds an entry that cannot be read"
    return IntegrityError(msg, "Move the journal's file away to start a new one.")


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, Mapping):
        raise _broken()
    return value


def _list(fields: JsonObject, name: str) -> Sequence[JsonValue]:
    value = fields.get(name)
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise _broken()
    return value


def _text(fields: JsonObject, name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise _broken()
    return value


def _flag(fields: JsonObject, name: str) -> bool:
    value = fields.get(name)
    if not isinstance(value, bool):
        raise _broken()
    return value


def _number(fields: JsonObject, name: str) -> float:
    value = fields.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _broken()
    return value


def _enum(kind: type[E], fields: JsonObject, name: str) -> E:
    try:
        return kind(fields.get(name))
    except ValueError as error:
        raise _broken() from error
