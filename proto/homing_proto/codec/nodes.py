"""What a node says of itself."""

from __future__ import annotations

from homing_core.access import Limits
from homing_core.errors import UsageError
from homing_core.ids import parse_device_id
from homing_core.labels import clean_label
from homing_core.limits import checked_limits
from homing_core.nodes import NodeInfo, NodeLoad, OwnLimits, ServedModel, WarmPrefix

from homing_proto.codec import limits
from homing_proto.codec.access import (
    decode_device_role,
    decode_scopes,
    encode_device_role,
    encode_scopes,
)
from homing_proto.codec.common import decode_place, encode_place
from homing_proto.codec.fields import (
    encoder,
    max_chars,
    max_items,
    not_negative,
    readable_name,
    refuse,
    sha256_hex,
)
from homing_proto.v1 import node_pb2 as wire
from homing_proto.v1 import own_limits_pb2


@encoder
def encode_served_model(value: ServedModel) -> wire.ServedModel:
    """A model on offer."""
    return wire.ServedModel(
        name=readable_name(value.name),
        quantization=readable_name(value.quantization),
        context_tokens=value.context_tokens,
        stand_in=value.stand_in,
        loaded=value.loaded,
        file_sha256=value.file_sha256,
        chat_format=readable_name(value.chat_format),
        can_think=value.can_think,
    )


def decode_served_model(message: wire.ServedModel) -> ServedModel:
    """Raises `InvalidDataError`. Names are cleaned: people will read them."""
    return ServedModel(
        name=clean_label(message.name, limits.MAX_NAME_CHARS),
        quantization=clean_label(message.quantization, fallback=""),
        context_tokens=message.context_tokens,
        stand_in=message.stand_in,
        loaded=message.loaded,
        file_sha256=sha256_hex(message.file_sha256, "model's hash") if message.file_sha256 else "",
        chat_format=clean_label(message.chat_format, fallback=""),
        can_think=message.can_think,
    )


@encoder
def encode_load(value: NodeLoad) -> wire.Load:
    """How busy a node is."""
    return wire.Load(
        running=value.running,
        waiting=value.waiting,
        max_sequences=value.max_sequences,
        decode_tokens_per_second=value.decode_tokens_per_second,
        prefill_tokens_per_second=value.prefill_tokens_per_second,
    )


def decode_load(message: wire.Load) -> NodeLoad:
    """Raises `InvalidDataError`."""
    return NodeLoad(
        running=message.running,
        waiting=message.waiting,
        max_sequences=message.max_sequences,
        decode_tokens_per_second=not_negative(message.decode_tokens_per_second, "decode speed"),
        prefill_tokens_per_second=not_negative(message.prefill_tokens_per_second, "prefill speed"),
    )


@encoder
def encode_warm_prefix(value: WarmPrefix) -> wire.WarmPrefix:
    """A prefix whose state is held."""
    return wire.WarmPrefix(
        model=readable_name(value.model), prefix_sha256=value.sha256, tokens=value.tokens
    )


def decode_warm_prefix(message: wire.WarmPrefix) -> WarmPrefix:
    """Raises `InvalidDataError`."""
    return WarmPrefix(
        model=clean_label(message.model, limits.MAX_NAME_CHARS),
        sha256=sha256_hex(message.prefix_sha256, "prefix's hash"),
        tokens=message.tokens,
    )


@encoder
def encode_own_limits(value: OwnLimits) -> own_limits_pb2.OwnLimits:
    """What a device may do, and what is left."""
    own = value.limits
    return own_limits_pb2.OwnLimits(
        tokens_per_day=own.tokens_per_day,
        tokens_left=value.tokens_left,
        concurrent_streams=own.concurrent_streams,
        jobs=own.jobs,
        models=own.models,
        tools=own.tools,
        expires_at=own.expires_at,
        hours=own.hours,
        opens_in_seconds=value.opens_in_s,
    )


def decode_own_limits(message: own_limits_pb2.OwnLimits) -> OwnLimits:
    """Raises `InvalidDataError`. Patterns are cleaned: people will read them."""
    most = limits.MAX_LIMIT_PATTERNS
    max_items(message.models, most, "patterns for models")
    max_items(message.tools, most, "patterns for tools")
    own = Limits(
        tokens_per_day=message.tokens_per_day,
        concurrent_streams=message.concurrent_streams,
        jobs=message.jobs,
        models=tuple(clean_label(name, limits.MAX_LINE_CHARS) for name in message.models),
        tools=tuple(clean_label(name, limits.MAX_LINE_CHARS) for name in message.tools),
        expires_at=message.expires_at,
        hours=message.hours,
    )
    try:
        own = checked_limits(own, most)
    except UsageError as error:
        refuse(error.what)
    return OwnLimits(own, message.tokens_left, message.opens_in_seconds)


@encoder
def encode_node_info(value: NodeInfo) -> wire.GetNodeResponse:
    """A node as it describes itself."""
    return wire.GetNodeResponse(
        node_id=value.id,
        name=readable_name(value.name),
        version=readable_name(value.version),
        capabilities=[readable_name(name) for name in value.capabilities],
        models=[encode_served_model(model) for model in value.models],
        default_model=readable_name(value.default_model),
        load=encode_load(value.load),
        warm_prefixes=[encode_warm_prefix(prefix) for prefix in value.warm_prefixes],
        role=encode_device_role(value.role),
        scopes=encode_scopes(value.scopes),
        place=encode_place(value.place),
        limits=encode_own_limits(value.own),
    )


def decode_node_info(message: wire.GetNodeResponse) -> NodeInfo:
    """Raises `InvalidDataError`. Names are cleaned: people will read them."""
    max_items(message.models, limits.MAX_MODELS, "models")
    max_items(message.warm_prefixes, limits.MAX_WARM_PREFIXES, "warm prefixes")
    max_items(message.capabilities, limits.MAX_CAPABILITIES, "capabilities")
    return NodeInfo(
        id=parse_device_id(message.node_id),
        name=clean_label(message.name),
        version=clean_label(message.version, fallback="unknown"),
        models=tuple(decode_served_model(model) for model in message.models),
        default_model=clean_label(message.default_model, limits.MAX_NAME_CHARS, fallback=""),
        load=decode_load(message.load),
        role=decode_device_role(message.role),
        scopes=decode_scopes(message.scopes),
        place=decode_place(message.place),
        capabilities=tuple(
            max_chars(name, limits.MAX_NAME_CHARS, "capability") for name in message.capabilities
        ),
        warm_prefixes=tuple(decode_warm_prefix(prefix) for prefix in message.warm_prefixes),
        own=decode_own_limits(message.limits),
    )
