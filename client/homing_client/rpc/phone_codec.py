"""The local Phone service's messages: the agent's values to the wire and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.ports import ConsentAnswer, ConsentQuestion
from homing_agent.request import AskInput, RoutePreference
from homing_core.errors import InvalidDataError
from homing_core.ids import parse_approval_id, parse_conversation_id, parse_request_id
from homing_core.labels import clean_label
from homing_proto.codec.approvals import decode_verdict, encode_verdict
from homing_proto.codec.common import (
    decode_sensitivity,
    encode_sensitivity,
)
from homing_proto.codec.fields import encoder, readable
from homing_proto.codec.tools import (
    decode_tool_call,
    decode_tool_spec,
    encode_tool_call,
    encode_tool_spec,
)
from homing_proto.v1 import common_pb2, phone_pb2

if TYPE_CHECKING:
    from homing_core.provenance import Sensitivity
    from homing_core.tools import ToolSpec

MAX_QUESTION_CHARS = 200_000
"""Longest text that one question may have; far beyond any model's context here."""
_MAX_ALLOWED = 256
RESTART = "Restart the resident process: homing serve --stop"
MAX_LINE = 2000

_ROUTES = {
    RoutePreference.AUTO: phone_pb2.ROUTE_PREFERENCE_UNSPECIFIED,
    RoutePreference.PHONE: phone_pb2.ROUTE_PREFERENCE_PHONE,
    RoutePreference.HOME: phone_pb2.ROUTE_PREFERENCE_HOME,
}
_ROUTES_BACK = {int(wire): value for value, wire in _ROUTES.items()}


@encoder
def encode_question(value: AskInput) -> phone_pb2.Question:
    """What the person asks."""
    return phone_pb2.Question(
        request_id=value.request_id,
        text=readable(value.text),
        conversation_id=value.conversation_id or "",
        route=_ROUTES[value.route],
        allowed_tools=sorted(map(readable, value.allowed_tools)),
        interactive=value.interactive,
        sensitivity=encode_sensitivity(value.sensitivity),
        thinking=value.thinking,
    )


def decode_question(message: phone_pb2.Question, default: Sensitivity) -> AskInput:
    """Raises `InvalidDataError`. `default` is the class of what does not say its own."""
    if not message.text.strip():
        msg = "the question is empty"
        raise InvalidDataError(msg, 'Ask something: homing ask "what time is it?"')
    if len(message.text) > MAX_QUESTION_CHARS:
        msg = f"the question has more than {MAX_QUESTION_CHARS:,} characters"
        raise InvalidDataError(msg, "Shorten it.")
    if len(message.allowed_tools) > _MAX_ALLOWED:
        msg = "too many tools are allowed at once"
        raise InvalidDataError(msg, "Name only those that the request needs.")
    route = _ROUTES_BACK.get(int(message.route))
    if route is None:
        msg = "the route is none that this version knows"
        raise InvalidDataError(msg, "Use phone, home or auto.")
    said = message.sensitivity != common_pb2.SENSITIVITY_UNSPECIFIED
    return AskInput(
        request_id=parse_request_id(message.request_id),
        text=message.text,
        conversation_id=parse_conversation_id(message.conversation_id)
        if message.conversation_id
        else None,
        route=route,
        allowed_tools=frozenset(message.allowed_tools),
        interactive=message.interactive,
        sensitivity=decode_sensitivity(message.sensitivity) if said else default,
        thinking=message.thinking,
    )


@encoder
def encode_consent_question(value: ConsentQuestion) -> phone_pb2.ConsentQuestion:
    """A step that needs a person."""
    return phone_pb2.ConsentQuestion(
        approval_id=value.approval_id,
        tool=encode_tool_spec(value.tool),
        call=encode_tool_call(value.call),
        reason=readable(value.reason),
        expires_at=value.expires_at,
        preview=readable(value.preview),
        may_remember=value.may_remember,
        request_id=value.request_id,
        step=value.step,
    )


def decode_consent_question(message: phone_pb2.ConsentQuestion) -> ConsentQuestion:
    """Raises `InvalidDataError`. Lines are cleaned: a person decides by them."""
    return ConsentQuestion(
        approval_id=parse_approval_id(message.approval_id),
        request_id=parse_request_id(message.request_id),
        step=message.step,
        tool=decode_tool_spec(message.tool),
        call=decode_tool_call(message.call),
        reason=clean_label(message.reason, MAX_LINE, fallback=""),
        preview=clean_label(message.preview, MAX_LINE, fallback=""),
        may_remember=message.may_remember,
        expires_at=message.expires_at,
    )


@encoder
def encode_consent_answer(value: ConsentAnswer) -> phone_pb2.ConsentAnswer:
    """What the person said."""
    return phone_pb2.ConsentAnswer(
        approval_id=value.approval_id,
        verdict=encode_verdict(value.verdict),
        remember=value.remember,
    )


def decode_consent_answer(message: phone_pb2.ConsentAnswer) -> ConsentAnswer:
    """Raises `InvalidDataError`."""
    return ConsentAnswer(
        approval_id=parse_approval_id(message.approval_id),
        verdict=decode_verdict(message.verdict),
        remember=message.remember,
    )


@encoder
def encode_phone_tools(
    offered: tuple[ToolSpec, ...], unavailable: tuple[tuple[str, str], ...]
) -> phone_pb2.ListPhoneToolsResponse:
    """What this phone offers to the model, and what it cannot, with the reason."""
    return phone_pb2.ListPhoneToolsResponse(
        tools=[encode_tool_spec(spec) for spec in offered],
        unavailable=[
            phone_pb2.UnavailableTool(name=name, reason=reason) for name, reason in unavailable
        ],
    )


def decode_phone_tools(
    message: phone_pb2.ListPhoneToolsResponse,
) -> tuple[tuple[ToolSpec, ...], tuple[tuple[str, str], ...]]:
    """Raises `InvalidDataError`."""
    return (
        tuple(decode_tool_spec(spec) for spec in message.tools),
        tuple((clean_label(item.name), clean_label(item.reason)) for item in message.unavailable),
    )
