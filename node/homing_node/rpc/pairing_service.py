"""The one method of the pairing server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_proto.codec.pairing import decode_pair_attempt, encode_pair_answer
from homing_proto.v1 import devices_pb2 as wire
from homing_proto.v1 import devices_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import grpc
    from homing_core.pairing import PairAnswer, PairAttempt

    Context = grpc.aio.ServicerContext[Any, Any]


class PairingService(devices_pb2_grpc.PairingServiceServicer):
    """See `devices.proto`.

    Args:
        decide: answers an attempt, or raises `HomingError`.
    """

    def __init__(self, decide: Callable[[PairAttempt], Awaitable[PairAnswer]]) -> None:
        """Keep who decides."""
        self._decide = decide

    async def Pair(  # noqa: N802  # the wire's name
        self, request: wire.PairRequest, context: Context
    ) -> wire.PairResponse:
        """Exchange keys under the link's secret."""
        del context
        return encode_pair_answer(await self._decide(decode_pair_attempt(request)))
