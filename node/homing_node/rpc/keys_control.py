"""The node's own keys on its local socket: the daemon's side and the command line's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_agent.runtime.localsocket import open_local_channel
from homing_proto.codec.keys import (
    decode_own_keys,
    decode_protection,
    encode_own_keys,
    encode_protection,
)
from homing_proto.v1 import keys_pb2 as wire
from homing_proto.v1 import keys_pb2_grpc

from homing_node.rpc.control_client import TIMEOUT_S, daemon_errors

if TYPE_CHECKING:
    import grpc.aio
    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.keys import KeyProtection, OwnKey

    from homing_node.keys import NodeKeys
    from homing_node.rpc.servers import AddTo

    Context = grpc.aio.ServicerContext[Any, Any]


class NodeKeysControlService(keys_pb2_grpc.NodeKeysControlServiceServicer):
    """See `keys.proto`.

    Args:
        keys: the node's own.
    """

    def __init__(self, keys: NodeKeys) -> None:
        """Keep where to look."""
        self._keys = keys

    async def ListNodeKeys(  # noqa: N802  # the wire's name
        self, request: wire.ListNodeKeysRequest, context: Context
    ) -> wire.ListNodeKeysResponse:
        """The present one first."""
        del request, context
        return wire.ListNodeKeysResponse(
            keys=encode_own_keys(self._keys.own()),
            protection=encode_protection(self._keys.protection),
        )

    async def RotateNodeKey(  # noqa: N802  # the wire's name
        self, request: wire.RotateNodeKeyRequest, context: Context
    ) -> wire.RotateNodeKeyResponse:
        """Make a new key; the old one goes on for its overlap."""
        del request, context
        return wire.RotateNodeKeyResponse(keys=encode_own_keys(await self._keys.rotate()))


def add_keys_control(keys: NodeKeys) -> AddTo:
    """Puts it on the local socket's server."""
    service = NodeKeysControlService(keys)
    return lambda server: keys_pb2_grpc.add_NodeKeysControlServiceServicer_to_server(
        service, server
    )


async def list_keys(
    paths: ProgramPaths, start_with: str
) -> tuple[tuple[OwnKey, ...], KeyProtection]:
    """The keys of the daemon that runs on a data directory, and how they are protected.

    Raises:
        UnavailableError: none runs there; `start_with` is what to try.
        HomingError: what the daemon said.
    """
    async with open_local_channel(paths, start_with) as channel:
        stub = keys_pb2_grpc.NodeKeysControlServiceStub(channel)
        with daemon_errors():
            answer = await stub.ListNodeKeys(wire.ListNodeKeysRequest(), timeout=TIMEOUT_S)
    return decode_own_keys(answer.keys), decode_protection(answer.protection)


async def rotate_key(paths: ProgramPaths, start_with: str) -> tuple[OwnKey, ...]:
    """Let the daemon make a new key; its keys afterwards. Raises as `list_keys`."""
    async with open_local_channel(paths, start_with) as channel:
        stub = keys_pb2_grpc.NodeKeysControlServiceStub(channel)
        with daemon_errors():
            answer = await stub.RotateNodeKey(wire.RotateNodeKeyRequest(), timeout=TIMEOUT_S)
    return decode_own_keys(answer.keys)
