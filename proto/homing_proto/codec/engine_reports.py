"""What an engine's child process reports, as bytes."""

from __future__ import annotations

from google.protobuf.message import DecodeError
from homing_core.ids import parse_generation_id
from homing_core.scoring import NameScore, ToolScores

from homing_proto.codec import limits
from homing_proto.codec.common import decode_failed, encode_failed
from homing_proto.codec.engine_values import (
    EmbedFailed,
    EngineBusy,
    EngineReport,
    GenerationReport,
    LoadFailed,
    ModelLoading,
    ModelReady,
    PrefixWarmed,
    ScoreFailed,
    TextsEmbedded,
    ToolsScored,
    WarmFailed,
)
from homing_proto.codec.events import decode_event, encode_event
from homing_proto.codec.fields import (
    encoder,
    finite,
    log_probability,
    malformed,
    max_chars,
    max_items,
    not_negative,
    probability,
    refuse,
    sha256_hex,
)
from homing_proto.codec.tools import decode_tool_name
from homing_proto.v1 import engine_pb2 as wire


@encoder
def encode_engine_report(value: EngineReport) -> bytes:
    """A report as the content of a frame."""
    return _to_wire(value).SerializeToString()


def _to_wire(value: EngineReport) -> wire.EngineReport:  # noqa: C901, PLR0911  # one for each kind
    match value:
        case ModelLoading():
            return wire.EngineReport(loading=wire.EngineLoading(progress=value.progress))
        case ModelReady():
            return wire.EngineReport(ready=_encode_ready(value))
        case LoadFailed():
            return wire.EngineReport(load_failed=encode_failed(value.error))
        case GenerationReport():
            event = wire.EngineEvent(generation_id=value.id, event=encode_event(value.event))
            return wire.EngineReport(event=event)
        case PrefixWarmed():
            warmed = wire.EngineWarmed(
                ticket=value.ticket, tokens=value.tokens, prefix_sha256=value.sha256
            )
            return wire.EngineReport(warmed=warmed)
        case WarmFailed():
            failure = wire.EngineWarmed(ticket=value.ticket, error=encode_failed(value.error))
            return wire.EngineReport(warmed=failure)
        case ToolsScored():
            return wire.EngineReport(scored=_encode_scores(value))
        case ScoreFailed():
            unscored = wire.EngineScored(ticket=value.ticket, error=encode_failed(value.error))
            return wire.EngineReport(scored=unscored)
        case TextsEmbedded():
            vectors = [wire.EngineVector(values=vector) for vector in value.vectors]
            embedded = wire.EngineEmbedded(ticket=value.ticket, vectors=vectors)
            return wire.EngineReport(embedded=embedded)
        case EmbedFailed():
            none = wire.EngineEmbedded(ticket=value.ticket, error=encode_failed(value.error))
            return wire.EngineReport(embedded=none)
        case EngineBusy():
            return wire.EngineReport(busy=_encode_busy(value))


def decode_engine_report(data: bytes) -> EngineReport:
    """Raises `InvalidDataError`."""
    message = wire.EngineReport()
    try:
        message.ParseFromString(data)
    except DecodeError:
        refuse("a report of the engine is not a message of this version")
    match message.WhichOneof("kind"):
        case "loading":
            report: EngineReport = ModelLoading(probability(message.loading.progress, "progress"))
        case "ready":
            report = _decode_ready(message.ready)
        case "load_failed":
            report = LoadFailed(decode_failed(message.load_failed))
        case "event":
            report = GenerationReport(
                parse_generation_id(message.event.generation_id),
                decode_event(message.event.event),
            )
        case "warmed":
            report = _decode_warmed(message.warmed)
        case "scored":
            report = _decode_scored(message.scored)
        case "embedded":
            report = _decode_embedded(message.embedded)
        case "busy":
            report = _decode_busy(message.busy)
        case _:
            msg = "a report of the engine is empty or of an unknown kind"
            raise malformed(msg)
    return report


def _encode_ready(value: ModelReady) -> wire.EngineReady:
    return wire.EngineReady(
        quantization=value.quantization,
        context_tokens=value.context_tokens,
        chat_format=value.chat_format,
        can_think=value.can_think,
        architecture=value.architecture,
        max_sequences=value.max_sequences,
    )


def _decode_ready(message: wire.EngineReady) -> ModelReady:
    return ModelReady(
        quantization=max_chars(message.quantization, limits.MAX_NAME_CHARS, "quantization"),
        context_tokens=message.context_tokens,
        chat_format=max_chars(message.chat_format, limits.MAX_NAME_CHARS, "chat format"),
        can_think=message.can_think,
        architecture=max_chars(message.architecture, limits.MAX_NAME_CHARS, "architecture"),
        max_sequences=message.max_sequences or 1,
    )


def _decode_warmed(message: wire.EngineWarmed) -> PrefixWarmed | WarmFailed:
    if message.HasField("error"):
        return WarmFailed(message.ticket, decode_failed(message.error))
    digest = sha256_hex(message.prefix_sha256, "prefix's hash")
    return PrefixWarmed(message.ticket, message.tokens, digest)


def _encode_scores(value: ToolsScored) -> wire.EngineScored:
    scores = value.scores
    return wire.EngineScored(
        ticket=value.ticket,
        names=[
            wire.EngineNameScore(
                name=score.name,
                logprob=log_probability(score.logprob, "name's score"),
                baseline=_optional(score.baseline),
                exact=score.exact,
            )
            for score in scores.names
        ],
        call_logprob=log_probability(scores.call_logprob, "call's score"),
        call_baseline=_optional(scores.call_baseline),
        prompt_tokens=scores.prompt_tokens,
        cached_tokens=scores.cached_tokens,
        scored_tokens=scores.scored_tokens,
    )


def _decode_scored(message: wire.EngineScored) -> ToolsScored | ScoreFailed:
    if message.HasField("error"):
        return ScoreFailed(message.ticket, decode_failed(message.error))
    max_items(message.names, limits.MAX_TOOLS, "names of tools")
    baseline = message.call_baseline if message.HasField("call_baseline") else None
    scores = ToolScores(
        names=tuple(_decode_name_score(score) for score in message.names),
        call_logprob=log_probability(message.call_logprob, "call's score"),
        call_baseline=_optional(baseline),
        prompt_tokens=message.prompt_tokens,
        cached_tokens=message.cached_tokens,
        scored_tokens=message.scored_tokens,
    )
    return ToolsScored(message.ticket, scores)


def _decode_name_score(message: wire.EngineNameScore) -> NameScore:
    return NameScore(
        name=decode_tool_name(message.name),
        logprob=log_probability(message.logprob, "name's score"),
        baseline=_optional(message.baseline if message.HasField("baseline") else None),
        exact=message.exact,
    )


def _optional(logprob: float | None) -> float | None:
    return None if logprob is None else log_probability(logprob, "baseline")


def _decode_embedded(message: wire.EngineEmbedded) -> TextsEmbedded | EmbedFailed:
    if message.HasField("error"):
        return EmbedFailed(message.ticket, decode_failed(message.error))
    max_items(message.vectors, limits.MAX_EMBEDDED_TEXTS, "vectors")
    return TextsEmbedded(message.ticket, tuple(_decode_vector(each) for each in message.vectors))


def _decode_vector(message: wire.EngineVector) -> tuple[float, ...]:
    max_items(message.values, limits.MAX_DIMENSIONS, "numbers in a vector")
    return tuple(finite(value, "number in a vector") for value in message.values)


def _encode_busy(value: EngineBusy) -> wire.EngineBusy:
    return wire.EngineBusy(
        running=value.running,
        waiting=value.waiting,
        decode_tokens_per_second=value.decode_tokens_per_second,
        prefill_tokens_per_second=value.prefill_tokens_per_second,
        memory_bytes=value.memory_bytes,
        warm=[
            wire.EnginePinned(tokens=tokens, prefix_sha256=digest) for tokens, digest in value.warm
        ],
    )


def _decode_busy(message: wire.EngineBusy) -> EngineBusy:
    max_items(message.warm, limits.MAX_WARM_PREFIXES, "warm prefixes")
    return EngineBusy(
        running=message.running,
        waiting=message.waiting,
        decode_tokens_per_second=not_negative(message.decode_tokens_per_second, "speed"),
        prefill_tokens_per_second=not_negative(message.prefill_tokens_per_second, "speed"),
        memory_bytes=message.memory_bytes,
        warm=tuple(
            (each.tokens, sha256_hex(each.prefix_sha256, "prefix's hash")) for each in message.warm
        ),
    )
