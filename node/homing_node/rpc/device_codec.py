"""Paired devices on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.labels import clean_label
from homing_proto.codec.access import (
    decode_device_role,
    decode_limits,
    decode_scopes,
    encode_device_role,
    encode_limits,
    encode_scopes,
)
from homing_proto.codec.fields import EnumTable
from homing_proto.codec.limits import MAX_LIMIT_PATTERNS
from homing_proto.v1 import devices_pb2 as wire

from homing_node.values import DeviceState, DeviceView

if TYPE_CHECKING:
    from homing_crypto.devices import PairedDevice


_STATES = EnumTable(
    "device's state",
    {
        DeviceState.LET_IN: wire.DEVICE_STATE_LET_IN,
        DeviceState.OVER: wire.DEVICE_STATE_OVER,
        DeviceState.SHUT_OUT: wire.DEVICE_STATE_SHUT_OUT,
    },
)


def view_device(device: PairedDevice) -> DeviceView:
    """What a person may see of it."""
    return DeviceView(
        id=device.id,
        name=device.name,
        role=device.role,
        scopes=device.scopes,
        paired_at=int(device.paired_at),
        last_seen_at=int(device.last_seen_at),
        introduced_by=device.introduced_by,
        limits=device.limits,
    )


def encode_device(device: PairedDevice, state: DeviceState | None = None) -> wire.Device:
    """Everything but its keys; without `state` it is not said whether it is let in."""
    return wire.Device(
        id=device.id,
        name=device.name,
        role=encode_device_role(device.role),
        scopes=encode_scopes(device.scopes),
        limits=encode_limits(device.limits),
        paired_at=int(device.paired_at),
        last_seen_at=int(device.last_seen_at),
        introduced_by=device.introduced_by,
        state=wire.DEVICE_STATE_UNSPECIFIED if state is None else _STATES.encode(state),
    )


def encode_view(view: DeviceView) -> wire.Device:
    """As `encode_device`."""
    return wire.Device(
        id=view.id,
        name=view.name,
        role=encode_device_role(view.role),
        scopes=encode_scopes(view.scopes),
        limits=encode_limits(view.limits),
        paired_at=view.paired_at,
        last_seen_at=view.last_seen_at,
        introduced_by=view.introduced_by,
    )


def decode_device(message: wire.Device) -> DeviceView:
    """What a person may see; raises `InvalidDataError`."""
    return DeviceView(
        id=message.id,
        name=clean_label(message.name),
        role=decode_device_role(message.role),
        scopes=decode_scopes(message.scopes),
        paired_at=message.paired_at,
        last_seen_at=message.last_seen_at,
        introduced_by=message.introduced_by,
        limits=decode_limits(message.limits, MAX_LIMIT_PATTERNS),
        state=_STATES.decode(message.state) if message.state else DeviceState.LET_IN,
    )
