"""Commands to an engine's child process as bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from google.protobuf.message import DecodeError
from homing_core.ids import parse_generation_id
from homing_core.scoring import ScoreRequest

from homing_proto.codec import limits
from homing_proto.codec.engine_values import (
    CancelGeneration,
    EmbedTexts,
    EngineCommand,
    ForgetOwner,
    LoadModel,
    ScoreTools,
    StartGeneration,
    WarmPrefix,
)
from homing_proto.codec.fields import (
    encoder,
    malformed,
    max_bytes,
    max_chars,
    max_items,
    refuse,
    sha256_hex,
)
from homing_proto.codec.generation import (
    PRIORITIES,
    decode_generate_request,
    decode_thinking,
    encode_generate_request,
    encode_thinking,
)
from homing_proto.codec.messages import decode_messages, encode_message
from homing_proto.codec.tools import decode_tool_specs, encode_tool_spec
from homing_proto.v1 import engine_pb2 as wire

_MAX_PATH_BYTES: Final = 4096


@encoder
def encode_engine_command(value: EngineCommand) -> bytes:
    """A command as the content of a frame."""
    match value:
        case LoadModel():
            message = wire.EngineCommand(load=_encode_load(value))
        case StartGeneration():
            message = wire.EngineCommand(
                generate=encode_generate_request(value.request), owner=value.request.owner
            )
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
        case ScoreTools():
            message = wire.EngineCommand(score=_encode_score(value), owner=value.request.owner)
        case ForgetOwner():
            message = wire.EngineCommand(forget=value.owner)
        case EmbedTexts():
            embed = wire.EngineEmbed(ticket=value.ticket, texts=value.texts)
            message = wire.EngineCommand(embed=embed)
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
            command: EngineCommand = _decode_load(message.load)
        case "generate":
            request = decode_generate_request(message.generate)
            command = StartGeneration(replace(request, owner=_owner(message.owner)))
        case "cancel":
            command = CancelGeneration(parse_generation_id(message.cancel))
        case "warm":
            command = WarmPrefix(
                ticket=message.warm.ticket,
                messages=decode_messages(message.warm.messages),
                tools=decode_tool_specs(message.warm.tools),
                thinking=decode_thinking(message.warm.thinking),
            )
        case "score":
            command = _decode_score(message.score, _owner(message.owner))
        case "embed":
            command = _decode_embed(message.embed)
        case "forget":
            command = ForgetOwner(_owner(message.forget))
        case _:
            msg = "a command to the engine is empty or of an unknown kind"
            raise malformed(msg)
    return command


def _owner(text: str) -> str:
    return max_chars(text, limits.MAX_NAME_CHARS, "owner")


def _encode_load(value: LoadModel) -> wire.EngineLoad:
    return wire.EngineLoad(
        model_path=value.path,
        model_name=value.name,
        context_tokens=value.context_tokens,
        threads=value.threads,
        gpu_layers=value.gpu_layers,
        max_sequences=value.max_sequences,
        cache_tokens=value.cache_tokens,
        file_sha256=value.file_sha256,
        state_folder=value.state_folder,
        state_bytes=value.state_bytes,
        checkpoint_bytes=value.checkpoint_bytes,
        max_waiting=value.max_waiting,
        adapters=[wire.EngineAdapter(name=name, path=path) for name, path in value.adapters],
        cores=value.cores,
    )


def _decode_load(message: wire.EngineLoad) -> LoadModel:
    max_items(message.adapters, limits.MAX_ADAPTERS, "adapters")
    adapters = tuple(_decode_adapter(adapter) for adapter in message.adapters)
    if len(dict(adapters)) != len(adapters):
        refuse("two adapters have the same name")
    digest = message.file_sha256
    return LoadModel(
        path=max_bytes(message.model_path, _MAX_PATH_BYTES, "model's path"),
        name=max_chars(message.model_name, limits.MAX_NAME_CHARS, "model's name"),
        context_tokens=message.context_tokens,
        threads=message.threads,
        gpu_layers=message.gpu_layers,
        max_sequences=message.max_sequences,
        cache_tokens=message.cache_tokens,
        file_sha256=sha256_hex(digest, "model file's hash") if digest else "",
        state_folder=max_bytes(message.state_folder, _MAX_PATH_BYTES, "folder's path"),
        state_bytes=message.state_bytes,
        checkpoint_bytes=message.checkpoint_bytes,
        max_waiting=message.max_waiting,
        adapters=adapters,
        cores=message.cores,
    )


def _decode_adapter(message: wire.EngineAdapter) -> tuple[str, str]:
    if not message.name:
        refuse("an adapter has no name")
    return (
        max_chars(message.name, limits.MAX_NAME_CHARS, "adapter's name"),
        max_bytes(message.path, _MAX_PATH_BYTES, "adapter's path"),
    )


def _encode_score(value: ScoreTools) -> wire.EngineScore:
    asked = value.request
    return wire.EngineScore(
        ticket=value.ticket,
        messages=[encode_message(turn) for turn in asked.messages],
        tools=[encode_tool_spec(tool) for tool in asked.tools],
        thinking=encode_thinking(asked.thinking),
        priority=PRIORITIES.encode(asked.priority),
        adapter=asked.adapter,
    )


def _decode_score(message: wire.EngineScore, owner: str) -> ScoreTools:
    request = ScoreRequest(
        messages=decode_messages(message.messages),
        tools=decode_tool_specs(message.tools),
        thinking=decode_thinking(message.thinking),
        priority=PRIORITIES.decode(message.priority),
        adapter=max_chars(message.adapter, limits.MAX_NAME_CHARS, "adapter's name"),
        owner=owner,
    )
    return ScoreTools(message.ticket, request)


def _decode_embed(message: wire.EngineEmbed) -> EmbedTexts:
    max_items(message.texts, limits.MAX_EMBEDDED_TEXTS, "texts")
    texts = tuple(max_bytes(text, limits.MAX_TEXT_BYTES, "text") for text in message.texts)
    return EmbedTexts(message.ticket, texts)
