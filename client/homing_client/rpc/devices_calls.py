"""Devices of a node: what an owner's phone asks the node, and how a device looks on any wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError
from homing_core.ids import DeviceId, parse_device_id
from homing_core.labels import clean_label
from homing_proto.codec.access import (
    decode_device_role,
    decode_limits,
    decode_scopes,
    encode_device_role,
    encode_limits,
    encode_scopes,
)
from homing_proto.v1 import devices_pb2, devices_pb2_grpc

from homing_client.rpc.node_calls import plain_errors

if TYPE_CHECKING:
    from collections.abc import Collection

    import grpc.aio
    from homing_core.access import DeviceRole, Limits, Scope

_CALL_S = 10.0
_MAX_DEVICES = 4096


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device that a node knows. Times are wall time there, seconds since the epoch; 0 for never.

    Attributes:
        id: its device id.
        name: for people; cleaned.
        role: what it is.
        scopes: what it may do.
        limits: how much of it.
        paired_at: when it was paired.
        last_seen_at: when it last called.
        introduced_by: device id of the node that vouches for it; empty if it was paired there.
    """

    id: DeviceId
    name: str
    role: DeviceRole
    scopes: frozenset[Scope]
    limits: Limits
    paired_at: int
    last_seen_at: int
    introduced_by: str


def decode_row(message: devices_pb2.Device) -> DeviceRow:
    """What a person may see; raises `InvalidDataError`."""
    return DeviceRow(
        id=parse_device_id(message.id),
        name=clean_label(message.name),
        role=decode_device_role(message.role),
        scopes=decode_scopes(message.scopes),
        limits=decode_limits(message.limits),
        paired_at=message.paired_at,
        last_seen_at=message.last_seen_at,
        introduced_by=parse_device_id(message.introduced_by) if message.introduced_by else "",
    )


def decode_rows(messages: Collection[devices_pb2.Device]) -> tuple[DeviceRow, ...]:
    """As `decode_row`, for as many as a node may know."""
    if len(messages) > _MAX_DEVICES:
        msg = f"the node says that it knows more than {_MAX_DEVICES} devices"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.")
    return tuple(decode_row(message) for message in messages)


def encode_row(row: DeviceRow) -> devices_pb2.Device:
    """The device for the phone's own command line."""
    return devices_pb2.Device(
        id=row.id,
        name=row.name,
        role=encode_device_role(row.role),
        scopes=encode_scopes(row.scopes),
        limits=encode_limits(row.limits),
        paired_at=row.paired_at,
        last_seen_at=row.last_seen_at,
        introduced_by=row.introduced_by,
    )


class DevicesCalls:
    """A node's devices, on a channel that is pinned to its key. Every method raises `HomingError`.

    Args:
        channel: see `homing_crypto.credentials.client_channel`.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = devices_pb2_grpc.DevicesServiceStub(channel)

    async def devices(self) -> tuple[DeviceRow, ...]:
        """Every device that was not revoked, oldest first."""
        with plain_errors():
            found = await self._stub.ListDevices(devices_pb2.ListDevicesRequest(), timeout=_CALL_S)
        return decode_rows(found.devices)

    async def revoke(self, device: DeviceId, secret: str = "") -> tuple[DeviceRow, ...]:
        """Shut a device out; who was shut out, the device first. Repeating it is harmless."""
        request = devices_pb2.RevokeDeviceRequest(id=device, recovery_secret=secret)
        with plain_errors():
            found = await self._stub.RevokeDevice(request, timeout=_CALL_S)
        return decode_rows(found.devices)

    async def grant(
        self,
        device: DeviceId,
        role: DeviceRole,
        scopes: frozenset[Scope],
        limits: Limits,
        secret: str = "",
    ) -> DeviceRow:
        """Make a device what this says. Repeating it is harmless."""
        request = devices_pb2.GrantDeviceRequest(
            id=device,
            role=encode_device_role(role),
            scopes=encode_scopes(scopes),
            limits=encode_limits(limits),
            recovery_secret=secret,
        )
        with plain_errors():
            found = await self._stub.GrantDevice(request, timeout=_CALL_S)
        return decode_row(found.device)
