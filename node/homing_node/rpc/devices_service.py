"""Devices on the wire, for owners' phones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.ids import parse_device_id
from homing_crypto.rpc_guard import current_caller
from homing_proto.codec.access import decode_device_role, decode_limits, decode_scopes
from homing_proto.v1 import devices_pb2 as wire
from homing_proto.v1 import devices_pb2_grpc

from homing_node.devices.remote import Grant
from homing_node.rpc.device_codec import encode_device

if TYPE_CHECKING:
    import grpc

    from homing_node.devices.remote import RemoteDesk
    from homing_node.rpc.servers import AddTo

    Context = grpc.aio.ServicerContext[Any, Any]


class DevicesService(devices_pb2_grpc.DevicesServiceServicer):
    """See `devices.proto`.

    Args:
        remote: does everything; this class only translates.
    """

    def __init__(self, remote: RemoteDesk) -> None:
        """Keep who does it."""
        self._remote = remote

    async def ListDevices(  # noqa: N802  # the wire's name
        self, request: wire.ListDevicesRequest, context: Context
    ) -> wire.ListDevicesResponse:
        """Every device that was not revoked, oldest first."""
        del request, context
        devices = await self._remote.devices()
        return wire.ListDevicesResponse(devices=[encode_device(device) for device in devices])

    async def RevokeDevice(  # noqa: N802  # the wire's name
        self, request: wire.RevokeDeviceRequest, context: Context
    ) -> wire.RevokeDeviceResponse:
        """Shut a device out."""
        del context
        concerned = await self._remote.revoke(
            current_caller(), parse_device_id(request.id), request.recovery_secret
        )
        return wire.RevokeDeviceResponse(devices=[encode_device(device) for device in concerned])

    async def GrantDevice(  # noqa: N802  # the wire's name
        self, request: wire.GrantDeviceRequest, context: Context
    ) -> wire.GrantDeviceResponse:
        """Change what a device may do."""
        del context
        grant = Grant(
            decode_device_role(request.role),
            decode_scopes(request.scopes),
            decode_limits(request.limits),
        )
        device = await self._remote.grant(
            current_caller(), parse_device_id(request.id), grant, request.recovery_secret
        )
        return wire.GrantDeviceResponse(device=encode_device(device))


def add_devices_service(remote: RemoteDesk) -> AddTo:
    """What puts the service on a server."""

    def add(server: grpc.aio.Server) -> None:
        devices_pb2_grpc.add_DevicesServiceServicer_to_server(DevicesService(remote), server)

    return add
