"""The calls of a pairing by code to a node's pairing server. Each raises `HomingError`.

Repeating any of them is harmless.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, TypeVar

import grpc.aio
from homing_crypto.pairing.code_proof import CodeReply, Entry, Recognition
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.access import decode_device_role, decode_scopes
from homing_proto.codec.pairing import bounded_addresses
from homing_proto.v1 import pairing_code_pb2 as wire
from homing_proto.v1 import pairing_code_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Generator

    from homing_crypto.pairing.code_proof import CodeStart

AnswerT = TypeVar("AnswerT", CodeReply, Recognition, Entry)


async def start(channel: grpc.aio.Channel, asked: CodeStart, timeout_s: float) -> CodeReply:
    """Exchange keys and SPAKE2 messages."""
    request = wire.StartCodeRequest(
        version=asked.version,
        attempt_id=asked.attempt_id,
        certificate_der=asked.certificate_der,
        hpke_public_key=asked.hpke_public_key,
        hpke_signature=asked.hpke_signature,
        name=asked.name,
        nonce=asked.nonce,
        message=asked.message,
    )
    stub = pairing_code_pb2_grpc.CodePairingServiceStub(channel)
    with _errors():
        reply = await stub.StartCode(request, timeout=timeout_s)
    return CodeReply(
        certificate_der=reply.certificate_der,
        hpke_public_key=reply.hpke_public_key,
        hpke_signature=reply.hpke_signature,
        name=reply.name,
        role=decode_device_role(reply.role),
        nonce=reply.nonce,
        message=reply.message,
    )


async def confirm(
    channel: grpc.aio.Channel, attempt_id: str, confirmation: bytes, timeout_s: float
) -> Recognition:
    """Confirm the code; the node answers with its own confirmation."""
    request = wire.ConfirmCodeRequest(attempt_id=attempt_id, confirmation=confirmation)
    stub = pairing_code_pb2_grpc.CodePairingServiceStub(channel)
    with _errors():
        found = await stub.ConfirmCode(request, timeout=timeout_s)
    return Recognition(bounded_addresses(found.addresses), found.confirmation)


async def enter(channel: grpc.aio.Channel, attempt_id: str, timeout_s: float) -> Entry:
    """Wait until the person at the node has answered."""
    request = wire.AwaitEntryRequest(attempt_id=attempt_id)
    stub = pairing_code_pb2_grpc.CodePairingServiceStub(channel)
    with _errors():
        entry = await stub.AwaitEntry(request, timeout=timeout_s)
    return Entry(
        role=decode_device_role(entry.role),
        scopes=decode_scopes(entry.scopes),
        addresses=bounded_addresses(entry.addresses),
        confirmation=entry.confirmation,
    )


@contextlib.contextmanager
def _errors() -> Generator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        raise error_from_rpc(error) from error
