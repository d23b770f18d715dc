"""What a request shows, on the local socket: the agent's events to the wire and back."""

from __future__ import annotations

from homing_agent.events import (
    AgentEvent,
    FinalAnswer,
    Note,
    RouteChosen,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from homing_agent.ports import ConsentQuestion
from homing_agent.request import ExitStatus, ToolStep
from homing_core.errors import InvalidDataError
from homing_core.ids import (
    parse_conversation_id,
    parse_job_id,
    parse_request_id,
    parse_tool_call_id,
)
from homing_core.labels import clean_label
from homing_proto.codec.common import decode_failed, decode_place, encode_failed, encode_place
from homing_proto.codec.fields import encoder, finite, readable
from homing_proto.codec.jobs import decode_job_event, encode_job_event
from homing_proto.codec.tools import (
    decode_tool_call,
    decode_tool_result,
    encode_tool_call,
    encode_tool_result,
)
from homing_proto.v1 import phone_pb2

from homing_client.rpc.phone_codec import (
    MAX_LINE,
    RESTART,
    decode_consent_question,
    encode_consent_question,
)

_STATUSES = frozenset(status.value for status in ExitStatus)


@encoder
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


@encoder
def encode_progress(value: ToolProgress) -> phone_pb2.ToolProgress:
    """How far a call is that runs as a job."""
    return phone_pb2.ToolProgress(
        call_id=value.call_id,
        job_id=value.job_id,
        node=readable(value.node),
        event=encode_job_event(value.event),
    )


def decode_progress(message: phone_pb2.ToolProgress) -> ToolProgress:
    """Raises `InvalidDataError`."""
    return ToolProgress(
        call_id=parse_tool_call_id(message.call_id),
        job_id=parse_job_id(message.job_id),
        node=clean_label(message.node, fallback=""),
        event=decode_job_event(message.event),
    )


@encoder
def encode_final(value: FinalAnswer) -> phone_pb2.Answer:
    """The end of a request."""
    return phone_pb2.Answer(
        request_id=value.request_id,
        place=encode_place(value.place),
        node=value.node,
        reason=readable(value.reason),
        confidence=value.confidence,
        model=value.model,
        stand_in=value.stand_in,
        ttft_ms=value.ttft_ms,
        total_ms=value.total_ms,
        text=readable(value.text),
        tool_steps=[encode_step(step) for step in value.steps],
        conversation_id=value.conversation_id,
        exit_status=value.exit_status,
        error=encode_failed(value.error) if value.error else None,
        features=dict(value.features),
        asks=[readable(name) for name in value.asks],
    )


def decode_final(message: phone_pb2.Answer) -> FinalAnswer:
    """Raises `InvalidDataError`."""
    if message.exit_status not in _STATUSES:
        msg = "the answer's exit status is none that this version knows"
        raise InvalidDataError(msg, RESTART)
    return FinalAnswer(
        request_id=parse_request_id(message.request_id),
        conversation_id=parse_conversation_id(message.conversation_id),
        place=decode_place(message.place),
        node=clean_label(message.node, fallback=""),
        reason=clean_label(message.reason, MAX_LINE, fallback=""),
        confidence=finite(message.confidence, "confidence"),
        model=clean_label(message.model, fallback=""),
        stand_in=message.stand_in,
        ttft_ms=finite(message.ttft_ms, "time to the first token"),
        total_ms=finite(message.total_ms, "time in all"),
        text=message.text,
        steps=tuple(decode_step(step) for step in message.tool_steps),
        exit_status=message.exit_status,
        error=decode_failed(message.error) if message.HasField("error") else None,
        features={name: finite(value, "feature") for name, value in message.features.items()},
        asks=tuple(clean_label(name) for name in message.asks),
    )


@encoder
def encode_event(  # noqa: PLR0911  # one for each kind
    value: AgentEvent | ConsentQuestion,
) -> phone_pb2.AskResponse:
    """One event of a request."""
    match value:
        case TextDelta(text):
            return phone_pb2.AskResponse(text=readable(text))
        case ThinkingDelta(text):
            return phone_pb2.AskResponse(thinking=readable(text))
        case Note(text):
            return phone_pb2.AskResponse(note=readable(text))
        case RouteChosen(place, node, reason, model):
            route = phone_pb2.RouteNote(
                place=encode_place(place), node=node, reason=readable(reason), model=model
            )
            return phone_pb2.AskResponse(route=route)
        case ToolStarted(step) | ToolFinished(step):
            return phone_pb2.AskResponse(tool=encode_step(step))
        case ToolProgress():
            return phone_pb2.AskResponse(progress=encode_progress(value))
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
            return Note(clean_label(message.note, MAX_LINE, fallback=""))
        case "route":
            return RouteChosen(
                decode_place(message.route.place),
                clean_label(message.route.node, fallback=""),
                clean_label(message.route.reason, MAX_LINE, fallback=""),
                clean_label(message.route.model, fallback=""),
            )
        case "tool":
            step = decode_step(message.tool)
            return ToolFinished(step) if step.result else ToolStarted(step)
        case "progress":
            return decode_progress(message.progress)
        case "consent":
            return decode_consent_question(message.consent)
        case "answer":
            return decode_final(message.answer)
        case _:
            msg = "the resident process sent an event that this version does not know"
            raise InvalidDataError(msg, RESTART)
