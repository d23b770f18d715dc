"""The one call to a node's pairing server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc.aio
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.pairing import decode_pair_answer, encode_pair_attempt
from homing_proto.v1 import devices_pb2_grpc

if TYPE_CHECKING:
    from homing_core.pairing import PairAnswer, PairAttempt


async def pair(channel: grpc.aio.Channel, attempt: PairAttempt, timeout_s: float) -> PairAnswer:
    """Send the attempt; raises `HomingError`. Repeating it is harmless."""
    request = encode_pair_attempt(attempt)
    stub = devices_pb2_grpc.PairingServiceStub(channel)
    try:
        answer = await stub.Pair(request, timeout=timeout_s, wait_for_ready=True)
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
    return decode_pair_answer(answer)
