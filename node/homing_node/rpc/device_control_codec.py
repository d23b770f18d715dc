"""Changes to devices and their use on the wire; see `device_control.proto`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label
from homing_proto.codec.access import (
    decode_device_role,
    decode_limits,
    decode_scopes,
    encode_device_role,
    encode_limits,
    encode_scopes,
)
from homing_proto.codec.devices import (
    decode_device,
    decode_limit_change,
    encode_device,
    encode_limit_change,
)
from homing_proto.codec.fields import max_items
from homing_proto.codec.limits import MAX_LIMIT_PATTERNS
from homing_proto.v1 import device_control_pb2 as wire

from homing_node.devices.changes import DeviceChange
from homing_node.values import ChangedView, DayView, UseView

if TYPE_CHECKING:
    from homing_node.devices.console import Changed, Used

_MOST_KINDS = 16
_MOST_DEVICES = 100_000
_MOST_DAYS = 40_000


def encode_change(prefix: str, change: DeviceChange) -> wire.ChangeDeviceRequest:
    """What to change of a device."""
    request = wire.ChangeDeviceRequest(id_prefix=prefix, reset=change.reset)
    if change.role is not None:
        request.role = encode_device_role(change.role)
    if change.scopes is not None:
        request.scopes.CopyFrom(wire.ScopeList(scopes=encode_scopes(change.scopes)))
    request.limits.CopyFrom(encode_limit_change(change.limits))
    return request


def decode_change(request: wire.ChangeDeviceRequest) -> DeviceChange:
    """What to change of a device; raises `InvalidDataError`."""
    return DeviceChange(
        role=decode_device_role(request.role) if request.role else None,
        scopes=decode_scopes(request.scopes.scopes) if request.HasField("scopes") else None,
        limits=decode_limit_change(request.limits),
        reset=request.reset,
    )


def encode_changed(value: Changed) -> wire.ChangeDeviceResponse:
    """What a device is after a change."""
    return wire.ChangeDeviceResponse(
        device=encode_device(value.device),
        effective=encode_limits(value.effective),
        tighter=[wire.TighterLimit(kind=kind, source=source) for kind, source in value.tighter],
    )


def decode_changed(message: wire.ChangeDeviceResponse) -> ChangedView:
    """What a device is after a change; raises `InvalidDataError`."""
    max_items(message.tighter, _MOST_KINDS, "kinds of limit")
    return ChangedView(
        decode_device(message.device),
        decode_limits(message.effective, MAX_LIMIT_PATTERNS),
        tuple((clean_label(one.kind), clean_label(one.source, 300)) for one in message.tighter),
    )


def encode_use(value: Used) -> wire.DeviceUse:
    """What a device used."""
    device = value.device
    return wire.DeviceUse(
        account=value.account,
        name=device.name if device else "",
        role=encode_device_role(device.role) if device else None,
        tokens_24h=value.tokens_24h,
        tokens_per_day=value.tokens_per_day,
        running=value.running,
        days=[
            wire.DayOfUse(
                day=one.day,
                generations=one.generations,
                prompt_tokens=one.prompt,
                cached_tokens=one.cached,
                completion_tokens=one.completion,
                refusals=one.refusals,
            )
            for one in value.days
        ],
        introduced_by=device.introduced_by if device else "",
        jobs=value.jobs,
    )


def decode_usage(message: wire.GetUsageResponse) -> tuple[UseView, ...]:
    """What devices used; raises `InvalidDataError`."""
    max_items(message.devices, _MOST_DEVICES, "devices")
    return tuple(_decode_use(device) for device in message.devices)


def _decode_use(message: wire.DeviceUse) -> UseView:
    max_items(message.days, _MOST_DAYS, "days")
    if not message.account:
        msg = "a device's use has no device"
        raise InvalidDataError(msg, "Restart the daemon: it may be of another version.")
    return UseView(
        account=clean_label(message.account, 64),
        name=clean_label(message.name, fallback=""),
        role=decode_device_role(message.role) if message.role else None,
        tokens_24h=message.tokens_24h,
        tokens_per_day=message.tokens_per_day,
        running=message.running,
        days=tuple(
            DayView(
                day=clean_label(one.day, 10),
                generations=one.generations,
                prompt_tokens=one.prompt_tokens,
                cached_tokens=one.cached_tokens,
                completion_tokens=one.completion_tokens,
                refusals=one.refusals,
            )
            for one in message.days
        ),
        introduced_by=clean_label(message.introduced_by, 64, ""),
        jobs=message.jobs,
    )
