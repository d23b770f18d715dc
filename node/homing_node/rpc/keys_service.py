"""Keys that are replaced: a paired device's own, and this node's as a device learns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.ids import parse_device_id
from homing_crypto.certificates import check_certificate
from homing_crypto.rotation import check_rotation
from homing_crypto.rpc_guard import current_caller
from homing_proto.codec.keys import decode_key_change, encode_key_change
from homing_proto.v1 import keys_pb2 as wire
from homing_proto.v1 import keys_pb2_grpc

if TYPE_CHECKING:
    import grpc.aio

    from homing_node.devices.rotation import DeviceRotation
    from homing_node.keys import NodeKeys
    from homing_node.rpc.servers import AddTo

    Context = grpc.aio.ServicerContext[Any, Any]


class KeysService(keys_pb2_grpc.KeysServiceServicer):
    """See `keys.proto`.

    Args:
        keys: the node's own.
        rotation: takes devices' new keys.
    """

    def __init__(self, keys: NodeKeys, rotation: DeviceRotation) -> None:
        """Keep where to look."""
        self._keys = keys
        self._rotation = rotation

    async def RotateKey(  # noqa: N802  # the wire's name
        self, request: wire.RotateKeyRequest, context: Context
    ) -> wire.RotateKeyResponse:
        """Take the caller's next key, for which its present one speaks."""
        del context
        caller = current_caller()
        nodes = [identity.device_id for identity in self._keys.identities()]
        old = check_certificate(caller.device.certificate_der)
        new = check_rotation(decode_key_change(request.change), nodes, old)
        done = await self._rotation.rotate(caller.id, new)
        return wire.RotateKeyResponse(old_key_until=done.old_until)

    async def FinishRotation(  # noqa: N802  # the wire's name
        self, request: wire.FinishRotationRequest, context: Context
    ) -> wire.FinishRotationResponse:
        """The key that calls works: its device's earlier ones are over."""
        del request, context
        await self._rotation.finish(current_caller().id)
        return wire.FinishRotationResponse()

    async def GetSuccessor(  # noqa: N802  # the wire's name
        self, request: wire.GetSuccessorRequest, context: Context
    ) -> wire.GetSuccessorResponse:
        """The node's key after the one that the caller knows."""
        del context
        change = self._keys.since(parse_device_id(request.known_id))
        if change is None:
            return wire.GetSuccessorResponse()
        return wire.GetSuccessorResponse(change=encode_key_change(change))


def add_keys_service(keys: NodeKeys, rotation: DeviceRotation) -> AddTo:
    """Puts it on the main server."""
    service = KeysService(keys, rotation)
    return lambda server: keys_pb2_grpc.add_KeysServiceServicer_to_server(service, server)
