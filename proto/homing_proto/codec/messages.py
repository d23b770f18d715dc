"""Messages and their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.messages import (
    Message,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)

from homing_proto.codec import limits
from homing_proto.codec.common import decode_provenance, encode_provenance
from homing_proto.codec.fields import EnumTable, encoder, malformed, max_bytes, max_items, readable
from homing_proto.codec.tools import (
    decode_tool_call,
    decode_tool_result,
    encode_tool_call,
    encode_tool_result,
)
from homing_proto.v1 import inference_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Collection

ROLES = EnumTable(
    "message's role",
    {
        Role.SYSTEM: wire.ROLE_SYSTEM,
        Role.USER: wire.ROLE_USER,
        Role.ASSISTANT: wire.ROLE_ASSISTANT,
        Role.TOOL: wire.ROLE_TOOL,
    },
)


@encoder
def encode_part(value: Part) -> wire.Part:
    """One part with its provenance."""
    provenance = encode_provenance(value.provenance)
    match value:
        case TextPart():
            return wire.Part(provenance=provenance, text=readable(value.text))
        case ThinkingPart():
            return wire.Part(provenance=provenance, thinking=readable(value.text))
        case ToolCallPart():
            return wire.Part(provenance=provenance, tool_call=encode_tool_call(value.call))
        case ToolResultPart():
            return wire.Part(provenance=provenance, tool_result=encode_tool_result(value.result))


def decode_part(message: wire.Part) -> Part:
    """Raises `InvalidDataError`, also for a kind that this version does not know."""
    match message.WhichOneof("kind"):
        case "text":
            text = max_bytes(message.text, limits.MAX_TEXT_BYTES, "text")
            return TextPart(text, decode_provenance(message.provenance))
        case "thinking":
            text = max_bytes(message.thinking, limits.MAX_TEXT_BYTES, "thinking")
            return ThinkingPart(text, decode_provenance(message.provenance))
        case "tool_call":
            call = decode_tool_call(message.tool_call)
            return ToolCallPart(call, decode_provenance(message.provenance))
        case "tool_result":
            # The result's own provenance counts; the part's copy cannot better it.
            return ToolResultPart(decode_tool_result(message.tool_result))
        case _:
            msg = "a message part is empty or of an unknown kind"
            raise malformed(msg)


@encoder
def encode_message(value: Message) -> wire.Message:
    """One turn."""
    return wire.Message(
        role=ROLES.encode(value.role), parts=[encode_part(part) for part in value.parts]
    )


def decode_message(message: wire.Message) -> Message:
    """Raises `InvalidDataError`."""
    max_items(message.parts, limits.MAX_PARTS, "parts in a message")
    return Message(
        role=ROLES.decode(message.role), parts=tuple(decode_part(part) for part in message.parts)
    )


def decode_messages(messages: Collection[wire.Message]) -> tuple[Message, ...]:
    """A conversation; raises `InvalidDataError`."""
    max_items(messages, limits.MAX_MESSAGES, "messages")
    return tuple(decode_message(message) for message in messages)
