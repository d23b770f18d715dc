"""This node's own key at another node with which it is paired."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc.aio
from homing_crypto.rotation import check_succession, sign_rotation
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.keys import decode_key_change, encode_key_change
from homing_proto.v1 import keys_pb2 as wire
from homing_proto.v1 import keys_pb2_grpc

if TYPE_CHECKING:
    from homing_core.ids import DeviceId
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.rotation import NewKey

_TIMEOUT_S = 10.0


async def rotate_at(
    node: DeviceId,
    channel: grpc.aio.Channel,
    old: DeviceIdentity,
    new: DeviceIdentity,
    timeout_s: float = _TIMEOUT_S,
) -> None:
    """Tell another node that `new` replaces `old`; repeating it is harmless.

    Whatever `old` vouches for there follows to `new`. Call `finish_at` over a connection with `new`
    afterwards, so that `old` ends at once and not only after the overlap.

    Args:
        node: the other node's id, to which the channel is pinned.
        channel: opened with `old`.
        old: the key by which the other node knows this one.
        new: the one to go on with.
        timeout_s: deadline, in seconds.

    Raises:
        HomingError: the other node cannot be reached, or refuses.
    """
    change = sign_rotation(node, old, new)
    request = wire.RotateKeyRequest(change=encode_key_change(change))
    try:
        await keys_pb2_grpc.KeysServiceStub(channel).RotateKey(request, timeout=timeout_s)
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error


async def successor_at(
    channel: grpc.aio.Channel, node: CheckedCertificate, timeout_s: float = _TIMEOUT_S
) -> NewKey | None:
    """Another node's key after the one that this node knows, checked; None if that is the present.

    Args:
        channel: pinned to the key that this node knows.
        node: its certificate.
        timeout_s: deadline, in seconds.

    Raises:
        IntegrityError: the old key did not speak for the new one.
        NotFoundError: the other node replaces no keys.
        HomingError: as `rotate_at`.
    """
    request = wire.GetSuccessorRequest(known_id=node.device_id)
    try:
        stub = keys_pb2_grpc.KeysServiceStub(channel)
        answer = await stub.GetSuccessor(request, timeout=timeout_s)
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
    if not answer.HasField("change"):
        return None
    return check_succession(decode_key_change(answer.change), node)


async def finish_at(channel: grpc.aio.Channel, timeout_s: float = _TIMEOUT_S) -> None:
    """Tell another node that the key of this channel works. Raises as `rotate_at`."""
    try:
        await keys_pb2_grpc.KeysServiceStub(channel).FinishRotation(
            wire.FinishRotationRequest(), timeout=timeout_s
        )
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
