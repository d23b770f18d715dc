"""Devices of nodes on the phone's local socket: the service, and the command line's side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.errors import InvalidDataError, UsageError
from homing_core.ids import parse_device_id
from homing_core.labels import clean_label
from homing_proto.codec.devices import (
    decode_device,
    decode_devices,
    decode_limit_change,
    encode_device,
    encode_limit_change,
)
from homing_proto.v1 import phone_devices_pb2 as wire
from homing_proto.v1 import phone_devices_pb2_grpc

from homing_client.devices import NodeDevices
from homing_client.rpc.phone_calls import local_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    import grpc.aio
    from homing_core.limit_words import LimitChange

    from homing_client.devices import HomeDevices

    Context = grpc.aio.ServicerContext[Any, Any]

_CALL_S = 30.0
_MAX_TEXT = 256


class PhoneDevicesService(phone_devices_pb2_grpc.PhoneDevicesServiceServicer):
    """See `phone_devices.proto`.

    Args:
        devices: does everything; this class only translates.
        touch: says that somebody uses the process.
    """

    def __init__(self, devices: HomeDevices, touch: Callable[[], None]) -> None:
        """Keep who does it."""
        self._devices = devices
        self._touch = touch

    async def ListNodeDevices(  # noqa: N802  # the wire's name
        self, request: wire.ListNodeDevicesRequest, context: Context
    ) -> wire.ListNodeDevicesResponse:
        """The devices that a node knows."""
        del context
        self._touch()
        found = await self._devices.devices(_short(request.node))
        return wire.ListNodeDevicesResponse(
            devices=[encode_device(row) for row in found.devices],
            node=found.node,
            own_id=found.own_id,
        )

    async def RevokeNodeDevice(  # noqa: N802  # the wire's name
        self, request: wire.RevokeNodeDeviceRequest, context: Context
    ) -> wire.RevokeNodeDeviceResponse:
        """Shut a device out of a node."""
        del context
        self._touch()
        found = await self._devices.revoke(
            _short(request.node), _short(request.id_prefix), _short(request.recovery_secret)
        )
        devices = [encode_device(row) for row in found.devices]
        return wire.RevokeNodeDeviceResponse(devices=devices, node=found.node)

    async def LimitNodeDevice(  # noqa: N802  # the wire's name
        self, request: wire.LimitNodeDeviceRequest, context: Context
    ) -> wire.LimitNodeDeviceResponse:
        """Limit a device on a node."""
        del context
        self._touch()
        found = await self._devices.limit(
            _short(request.node),
            _short(request.id_prefix),
            decode_limit_change(request.change),
            _short(request.recovery_secret),
        )
        (row,) = found.devices
        return wire.LimitNodeDeviceResponse(device=encode_device(row), node=found.node)


def add_phone_devices(
    devices: HomeDevices, touch: Callable[[], None]
) -> Callable[[grpc.aio.Server], None]:
    """What puts the service on the local socket's server."""

    def add(server: grpc.aio.Server) -> None:
        phone_devices_pb2_grpc.add_PhoneDevicesServiceServicer_to_server(
            PhoneDevicesService(devices, touch), server
        )

    return add


class PhoneDevicesCalls:
    """The command line's side. Every method raises `HomingError`.

    Args:
        channel: an open one to the local socket.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = phone_devices_pb2_grpc.PhoneDevicesServiceStub(channel)

    async def devices(self, node: str) -> NodeDevices:
        """The devices that a node knows, oldest first."""
        request = wire.ListNodeDevicesRequest(node=node)
        with local_errors():
            found = await self._stub.ListNodeDevices(request, timeout=_CALL_S)
        return NodeDevices(
            clean_label(found.node), parse_device_id(found.own_id), decode_devices(found.devices)
        )

    async def revoke(self, node: str, prefix: str, secret: str = "") -> NodeDevices:
        """Shut a device out; who was shut out, the device first."""
        request = wire.RevokeNodeDeviceRequest(node=node, id_prefix=prefix, recovery_secret=secret)
        with local_errors():
            found = await self._stub.RevokeNodeDevice(request, timeout=_CALL_S)
        devices = decode_devices(found.devices)
        if not devices:
            msg = "the node did not say whom it shut out"
            raise InvalidDataError(msg, "Look at its devices: homing devices")
        return NodeDevices(clean_label(found.node), devices[0].id, devices)

    async def limit(
        self, node: str, prefix: str, change: LimitChange, secret: str = ""
    ) -> NodeDevices:
        """Change a device's limits; the device as it is then."""
        request = wire.LimitNodeDeviceRequest(
            node=node,
            id_prefix=prefix,
            change=encode_limit_change(change),
            recovery_secret=secret,
        )
        with local_errors():
            found = await self._stub.LimitNodeDevice(request, timeout=_CALL_S)
        row = decode_device(found.device)
        return NodeDevices(clean_label(found.node), row.id, (row,))


def _short(text: str) -> str:
    if len(text) > _MAX_TEXT:
        msg = "what was typed is too long"
        raise UsageError(msg, f"At most {_MAX_TEXT} characters.")
    return text
