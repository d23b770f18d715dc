"""Devices of a node: what an owner's phone asks the node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_proto.codec.access import encode_device_role, encode_limits, encode_scopes
from homing_proto.codec.devices import decode_device, decode_devices
from homing_proto.v1 import devices_pb2, devices_pb2_grpc

from homing_client.rpc.node_calls import plain_errors

if TYPE_CHECKING:
    import grpc.aio
    from homing_core.access import DeviceRole, Limits, Scope
    from homing_core.devices import DeviceView
    from homing_core.ids import DeviceId

_CALL_S = 10.0


class DevicesCalls:
    """A node's devices, on a channel that is pinned to its key. Every method raises `HomingError`.

    Args:
        channel: see `homing_crypto.credentials.client_channel`.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = devices_pb2_grpc.DevicesServiceStub(channel)

    async def devices(self) -> tuple[DeviceView, ...]:
        """Every device that was not revoked, oldest first."""
        with plain_errors():
            found = await self._stub.ListDevices(devices_pb2.ListDevicesRequest(), timeout=_CALL_S)
        return decode_devices(found.devices)

    async def revoke(self, device: DeviceId, secret: str = "") -> tuple[DeviceView, ...]:
        """Shut a device out; who was shut out, the device first. Repeating it is harmless."""
        request = devices_pb2.RevokeDeviceRequest(id=device, recovery_secret=secret)
        with plain_errors():
            found = await self._stub.RevokeDevice(request, timeout=_CALL_S)
        return decode_devices(found.devices)

    async def grant(
        self,
        device: DeviceId,
        role: DeviceRole,
        scopes: frozenset[Scope],
        limits: Limits,
        secret: str = "",
    ) -> DeviceView:
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
        return decode_device(found.device)
