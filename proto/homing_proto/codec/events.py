"""The events of a generation, with and without their number."""

from __future__ import annotations

from homing_core.generation import (
    Done,
    Failed,
    FinishReason,
    GenerationEvent,
    Numbered,
    Sampled,
    SampleEvent,
    TextDelta,
    ThinkingDelta,
    TokenLogprobs,
    TokenSignals,
    ToolCallEvent,
    ToolNamed,
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
    max_chars,
    not_negative,
    positive,
    probability,
    readable,
    refuse,
)
from homing_proto.codec.signals import (
    decode_call_signals,
    decode_token_logprobs,
    encode_call_signals,
    encode_token_logprobs,
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
def encode_event(value: GenerationEvent, seq: int = 0) -> wire.GenerationEvent:
    """One event. Between a daemon and its engine's child the number stays 0."""
    match value:
        case Sampled():
            return _encode_kind(value.event, seq, _sample(value.sample))
        case Usage():
            return wire.GenerationEvent(seq=seq, usage=encode_usage(value))
        case _:
            return _encode_kind(value, seq, 0)


def _sample(number: int) -> int:
    if not 1 <= number <= limits.MAX_SAMPLES:
        refuse(f"an answer's number is not in 1 to {limits.MAX_SAMPLES}")
    return number


def _encode_kind(  # noqa: PLR0911  # one for each kind
    value: SampleEvent, seq: int, sample: int
) -> wire.GenerationEvent:
    match value:
        case TextDelta():
            return wire.GenerationEvent(seq=seq, sample=sample, text=readable(value.text))
        case ThinkingDelta():
            return wire.GenerationEvent(seq=seq, sample=sample, thinking=readable(value.text))
        case ToolCallEvent():
            signals = None if value.signals is None else encode_call_signals(value.signals)
            call = wire.ToolCallEvent(call=encode_tool_call(value.call), signals=signals)
            return wire.GenerationEvent(seq=seq, sample=sample, tool_call=call)
        case ToolNamed():
            named = wire.ToolNamed(
                name=readable(value.name), signals=encode_call_signals(value.signals)
            )
            return wire.GenerationEvent(seq=seq, sample=sample, tool_named=named)
        case TokenSignals():
            start = wire.TokenSignals(
                first_probability=value.first_probability,
                mean_logprob=value.mean_logprob,
                tokens=value.tokens,
            )
            return wire.GenerationEvent(seq=seq, sample=sample, token_signals=start)
        case TokenLogprobs():
            tokens = encode_token_logprobs(value)
            return wire.GenerationEvent(seq=seq, sample=sample, token_logprobs=tokens)
        case Done():
            done = wire.Done(reason=FINISH_REASONS.encode(value.reason))
            return wire.GenerationEvent(seq=seq, sample=sample, done=done)
        case Failed():
            return wire.GenerationEvent(seq=seq, sample=sample, failed=encode_failed(value))


def decode_event(message: wire.GenerationEvent) -> GenerationEvent:
    """The event alone, whatever its number; raises `InvalidDataError`.

    Counts are for the generation as a whole, so they belong to no single answer.
    """
    if message.WhichOneof("kind") == "usage":
        if message.sample:
            refuse("the counts of a generation claim to be those of one answer")
        return decode_usage(message.usage)
    event = _decode_kind(message)
    return Sampled(_sample(message.sample), event) if message.sample else event


def _decode_kind(message: wire.GenerationEvent) -> SampleEvent:  # noqa: PLR0911  # one for each kind
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
        case "tool_named":
            return ToolNamed(
                max_chars(message.tool_named.name, limits.MAX_NAME_CHARS, "tool's name"),
                decode_call_signals(message.tool_named.signals),
            )
        case "token_signals":
            signals = message.token_signals
            return TokenSignals(
                first_probability=probability(signals.first_probability, "first probability"),
                mean_logprob=finite(signals.mean_logprob, "mean log-probability"),
                tokens=signals.tokens,
            )
        case "token_logprobs":
            return decode_token_logprobs(message.token_logprobs)
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
