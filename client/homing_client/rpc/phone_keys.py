"""Keys and forgotten nodes on the phone's local socket: the process's side and the command's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.ids import parse_device_id
from homing_core.labels import clean_label
from homing_proto.codec.keys import (
    decode_nodes_know,
    decode_own_keys,
    decode_protection,
    encode_nodes_know,
    encode_own_keys,
    encode_protection,
)
from homing_proto.v1 import keys_pb2 as wire
from homing_proto.v1 import keys_pb2_grpc

from homing_client.rpc.phone_calls import local_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    import grpc.aio
    from homing_core.ids import DeviceId
    from homing_core.keys import KeyProtection, NodeKnows, OwnKey

    from homing_client.key_desk import KeyDesk

    Context = grpc.aio.ServicerContext[Any, Any]

_QUICK_S = 10.0
_ROTATE_S = 120.0
"""Every node is called; one that does not answer takes some seconds."""


class PhoneKeysService(keys_pb2_grpc.PhoneKeysServiceServicer):
    """See `keys.proto`.

    Args:
        desk: does everything; this class only translates.
    """

    def __init__(self, desk: KeyDesk) -> None:
        """Nothing to prepare."""
        self._desk = desk

    async def ListPhoneKeys(  # noqa: N802  # the wire's name
        self, request: wire.ListPhoneKeysRequest, context: Context
    ) -> wire.ListPhoneKeysResponse:
        """The keys, and which node knows which."""
        del request, context
        keys, nodes, protection = await self._desk.show()
        return wire.ListPhoneKeysResponse(
            keys=encode_own_keys(keys),
            nodes=encode_nodes_know(nodes),
            protection=encode_protection(protection),
        )

    async def RotatePhoneKey(  # noqa: N802  # the wire's name
        self, request: wire.RotatePhoneKeyRequest, context: Context
    ) -> wire.RotatePhoneKeyResponse:
        """Make a new key, and tell every node that answers."""
        del request, context
        keys, nodes = await self._desk.rotate()
        return wire.RotatePhoneKeyResponse(
            keys=encode_own_keys(keys), nodes=encode_nodes_know(nodes)
        )

    async def ForgetNode(  # noqa: N802  # the wire's name
        self, request: wire.ForgetNodeRequest, context: Context
    ) -> wire.ForgetNodeResponse:
        """Forget a node."""
        del context
        node = await self._desk.forget(request.node)
        return wire.ForgetNodeResponse(node_id=node.id, name=node.name)


def add_phone_keys(desk: KeyDesk) -> Callable[[grpc.aio.Server], None]:
    """Puts it on the local socket's server."""
    service = PhoneKeysService(desk)
    return lambda server: keys_pb2_grpc.add_PhoneKeysServiceServicer_to_server(service, server)


class PhoneKeysCalls:
    """The command line's side. Every method raises `HomingError`.

    Args:
        channel: to the resident process.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = keys_pb2_grpc.PhoneKeysServiceStub(channel)

    async def show(self) -> tuple[tuple[OwnKey, ...], tuple[NodeKnows, ...], KeyProtection]:
        """The keys, which node knows which, and how they are protected on disk."""
        with local_errors():
            found = await self._stub.ListPhoneKeys(wire.ListPhoneKeysRequest(), timeout=_QUICK_S)
        return (
            decode_own_keys(found.keys),
            decode_nodes_know(found.nodes),
            decode_protection(found.protection),
        )

    async def rotate(self) -> tuple[tuple[OwnKey, ...], tuple[NodeKnows, ...]]:
        """Make a new key; the keys afterwards, and what came of telling each node."""
        with local_errors():
            found = await self._stub.RotatePhoneKey(wire.RotatePhoneKeyRequest(), timeout=_ROTATE_S)
        return decode_own_keys(found.keys), decode_nodes_know(found.nodes)

    async def forget(self, node: str) -> tuple[DeviceId, str]:
        """Forget a node; its id and its name."""
        with local_errors():
            found = await self._stub.ForgetNode(wire.ForgetNodeRequest(node=node), timeout=_QUICK_S)
        return parse_device_id(found.node_id), clean_label(found.name)
