"""Devices of nodes on the phone's local socket: the service, and the command line's side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.errors import InvalidDataError, UsageError
from homing_core.ids import parse_device_id
from homing_core.labels import clean_label
from homing_core.limit_words import LimitChange
from homing_proto.codec.fields import encoder
from homing_proto.v1 import phone_devices_pb2 as wire
from homing_proto.v1 import phone_devices_pb2_grpc

from homing_client.devices import NodeDevices
from homing_client.rpc.devices_calls import decode_row, decode_rows, encode_row
from homing_client.rpc.phone_calls import local_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    import grpc.aio

    from homing_client.devices import HomeDevices

    Context = grpc.aio.ServicerContext[Any, Any]

_CALL_S = 30.0
_MAX_NAMES = 64
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
            devices=[encode_row(row) for row in found.devices],
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
        devices = [encode_row(row) for row in found.devices]
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
        return wire.LimitNodeDeviceResponse(device=encode_row(row), node=found.node)


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
            clean_label(found.node), parse_device_id(found.own_id), decode_rows(found.devices)
        )

    async def revoke(self, node: str, prefix: str, secret: str = "") -> NodeDevices:
        """Shut a device out; who was shut out, the device first."""
        request = wire.RevokeNodeDeviceRequest(node=node, id_prefix=prefix, recovery_secret=secret)
        with local_errors():
            found = await self._stub.RevokeNodeDevice(request, timeout=_CALL_S)
        devices = decode_rows(found.devices)
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
        row = decode_row(found.device)
        return NodeDevices(clean_label(found.node), row.id, (row,))


@encoder
def encode_limit_change(value: LimitChange) -> wire.LimitChange:
    """What to change; what is None is absent."""
    return wire.LimitChange(
        tokens_per_day=value.tokens_per_day,
        concurrent_streams=value.concurrent_streams,
        jobs=value.jobs,
        models=None if value.models is None else wire.NameList(names=value.models),
        tools=None if value.tools is None else wire.NameList(names=value.tools),
        expires_at=value.expires_at,
        hours=value.hours,
    )


def decode_limit_change(message: wire.LimitChange) -> LimitChange:
    """What to change; raises `InvalidDataError`. Whether it makes sense is seen with the limits."""
    return LimitChange(
        tokens_per_day=message.tokens_per_day if message.HasField("tokens_per_day") else None,
        concurrent_streams=(
            message.concurrent_streams if message.HasField("concurrent_streams") else None
        ),
        jobs=message.jobs if message.HasField("jobs") else None,
        models=_names(message.models) if message.HasField("models") else None,
        tools=_names(message.tools) if message.HasField("tools") else None,
        expires_at=message.expires_at if message.HasField("expires_at") else None,
        hours=_short(message.hours) if message.HasField("hours") else None,
    )


def _names(message: wire.NameList) -> tuple[str, ...]:
    if len(message.names) > _MAX_NAMES:
        msg = f"there are more than {_MAX_NAMES} names"
        raise InvalidDataError(msg, "Put several into one with * and ?.")
    return tuple(_short(name) for name in message.names)


def _short(text: str) -> str:
    if len(text) > _MAX_TEXT:
        msg = "what was typed is too long"
        raise UsageError(msg, f"At most {_MAX_TEXT} characters.")
    return text
