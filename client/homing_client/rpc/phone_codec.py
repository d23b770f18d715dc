"""The local Phone service's messages: the agent's values to the wire and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.events import (
    AgentEvent,
    FinalAnswer,
    Note,
    RouteChosen,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
)
from homing_agent.ports import ConsentAnswer, ConsentQuestion
from homing_agent.request import AskInput, RoutePreference, ToolStep
from homing_core.errors import InvalidDataError
from homing_core.ids import parse_approval_id, parse_conversation_id, parse_request_id
from homing_core.labels import clean_label
from homing_proto.codec.approvals import decode_verdict, encode_verdict
from homing_proto.codec.common import (
    decode_failed,
    decode_place,
    decode_sensitivity,
    encode_failed,
    encode_place,
    encode_sensitivity,
)
from homing_proto.codec.tools import (
    decode_tool_call,
    decode_tool_result,
    decode_tool_spec,
    encode_tool_call,
    encode_tool_result,
    encode_tool_spec,
)
from homing_proto.v1 import common_pb2, phone_pb2

if TYPE_CHECKING:
    from homing_core.provenance import Sensitivity
    from homing_core.tools import ToolSpec

MAX_QUESTION_CHARS = 200_000
"""Longest text that one question may have; far beyond any model's context here."""
_MAX_ALLOWED = 256
_MAX_LINE = 2000

_ROUTES = {
    RoutePreference.AUTO: phone_pb2.ROUTE_PREFERENCE_UNSPECIFIED,
    RoutePreference.PHONE: phone_pb2.ROUTE_PREFERENCE_PHONE,
    RoutePreference.HOME: phone_pb2.ROUTE_PREFERENCE_HOME,
}
_ROUTES_BACK = {int(wire): value for value, wire in _ROUTES.items()}


def encode_question(value: AskInput) -> phone_pb2.Question:
    """What the person asks."""
    return phone_pb2.Question(
        request_id=value.request_id,
        text=value.text.encode("utf-8", "replace").decode(),
        conversation_id=value.conversation_id or "",
        route=_ROUTES[value.route],
        allowed_tools=sorted(value.allowed_tools),
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


def encode_step(value: ToolStep) -> phone_pb2.ToolStep:
    """A call and what came of it."""
    return phone_pb2.ToolStep(
        call=encode_tool_call(value.call),
        place=encode_place(value.place),
        approved_by=value.approved_by,
        result=encode_tool_result(value.result) if value.result else None,
    )


def decode_step(message: phone_pb2.ToolStep) -> ToolStep:
    """Raises `InvalidDataError`."""
    return ToolStep(
        call=decode_tool_call(message.call),
        place=decode_place(message.place),
        approved_by=clean_label(message.approved_by, fallback=""),
        result=decode_tool_result(message.result) if message.HasField("result") else None,
    )


def encode_consent_question(value: ConsentQuestion) -> phone_pb2.ConsentQuestion:
    """A step that needs a person."""
    return phone_pb2.ConsentQuestion(
        approval_id=value.approval_id,
        tool=encode_tool_spec(value.tool),
        call=encode_tool_call(value.call),
        reason=value.reason,
        expires_at=value.expires_at,
        preview=value.preview,
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
        reason=clean_label(message.reason, _MAX_LINE, fallback=""),
        preview=clean_label(message.preview, _MAX_LINE, fallback=""),
        may_remember=message.may_remember,
        expires_at=message.expires_at,
    )


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


def encode_final(value: FinalAnswer) -> phone_pb2.Answer:
    """The end of a request."""
    return phone_pb2.Answer(
        request_id=value.request_id,
        place=encode_place(value.place),
        node=value.node,
        reason=value.reason,
        confidence=value.confidence,
        model=value.model,
        stand_in=value.stand_in,
        ttft_ms=value.ttft_ms,
        total_ms=value.total_ms,
        text=value.text,
        tool_steps=[encode_step(step) for step in value.steps],
        conversation_id=value.conversation_id,
        exit_status=value.exit_status,
        error=encode_failed(value.error) if value.error else None,
        features=dict(value.features),
    )


def decode_final(message: phone_pb2.Answer) -> FinalAnswer:
    """Raises `InvalidDataError`."""
    return FinalAnswer(
        request_id=parse_request_id(message.request_id),
        conversation_id=parse_conversation_id(message.conversation_id),
        place=decode_place(message.place),
        node=clean_label(message.node, fallback=""),
        reason=clean_label(message.reason, _MAX_LINE, fallback=""),
        confidence=message.confidence,
        model=clean_label(message.model, fallback=""),
        stand_in=message.stand_in,
        ttft_ms=message.ttft_ms,
        total_ms=message.total_ms,
        text=message.text,
        steps=tuple(decode_step(step) for step in message.tool_steps),
        exit_status=message.exit_status,
        error=decode_failed(message.error) if message.HasField("error") else None,
        features=dict(message.features),
    )


def encode_event(  # noqa: PLR0911  # one for each kind
    value: AgentEvent | ConsentQuestion,
) -> phone_pb2.AskResponse:
    """One event of a request."""
    match value:
        case TextDelta(text):
            return phone_pb2.AskResponse(text=text)
        case ThinkingDelta(text):
            return phone_pb2.AskResponse(thinking=text)
        case Note(text):
            return phone_pb2.AskResponse(note=text)
        case RouteChosen(place, node, reason, model):
            route = phone_pb2.RouteNote(
                place=encode_place(place), node=node, reason=reason, model=model
            )
            return phone_pb2.AskResponse(route=route)
        case ToolStarted(step) | ToolFinished(step):
            return phone_pb2.AskResponse(tool=encode_step(step))
        case ConsentQuestion():
            return phone_pb2.AskResponse(consent=encode_consent_question(value))
        case FinalAnswer():
            return phone_pb2.AskResponse(answer=encode_final(value))


def decode_event(  # noqa: PLR0911  # one for each kind
    message: phone_pb2.AskResponse,
) -> AgentEvent | ConsentQuestion:
    """Raises `InvalidDataError`."""
    match message.WhichOneof("kind"):
        case "text":
            return TextDelta(message.text)
        case "thinking":
            return ThinkingDelta(message.thinking)
        case "note":
            return Note(clean_label(message.note, _MAX_LINE, fallback=""))
        case "route":
            return RouteChosen(
                decode_place(message.route.place),
                clean_label(message.route.node, fallback=""),
                clean_label(message.route.reason, _MAX_LINE, fallback=""),
                clean_label(message.route.model, fallback=""),
            )
        case "tool":
            step = decode_step(message.tool)
            return ToolFinished(step) if step.result else ToolStarted(step)
        case "consent":
            return decode_consent_question(message.consent)
        case "answer":
            return decode_final(message.answer)
        case _:
            msg = "the resident process sent an event that this version does not know"
            raise InvalidDataError(msg, "Restart it: homing serve --stop")


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
