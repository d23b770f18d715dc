"""Pairing by code on the phone's local socket: the resident process's side and the command's."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label
from homing_proto.v1 import pairing_code_pb2 as wire
from homing_proto.v1 import pairing_code_pb2_grpc

from homing_client.code_pairing import PersonAsked
from homing_client.rpc.phone_calls import NodeRow, local_errors, node_row
from homing_client.rpc.phone_service import clear_end, encode_report

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import grpc.aio

    from homing_client.phone import Phone

    Context = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True)
class Looking:
    """The node is being looked for on the local network."""


PairingStep: TypeAlias = Looking | PersonAsked | NodeRow


class PhonePairingService(pairing_code_pb2_grpc.PhonePairingServiceServicer):
    """Implements `PhonePairingService` over a `Phone`.

    Args:
        phone: does everything; this class only translates.
    """

    def __init__(self, phone: Phone) -> None:
        """Nothing to prepare."""
        self._phone = phone

    async def PairByCode(  # noqa: N802  # the wire's name
        self, request: wire.PairByCodeRequest, context: Context
    ) -> AsyncGenerator[wire.PairByCodeResponse, None]:
        """Pair, and tell what happens meanwhile."""
        async with clear_end(context):
            if not request.at:
                yield wire.PairByCodeResponse(looking=True)
            steps = self._phone.pair_by_code(request.code, request.at, request.device_name)
            async with contextlib.aclosing(steps):
                async for step in steps:
                    if isinstance(step, PersonAsked):
                        waiting = wire.PairingWait(
                            node_name=step.node_name,
                            device_id=step.device_id,
                            device_name=step.device_name,
                        )
                        yield wire.PairByCodeResponse(waiting=waiting)
                    else:
                        yield wire.PairByCodeResponse(paired=encode_report(step))


def add_phone_pairing(server: grpc.aio.Server, phone: Phone) -> None:
    """Serve a phone's pairing by code."""
    pairing_code_pb2_grpc.add_PhonePairingServiceServicer_to_server(
        PhonePairingService(phone), server
    )


async def pair_by_code(
    channel: grpc.aio.Channel, code: str, at: str, device_name: str
) -> AsyncGenerator[PairingStep, None]:
    """What happens, to the paired node; raises `HomingError`.

    Args:
        channel: to the resident process.
        code: as it was typed.
        at: address of the pairing server; empty looks for it.
        device_name: what this phone calls itself; empty takes the configured name.
    """
    stub = pairing_code_pb2_grpc.PhonePairingServiceStub(channel)
    call = stub.PairByCode(wire.PairByCodeRequest(code=code, at=at, device_name=device_name))
    try:
        with local_errors():
            async for answer in call:
                yield _step(answer)
    finally:
        call.cancel()


def _step(answer: wire.PairByCodeResponse) -> PairingStep:
    match answer.WhichOneof("kind"):
        case "looking":
            return Looking()
        case "waiting":
            found = answer.waiting
            names = (clean_label(found.node_name), clean_label(found.device_name))
            return PersonAsked(names[0], clean_label(found.device_id, fallback=""), names[1])
        case "paired":
            return node_row(answer.paired)
        case _:
            msg = "the resident process said something unknown about the pairing"
            raise InvalidDataError(msg, "It may run another version. End it: homing serve --stop")
