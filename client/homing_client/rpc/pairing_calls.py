"""The one call to a node's pairing server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc.aio
from homing_core.errors import InvalidDataError
from homing_crypto.pairing.proof import PairAnswer, PairAttempt
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.access import decode_device_role, decode_scopes
from homing_proto.v1 import devices_pb2, devices_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_ADDRESSES = 64
_MAX_ADDRESS_CHARS = 300


async def pair(channel: grpc.aio.Channel, attempt: PairAttempt, timeout_s: float) -> PairAnswer:
    """Send the attempt; raises `HomingError`. Repeating it is harmless."""
    stub = devices_pb2_grpc.PairingServiceStub(channel)
    request = devices_pb2.PairRequest(
        version=attempt.version,
        certificate_der=attempt.certificate_der,
        hpke_public_key=attempt.hpke_public_key,
        hpke_signature=attempt.hpke_signature,
        name=attempt.name,
        nonce=attempt.nonce,
        proof=attempt.proof,
        link_id=attempt.link_id,
    )
    try:
        answer = await stub.Pair(request, timeout=timeout_s, wait_for_ready=True)
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
    return PairAnswer(
        certificate_der=answer.certificate_der,
        hpke_public_key=answer.hpke_public_key,
        hpke_signature=answer.hpke_signature,
        name=answer.name,
        role=decode_device_role(answer.role),
        scopes=decode_scopes(answer.scopes),
        addresses=bounded_addresses(answer.addresses),
        proof=answer.proof,
    )


def bounded_addresses(texts: Iterable[str]) -> tuple[str, ...]:
    """The addresses of an answer; raises `InvalidDataError` if they are absurdly many or long."""
    found = tuple(texts)
    if len(found) > _MAX_ADDRESSES or any(len(text) > _MAX_ADDRESS_CHARS for text in found):
        msg = "the pairing answer holds too many addresses"
        raise InvalidDataError(msg, "Both sides may run different versions of Homing.")
    return found
