"""Tools, their calls and their results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from homing_core.ids import parse_tool_call_id
from homing_core.tools import EffectClass, ToolCall, ToolId, ToolResult, ToolSpec, Topic

from homing_proto.codec import limits
from homing_proto.codec.common import (
    PLACES,
    TRUSTS,
    decode_provenance,
    encode_provenance,
)
from homing_proto.codec.fields import (
    EnumTable,
    encoder,
    max_bytes,
    max_chars,
    max_items,
    optional_device,
    readable,
    readable_name,
    refuse,
    sha256_hex,
)
from homing_proto.codec.json_text import decode_json_object, encode_json
from homing_proto.v1 import tool_pb2 as wire

if TYPE_CHECKING:
    from collections.abc import Collection

_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{limits.MAX_TOOL_NAME_CHARS}}}")

EFFECTS = EnumTable(
    "effect class",
    {
        EffectClass.READ: wire.EFFECT_CLASS_READ,
        EffectClass.READ_NETWORK: wire.EFFECT_CLASS_READ_NETWORK,
        EffectClass.WRITE: wire.EFFECT_CLASS_WRITE,
        EffectClass.SEND: wire.EFFECT_CLASS_SEND,
        EffectClass.SPEND: wire.EFFECT_CLASS_SPEND,
        EffectClass.DELETE: wire.EFFECT_CLASS_DELETE,
        EffectClass.SETTINGS: wire.EFFECT_CLASS_SETTINGS,
    },
    strictest=EffectClass.SETTINGS,
)
TOPICS = EnumTable(
    "topic",
    {
        Topic.MONEY: wire.TOPIC_MONEY,
        Topic.HEALTH: wire.TOPIC_HEALTH,
        Topic.OTHER_PEOPLE: wire.TOPIC_OTHER_PEOPLE,
    },
)


def decode_tool_name(text: str) -> str:
    """A tool's own name: letters, digits, `_` and `-`; raises `InvalidDataError`."""
    if not _NAME.fullmatch(text):
        refuse("a tool's name is not 1 to 128 letters, digits, _ and -")
    return text


def _decode_topics(numbers: Collection[int]) -> frozenset[Topic]:
    max_items(numbers, limits.MAX_TOPICS, "topics")
    said = {number for number in numbers if number != wire.TOPIC_UNSPECIFIED}
    if not all(TOPICS.known(number) for number in said):
        # A topic of a later version: a person is asked whatever it is, so take them all.
        return frozenset(Topic)
    return frozenset(TOPICS.decode(number) for number in said)


@encoder
def encode_tool_spec(value: ToolSpec) -> wire.ToolSpec:
    """What is known of a tool. What its schema hash covers is sent exactly or not at all."""
    return wire.ToolSpec(
        name=value.name,
        description=value.description,
        parameters_json=encode_json(value.parameters),
        effect=EFFECTS.encode(value.effect),
        place=PLACES.encode(value.place),
        node=value.node,
        server=value.server,
        idempotent=value.idempotent,
        output_trust=TRUSTS.encode(value.output_trust),
        topics=sorted(TOPICS.encode(topic) for topic in value.topics),
        typical_ms=value.typical_ms,
    )


def decode_tool_spec(message: wire.ToolSpec) -> ToolSpec:
    """Raises `InvalidDataError`."""
    return ToolSpec(
        name=decode_tool_name(message.name),
        description=max_bytes(
            message.description, limits.MAX_DESCRIPTION_BYTES, "tool's description"
        ),
        parameters=decode_json_object(message.parameters_json, "tool's schema"),
        effect=EFFECTS.decode(message.effect),
        place=PLACES.decode(message.place),
        node=optional_device(message.node),
        server=max_chars(message.server, limits.MAX_NAME_CHARS, "tool's server"),
        idempotent=message.idempotent,
        output_trust=TRUSTS.decode(message.output_trust),
        topics=_decode_topics(message.topics),
        typical_ms=message.typical_ms,
    )


def decode_tool_specs(messages: Collection[wire.ToolSpec]) -> tuple[ToolSpec, ...]:
    """What a model may call; raises `InvalidDataError`, also where two have one name."""
    max_items(messages, limits.MAX_TOOLS, "tools")
    tools = tuple(decode_tool_spec(message) for message in messages)
    if len({tool.name for tool in tools}) != len(tools):
        refuse("two tools have the same name")
    return tools


@encoder
def encode_tool_id(value: ToolId) -> wire.ToolId:
    """A tool's identity."""
    return wire.ToolId(
        node=value.node, server=value.server, name=value.name, schema_hash=value.schema_hash
    )


def decode_tool_id(message: wire.ToolId) -> ToolId:
    """Raises `InvalidDataError`."""
    return ToolId(
        node=optional_device(message.node),
        server=max_chars(message.server, limits.MAX_NAME_CHARS, "tool's server"),
        name=decode_tool_name(message.name),
        schema_hash=sha256_hex(message.schema_hash, "schema hash"),
    )


@encoder
def encode_tool_call(value: ToolCall) -> wire.ToolCall:
    """A call. Its name is what a model wrote: one too long to be any tool's is cut."""
    return wire.ToolCall(
        id=value.id,
        name=readable_name(value.name),
        arguments_json=encode_json(value.arguments),
    )


def decode_tool_call(message: wire.ToolCall) -> ToolCall:
    """Raises `InvalidDataError`. The name may be no tool's."""
    return ToolCall(
        id=parse_tool_call_id(message.id),
        name=max_chars(message.name, limits.MAX_NAME_CHARS, "called name"),
        arguments=decode_json_object(message.arguments_json, "call's arguments"),
    )


@encoder
def encode_tool_result(value: ToolResult) -> wire.ToolResult:
    """What came of a call."""
    return wire.ToolResult(
        call_id=value.call_id,
        content=readable(value.content),
        is_error=value.is_error,
        provenance=encode_provenance(value.provenance),
    )


def decode_tool_result(message: wire.ToolResult) -> ToolResult:
    """Raises `InvalidDataError`."""
    return ToolResult(
        call_id=parse_tool_call_id(message.call_id),
        content=max_bytes(message.content, limits.MAX_TEXT_BYTES, "tool's result"),
        is_error=message.is_error,
        provenance=decode_provenance(message.provenance),
    )
