"""The phone's side of a pairing, over the real server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc
from homing_core.clock import SystemClock
from homing_crypto.credentials import pairing_channel
from homing_crypto.pairing.client import accept_answer, start_pairing
from homing_crypto.pairing.pinned import fetch_certificate
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.pairing import decode_pair_answer, encode_pair_attempt
from homing_proto.v1 import devices_pb2_grpc
from support.node_rig import DEADLINE_S

if TYPE_CHECKING:
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode
    from homing_crypto.pairing.link import PairingLink


async def pair(
    link: PairingLink, identity: DeviceIdentity, **changes: str | bytes | int
) -> KnownNode:
    """Pair; `changes` replace fields of the request just before it is sent."""
    certificate = await fetch_certificate(link.addresses[0], link.certificate_sha256)
    side = start_pairing(link, identity, certificate, "Anna's phone")
    request = encode_pair_attempt(side.attempt)
    for key, value in changes.items():
        setattr(request, key, value)
    async with pairing_channel(str(link.addresses[0]), certificate) as channel:
        try:
            answer = await devices_pb2_grpc.PairingServiceStub(channel).Pair(
                request, timeout=DEADLINE_S
            )
        except grpc.aio.AioRpcError as error:
            raise error_from_rpc(error) from error
    return accept_answer(side, decode_pair_answer(answer), SystemClock().now())
