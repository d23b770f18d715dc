"""Keys that are replaced, at one node over one channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_crypto.certificates import check_certificate
from homing_crypto.rotation import check_succession, sign_rotation
from homing_proto.codec.keys import decode_key_change, encode_key_change
from homing_proto.v1 import keys_pb2 as wire
from homing_proto.v1 import keys_pb2_grpc

from homing_client.rpc.node_calls import plain_errors

if TYPE_CHECKING:
    import grpc.aio
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode
    from homing_crypto.rotation import NewKey


class KeysCalls:
    """The node's `KeysService`. Every method raises `HomingError`.

    Args:
        channel: see `homing_crypto.credentials.client_channel`.
        timeout_s: deadline of each call, in seconds.
    """

    def __init__(self, channel: grpc.aio.Channel, timeout_s: float) -> None:
        """Make the stub."""
        self._stub = keys_pb2_grpc.KeysServiceStub(channel)
        self._timeout_s = timeout_s

    async def rotate(self, node: KnownNode, old: DeviceIdentity, new: DeviceIdentity) -> None:
        """Tell the node, over a connection with `old`, that `new` replaces it."""
        change = sign_rotation(node.id, old, new)
        request = wire.RotateKeyRequest(change=encode_key_change(change))
        with plain_errors():
            await self._stub.RotateKey(request, timeout=self._timeout_s)

    async def finish(self) -> None:
        """Tell the node that the key of this connection works; earlier ones end at once."""
        with plain_errors():
            await self._stub.FinishRotation(wire.FinishRotationRequest(), timeout=self._timeout_s)

    async def successor(self, node: KnownNode) -> NewKey | None:
        """The node's key after the one that the book knows, checked; None if that is the present.

        Raises:
            IntegrityError: the old key did not speak for the new one.
            HomingError: the node cannot be asked.
        """
        request = wire.GetSuccessorRequest(known_id=node.id)
        with plain_errors():
            answer = await self._stub.GetSuccessor(request, timeout=self._timeout_s)
        if not answer.HasField("change"):
            return None
        change = decode_key_change(answer.change)
        return check_succession(change, check_certificate(node.certificate_der))
