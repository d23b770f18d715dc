"""Paired devices, and changes of their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.devices import DeviceState, DeviceView
from homing_core.ids import parse_device_id
from homing_core.labels import clean_label
from homing_core.limit_words import LimitChange
from homing_core.limits import MAX_PATTERNS

from homing_proto.codec import limits
from homing_proto.codec.access import (
    decode_device_role,
    decode_limits,
    decode_scopes,
    encode_device_role,
    encode_limits,
    encode_scopes,
)
from homing_proto.codec.fields import (
    EnumTable,
    encoder,
    max_chars,
    max_items,
    optional_device,
    readable_name,
)
from homing_proto.v1 import devices_pb2 as wire
from homing_proto.v1 import phone_devices_pb2 as changes

if TYPE_CHECKING:
    from collections.abc import Collection

_STATES = EnumTable(
    "device's state",
    {
        DeviceState.LET_IN: wire.DEVICE_STATE_LET_IN,
        DeviceState.OVER: wire.DEVICE_STATE_OVER,
        DeviceState.SHUT_OUT: wire.DEVICE_STATE_SHUT_OUT,
    },
)


@encoder
def encode_device(value: DeviceView) -> wire.Device:
    """A device as people see it."""
    return wire.Device(
        id=value.id,
        name=readable_name(value.name),
        role=encode_device_role(value.role),
        scopes=encode_scopes(value.scopes),
        limits=encode_limits(value.limits),
        paired_at=value.paired_at,
        last_seen_at=value.last_seen_at,
        introduced_by=value.introduced_by,
        state=_STATES.encode(value.state),
    )


def decode_device(message: wire.Device) -> DeviceView:
    """Raises `InvalidDataError`. The name is cleaned; an older node says of none that it is out."""
    return DeviceView(
        id=parse_device_id(message.id),
        name=clean_label(message.name),
        role=decode_device_role(message.role),
        scopes=decode_scopes(message.scopes),
        paired_at=message.paired_at,
        last_seen_at=message.last_seen_at,
        introduced_by=optional_device(message.introduced_by),
        limits=decode_limits(message.limits, limits.MAX_LIMIT_PATTERNS),
        state=_STATES.decode(message.state) if message.state else DeviceState.LET_IN,
    )


def decode_devices(messages: Collection[wire.Device]) -> tuple[DeviceView, ...]:
    """As `decode_device`, for as many as a node may know."""
    max_items(messages, limits.MAX_DEVICES, "devices")
    return tuple(decode_device(message) for message in messages)


@encoder
def encode_limit_change(value: LimitChange) -> changes.LimitChange:
    """What to change; what is None is absent."""
    return changes.LimitChange(
        tokens_per_day=value.tokens_per_day,
        concurrent_streams=value.concurrent_streams,
        jobs=value.jobs,
        models=None if value.models is None else changes.NameList(names=value.models),
        tools=None if value.tools is None else changes.NameList(names=value.tools),
        expires_at=value.expires_at,
        hours=value.hours,
    )


def decode_limit_change(message: changes.LimitChange) -> LimitChange:
    """Raises `InvalidDataError`. Whether it makes sense is seen together with the limits."""
    return LimitChange(
        tokens_per_day=message.tokens_per_day if message.HasField("tokens_per_day") else None,
        concurrent_streams=(
            message.concurrent_streams if message.HasField("concurrent_streams") else None
        ),
        jobs=message.jobs if message.HasField("jobs") else None,
        models=_names(message.models) if message.HasField("models") else None,
        tools=_names(message.tools) if message.HasField("tools") else None,
        expires_at=message.expires_at if message.HasField("expires_at") else None,
        hours=(
            max_chars(message.hours, limits.MAX_NAME_CHARS, "hours")
            if message.HasField("hours")
            else None
        ),
    )


def _names(message: changes.NameList) -> tuple[str, ...]:
    max_items(message.names, MAX_PATTERNS, "names")
    return tuple(max_chars(name, limits.MAX_NAME_CHARS, "name") for name in message.names)
