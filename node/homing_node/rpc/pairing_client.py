"""The one call of a node that is itself paired: with another node, as a home with a peer."""

from __future__ import annotations

import grpc.aio
from homing_crypto.pairing.proof import MAX_ADDRESSES, PairAnswer, PairAttempt
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.access import decode_device_role, decode_scopes
from homing_proto.codec.fields import max_items
from homing_proto.v1 import devices_pb2, devices_pb2_grpc


async def pair(channel: grpc.aio.Channel, attempt: PairAttempt, timeout_s: float) -> PairAnswer:
    """Send the attempt; raises `HomingError`. Repeating it is harmless."""
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
        answer = await devices_pb2_grpc.PairingServiceStub(channel).Pair(
            request, timeout=timeout_s, wait_for_ready=True
        )
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
    max_items(answer.addresses, MAX_ADDRESSES, "addresses")
    return PairAnswer(
        certificate_der=answer.certificate_der,
        hpke_public_key=answer.hpke_public_key,
        hpke_signature=answer.hpke_signature,
        name=answer.name,
        role=decode_device_role(answer.role),
        scopes=decode_scopes(answer.scopes),
        addresses=tuple(answer.addresses),
        proof=answer.proof,
    )
