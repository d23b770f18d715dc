"""Devices on the wire, for owners' phones."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from homing_core.errors import RefusedError
from homing_core.ids import parse_device_id
from homing_crypto.guard import Refusal
from homing_crypto.rpc_guard import current_caller
from homing_proto.codec.access import decode_device_role, decode_limits, decode_scopes
from homing_proto.codec.devices import encode_device
from homing_proto.v1 import devices_pb2 as wire
from homing_proto.v1 import devices_pb2_grpc

from homing_node.devices.remote import Grant

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    import grpc
    from homing_core.devices import DeviceView
    from homing_crypto.devices import PairedDevice

    from homing_node.devices.remote import RemoteDesk
    from homing_node.rpc.servers import AddTo

    Context = grpc.aio.ServicerContext[Any, Any]


class DevicesService(devices_pb2_grpc.DevicesServiceServicer):
    """See `devices.proto`.

    Args:
        remote: does everything; this class only translates.
        view: a device as people see it.
        on_refused: told of every change that was refused; it must not raise.
    """

    def __init__(
        self,
        remote: RemoteDesk,
        view: Callable[[PairedDevice], DeviceView],
        on_refused: Callable[[Refusal], None],
    ) -> None:
        """Keep who does it."""
        self._remote = remote
        self._view = view
        self._on_refused = on_refused

    async def ListDevices(  # noqa: N802  # the wire's name
        self, request: wire.ListDevicesRequest, context: Context
    ) -> wire.ListDevicesResponse:
        """Every device that was not revoked, oldest first."""
        del request, context
        devices = await self._remote.devices()
        return wire.ListDevicesResponse(
            devices=[encode_device(self._view(device)) for device in devices]
        )

    async def RevokeDevice(  # noqa: N802  # the wire's name
        self, request: wire.RevokeDeviceRequest, context: Context
    ) -> wire.RevokeDeviceResponse:
        """Shut a device out."""
        del context
        with self._noting("RevokeDevice"):
            concerned = await self._remote.revoke(
                current_caller(), parse_device_id(request.id), request.recovery_secret
            )
        return wire.RevokeDeviceResponse(
            devices=[encode_device(self._view(device)) for device in concerned]
        )

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
        with self._noting("GrantDevice"):
            device = await self._remote.grant(
                current_caller(), parse_device_id(request.id), grant, request.recovery_secret
            )
        return wire.GrantDeviceResponse(device=encode_device(self._view(device)))

    @contextlib.contextmanager
    def _noting(self, method: str) -> Generator[None]:
        """What the guard let in and the rules for owners refuse is a refusal too."""
        try:
            yield
        except RefusedError as error:
            caller = current_caller()
            name = f"/homing_proto.v1.DevicesService/{method}"
            self._on_refused(Refusal(name, caller.id, caller.address, error))
            raise


def add_devices_service(
    remote: RemoteDesk,
    view: Callable[[PairedDevice], DeviceView],
    on_refused: Callable[[Refusal], None],
) -> AddTo:
    """What puts the service on a server."""

    def add(server: grpc.aio.Server) -> None:
        devices_pb2_grpc.add_DevicesServiceServicer_to_server(
            DevicesService(remote, view, on_refused), server
        )

    return add
