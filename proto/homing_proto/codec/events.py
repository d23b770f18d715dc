"""The events of a generation, with and without their number."""

from __future__ import annotations

from homing_core.generation import (
    CallSignals,
    Done,
    Failed,
    FinishReason,
    GenerationEvent,
    Numbered,
    TextDelta,
    ThinkingDelta,
    TokenSignals,
    ToolCallEvent,
    Usage,
)

from homing_proto.codec import limits
from homing_proto.codec.common import decode_failed, encode_failed
from homing_proto.codec.fields import (
    EnumTable,
    encoder,
    finite,
    malformed,
    max_bytes,
    not_negative,
    positive,
    probability,
    readable,
)
from homing_proto.codec.tools import decode_tool_call, encode_tool_call
from homing_proto.v1 import inference_pb2 as wire

FINISH_REASONS = EnumTable(
    "reason for the end",
    {
        FinishReason.STOP: wire.FINISH_REASON_STOP,
        FinishReason.LENGTH: wire.FINISH_REASON_LENGTH,
        FinishReason.TOOL_CALLS: wire.FINISH_REASON_TOOL_CALLS,
        FinishReason.CANCELLED: wire.FINISH_REASON_CANCELLED,
    },
    strictest=FinishReason.CANCELLED,
)


@encoder
def encode_call_signals(value: CallSignals) -> wire.CallSignals:
    """How sure the model was of a call."""
    return wire.CallSignals(
        call_probability=value.call_probability,
        name_probability=value.name_probability,
        name_margin=value.name_margin,
        lowest_argument_probability=value.lowest_argument_probability,
        grammar_share=value.grammar_share,
    )


def decode_call_signals(message: wire.CallSignals) -> CallSignals:
    """Raises `InvalidDataError`."""
    return CallSignals(
        call_probability=probability(message.call_probability, "call probability"),
        name_probability=probability(message.name_probability, "name probability"),
        name_margin=probability(message.name_margin, "name margin"),
        lowest_argument_probability=probability(
            message.lowest_argument_probability, "argument probability"
        ),
        grammar_share=probability(message.grammar_share, "grammar share"),
    )


@encoder
def encode_usage(value: Usage) -> wire.Usage:
    """Counts and durations."""
    return wire.Usage(
        prompt_tokens=value.prompt_tokens,
        cached_tokens=value.cached_tokens,
        completion_tokens=value.completion_tokens,
        prefill_ms=value.prefill_ms,
        decode_ms=value.decode_ms,
    )


def decode_usage(message: wire.Usage) -> Usage:
    """Raises `InvalidDataError`."""
    return Usage(
        prompt_tokens=message.prompt_tokens,
        cached_tokens=message.cached_tokens,
        completion_tokens=message.completion_tokens,
        prefill_ms=not_negative(message.prefill_ms, "prefill time"),
        decode_ms=not_negative(message.decode_ms, "decode time"),
    )


@encoder
def encode_event(  # noqa: PLR0911  # one for each kind
    value: GenerationEvent, seq: int = 0
) -> wire.GenerationEvent:
    """One event. Between a daemon and its engine's child the number stays 0."""
    match value:
        case TextDelta():
            return wire.GenerationEvent(seq=seq, text=readable(value.text))
        case ThinkingDelta():
            return wire.GenerationEvent(seq=seq, thinking=readable(value.text))
        case ToolCallEvent():
            signals = None if value.signals is None else encode_call_signals(value.signals)
            call = wire.ToolCallEvent(call=encode_tool_call(value.call), signals=signals)
            return wire.GenerationEvent(seq=seq, tool_call=call)
        case TokenSignals():
            start = wire.TokenSignals(
                first_probability=value.first_probability,
                mean_logprob=value.mean_logprob,
                tokens=value.tokens,
            )
            return wire.GenerationEvent(seq=seq, token_signals=start)
        case Usage():
            return wire.GenerationEvent(seq=seq, usage=encode_usage(value))
        case Done():
            done = wire.Done(reason=FINISH_REASONS.encode(value.reason))
            return wire.GenerationEvent(seq=seq, done=done)
        case Failed():
            return wire.GenerationEvent(seq=seq, failed=encode_failed(value))


def decode_event(message: wire.GenerationEvent) -> GenerationEvent:  # noqa: PLR0911  # one for each kind
    """The event alone, whatever its number; raises `InvalidDataError`."""
    match message.WhichOneof("kind"):
        case "text":
            return TextDelta(max_bytes(message.text, limits.MAX_TEXT_BYTES, "text"))
        case "thinking":
            return ThinkingDelta(max_bytes(message.thinking, limits.MAX_TEXT_BYTES, "thinking"))
        case "tool_call":
            event = message.tool_call
            return ToolCallEvent(
                call=decode_tool_call(event.call),
                signals=decode_call_signals(event.signals) if event.HasField("signals") else None,
            )
        case "token_signals":
            signals = message.token_signals
            return TokenSignals(
                first_probability=probability(signals.first_probability, "first probability"),
                mean_logprob=finite(signals.mean_logprob, "mean log-probability"),
                tokens=signals.tokens,
            )
        case "usage":
            return decode_usage(message.usage)
        case "done":
            return Done(FINISH_REASONS.decode(message.done.reason))
        case "failed":
            return decode_failed(message.failed)
        case _:
            msg = "a generation's event is empty or of an unknown kind"
            raise malformed(msg)


def encode_numbered(value: Numbered) -> wire.GenerationEvent:
    """An event with its number."""
    return encode_event(value.event, value.seq)


def decode_numbered(message: wire.GenerationEvent) -> Numbered:
    """Raises `InvalidDataError`, also where the number is 0."""
    return Numbered(positive(message.seq, "event's number"), decode_event(message))
