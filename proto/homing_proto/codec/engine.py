"""What a daemon and its engine's child process say to each other, as values and as bytes.

The child's first command is `LoadModel`. Unlike the other codecs these go from and to bytes, since
nothing else travels in a frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from google.protobuf.message import DecodeError
from homing_core.ids import GenerationId, parse_generation_id

from homing_proto.codec import limits
from homing_proto.codec.common import decode_failed, encode_failed
from homing_proto.codec.events import decode_event, encode_event
from homing_proto.codec.fields import (
    encoder,
    malformed,
    max_bytes,
    max_chars,
    max_items,
    probability,
    refuse,
    sha256_hex,
)
from homing_proto.codec.generation import (
    decode_generate_request,
    decode_thinking,
    encode_generate_request,
    encode_thinking,
)
from homing_proto.codec.messages import decode_message, encode_message
from homing_proto.codec.tools import decode_tool_spec, encode_tool_spec
from homing_proto.v1 import engine_pb2 as wire

if TYPE_CHECKING:
    from homing_core.generation import Failed, GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec

_MAX_PATH_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Load this file; the first command.

    Attributes:
        path: of the GGUF file.
        name: under which it is served.
        context_tokens: prompt and answer together; 0 lets the engine choose.
        threads: 0 lets the engine choose.
        gpu_layers: layers on an accelerator; -1 for all of them.
    """

    path: str
    name: str
    context_tokens: int = 0
    threads: int = 0
    gpu_layers: int = 0


@dataclass(frozen=True, slots=True)
class StartGeneration:
    """Write."""

    request: GenerateRequest


@dataclass(frozen=True, slots=True)
class CancelGeneration:
    """End a generation; harmless if it has ended."""

    id: GenerationId


@dataclass(frozen=True, slots=True)
class WarmPrefix:
    """Compute and pin a prefix.

    Attributes:
        ticket: number that the answer carries.
        messages: the system messages.
        tools: the tools.
        thinking: on or off.
    """

    ticket: int
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    thinking: Thinking


EngineCommand: TypeAlias = LoadModel | StartGeneration | CancelGeneration | WarmPrefix


@dataclass(frozen=True, slots=True)
class ModelLoading:
    """How far loading is, in [0, 1]."""

    progress: float


@dataclass(frozen=True, slots=True)
class ModelReady:
    """What was loaded; the fields are those of the engine's description."""

    quantization: str
    context_tokens: int
    chat_format: str
    can_think: bool
    architecture: str


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """The model could not be loaded; the child leaves."""

    error: Failed


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """An event of one generation."""

    id: GenerationId
    event: GenerationEvent


@dataclass(frozen=True, slots=True)
class PrefixWarmed:
    """A prefix is pinned.

    Attributes:
        ticket: the command's number.
        tokens: its length.
        sha256: of the rendered text, hex.
    """

    ticket: int
    tokens: int
    sha256: str


@dataclass(frozen=True, slots=True)
class WarmFailed:
    """A prefix could not be pinned."""

    ticket: int
    error: Failed


EngineReport: TypeAlias = (
    ModelLoading | ModelReady | LoadFailed | GenerationReport | PrefixWarmed | WarmFailed
)


@encoder
def encode_engine_command(value: EngineCommand) -> bytes:
    """A command as the content of a frame."""
    match value:
        case LoadModel():
            load = wire.EngineLoad(
                model_path=value.path,
                model_name=value.name,
                context_tokens=value.context_tokens,
                threads=value.threads,
                gpu_layers=value.gpu_layers,
            )
            message = wire.EngineCommand(load=load)
        case StartGeneration():
            message = wire.EngineCommand(generate=encode_generate_request(value.request))
        case CancelGeneration():
            message = wire.EngineCommand(cancel=value.id)
        case WarmPrefix():
            warm = wire.EngineWarm(
                ticket=value.ticket,
                messages=[encode_message(turn) for turn in value.messages],
                tools=[encode_tool_spec(tool) for tool in value.tools],
                thinking=encode_thinking(value.thinking),
            )
            message = wire.EngineCommand(warm=warm)
    return message.SerializeToString()


def decode_engine_command(data: bytes) -> EngineCommand:
    """Raises `InvalidDataError`."""
    message = wire.EngineCommand()
    try:
        message.ParseFromString(data)
    except DecodeError:
        refuse("a command to the engine is not a message of this version")
    match message.WhichOneof("kind"):
        case "load":
            return LoadModel(
                path=max_bytes(message.load.model_path, _MAX_PATH_BYTES, "model's path"),
                name=max_chars(message.load.model_name, limits.MAX_NAME_CHARS, "model's name"),
                context_tokens=message.load.context_tokens,
                threads=message.load.threads,
                gpu_layers=message.load.gpu_layers,
            )
        case "generate":
            return StartGeneration(decode_generate_request(message.generate))
        case "cancel":
            return CancelGeneration(parse_generation_id(message.cancel))
        case "warm":
            max_items(message.warm.messages, limits.MAX_MESSAGES, "messages")
            max_items(message.warm.tools, limits.MAX_TOOLS, "tools")
            return WarmPrefix(
                ticket=message.warm.ticket,
                messages=tuple(decode_message(turn) for turn in message.warm.messages),
                tools=tuple(decode_tool_spec(tool) for tool in message.warm.tools),
                thinking=decode_thinking(message.warm.thinking),
            )
        case _:
            msg = "a command to the engine is empty or of an unknown kind"
            raise malformed(msg)


@encoder
def encode_engine_report(value: EngineReport) -> bytes:
    """A report as the content of a frame."""
    match value:
        case ModelLoading():
            message = wire.EngineReport(loading=wire.EngineLoading(progress=value.progress))
        case ModelReady():
            ready = wire.EngineReady(
                quantization=value.quantization,
                context_tokens=value.context_tokens,
                chat_format=value.chat_format,
                can_think=value.can_think,
                architecture=value.architecture,
            )
            message = wire.EngineReport(ready=ready)
        case LoadFailed():
            message = wire.EngineReport(load_failed=encode_failed(value.error))
        case GenerationReport():
            event = wire.EngineEvent(generation_id=value.id, event=encode_event(value.event))
            message = wire.EngineReport(event=event)
        case PrefixWarmed():
            warmed = wire.EngineWarmed(
                ticket=value.ticket, tokens=value.tokens, prefix_sha256=value.sha256
            )
            message = wire.EngineReport(warmed=warmed)
        case WarmFailed():
            failure = wire.EngineWarmed(ticket=value.ticket, error=encode_failed(value.error))
            message = wire.EngineReport(warmed=failure)
    return message.SerializeToString()


def decode_engine_report(data: bytes) -> EngineReport:
    """Raises `InvalidDataError`."""
    message = wire.EngineReport()
    try:
        message.ParseFromString(data)
    except DecodeError:
        refuse("a report of the engine is not a message of this version")
    match message.WhichOneof("kind"):
        case "loading":
            return ModelLoading(probability(message.loading.progress, "progress"))
        case "ready":
            return _decode_ready(message.ready)
        case "load_failed":
            return LoadFailed(decode_failed(message.load_failed))
        case "event":
            return GenerationReport(
                parse_generation_id(message.event.generation_id),
                decode_event(message.event.event),
            )
        case "warmed":
            return _decode_warmed(message.warmed)
        case _:
            msg = "a report of the engine is empty or of an unknown kind"
            raise malformed(msg)


def _decode_ready(message: wire.EngineReady) -> ModelReady:
    return ModelReady(
        quantization=max_chars(message.quantization, limits.MAX_NAME_CHARS, "quantization"),
        context_tokens=message.context_tokens,
        chat_format=max_chars(message.chat_format, limits.MAX_NAME_CHARS, "chat format"),
        can_think=message.can_think,
        architecture=max_chars(message.architecture, limits.MAX_NAME_CHARS, "architecture"),
    )


def _decode_warmed(message: wire.EngineWarmed) -> PrefixWarmed | WarmFailed:
    if message.HasField("error"):
        return WarmFailed(message.ticket, decode_failed(message.error))
    digest = sha256_hex(message.prefix_sha256, "prefix's hash")
    return PrefixWarmed(message.ticket, message.tokens, digest)
