"""The local service for what devices may do and what they use, and the command line's side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_proto.v1 import device_control_pb2 as wire
from homing_proto.v1 import device_control_pb2_grpc

from homing_node.rpc.control_client import TIMEOUT_S, daemon_errors
from homing_node.rpc.device_control_codec import (
    decode_change,
    decode_changed,
    decode_usage,
    encode_change,
    encode_changed,
    encode_use,
)

if TYPE_CHECKING:
    import grpc

    from homing_node.devices.changes import DeviceChange
    from homing_node.devices.console import DeviceConsole
    from homing_node.rpc.servers import AddTo
    from homing_node.values import ChangedView, UseView

    Context = grpc.aio.ServicerContext[Any, Any]

MOST_DAYS = 3660


class DeviceControlService(device_control_pb2_grpc.DeviceControlServiceServicer):
    """See `device_control.proto`.

    Args:
        console: does everything; this class only translates.
    """

    def __init__(self, console: DeviceConsole) -> None:
        """Keep who does it."""
        self._console = console

    async def ChangeDevice(  # noqa: N802  # the wire's name
        self, request: wire.ChangeDeviceRequest, context: Context
    ) -> wire.ChangeDeviceResponse:
        """Change what a device may do."""
        del context
        return encode_changed(await self._console.change(request.id_prefix, decode_change(request)))

    async def GetUsage(  # noqa: N802  # the wire's name
        self, request: wire.GetUsageRequest, context: Context
    ) -> wire.GetUsageResponse:
        """What devices used."""
        del context
        found = await self._console.usage(request.id_prefix, min(request.days or 1, MOST_DAYS))
        return wire.GetUsageResponse(devices=[encode_use(one) for one in found])


def add_device_control(console: DeviceConsole) -> AddTo:
    """What puts the service on a server."""

    def add(server: grpc.aio.Server) -> None:
        device_control_pb2_grpc.add_DeviceControlServiceServicer_to_server(
            DeviceControlService(console), server
        )

    return add


class DeviceControlClient:
    """The command line's side. Every method raises `HomingError`.

    Args:
        channel: an open one to the daemon's local socket.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = device_control_pb2_grpc.DeviceControlServiceStub(channel)

    async def change(self, prefix: str, change: DeviceChange) -> ChangedView:
        """Change what a device may do; what is not named stays."""
        with daemon_errors():
            answer = await self._stub.ChangeDevice(encode_change(prefix, change), timeout=TIMEOUT_S)
        return decode_changed(answer)

    async def usage(self, prefix: str, days: int) -> tuple[UseView, ...]:
        """What devices used, most first; an empty prefix takes all."""
        request = wire.GetUsageRequest(id_prefix=prefix, days=days)
        with daemon_errors():
            answer = await self._stub.GetUsage(request, timeout=TIMEOUT_S)
        return decode_usage(answer)
