"""The one method of the pairing server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_crypto.pairing.proof import PairAnswer, PairAttempt
from homing_proto.codec.access import encode_device_role, encode_scopes
from homing_proto.v1 import devices_pb2 as wire
from homing_proto.v1 import devices_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import grpc

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
        answer = await self._decide(
            PairAttempt(
                link_id=request.link_id,
                certificate_der=request.certificate_der,
                hpke_public_key=request.hpke_public_key,
                hpke_signature=request.hpke_signature,
                name=request.name,
                nonce=request.nonce,
                proof=request.proof,
                version=request.version,
            )
        )
        return wire.PairResponse(
            certificate_der=answer.certificate_der,
            hpke_public_key=answer.hpke_public_key,
            hpke_signature=answer.hpke_signature,
            name=answer.name,
            role=encode_device_role(answer.role),
            scopes=encode_scopes(answer.scopes),
            addresses=answer.addresses,
            proof=answer.proof,
        )
