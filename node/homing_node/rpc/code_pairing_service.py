"""Pairing by short code: the pairing port's three methods, and the person's answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from homing_crypto.pairing.code_proof import CodeReply, CodeStart, Entry, Recognition
from homing_proto.codec.access import encode_device_role, encode_scopes
from homing_proto.v1 import pairing_code_pb2 as wire
from homing_proto.v1 import pairing_code_pb2_grpc

from homing_node.door.names import caller_address, household, packed

if TYPE_CHECKING:
    import grpc
    import grpc.aio

    from homing_node.rpc.servers import AddTo

    Context = grpc.aio.ServicerContext[Any, Any]


class CodePairing(Protocol):
    """Answers phones that were given the code; every method raises `HomingError`."""

    def start(self, asked: CodeStart, caller: str) -> CodeReply:
        """Take an attempt's first message, from `caller`."""
        ...

    def confirm(self, attempt_id: str, confirmation: bytes) -> Recognition:
        """Decide whether the phone knows the code."""
        ...

    async def enter(self, attempt_id: str) -> Entry:
        """Wait for the person and let the phone in."""
        ...


class Decider(Protocol):
    """Takes the person's answer."""

    def decide(self, attempt_id: str, *, allow: bool) -> None:
        """Raises `ConflictError` if nobody waits for it."""
        ...


class CodePairingService(pairing_code_pb2_grpc.CodePairingServiceServicer):
    """See `pairing_code.proto`.

    Args:
        pairing: answers.
    """

    def __init__(self, pairing: CodePairing) -> None:
        """Keep who answers."""
        self._pairing = pairing

    async def StartCode(  # noqa: N802  # the wire's name
        self, request: wire.StartCodeRequest, context: Context
    ) -> wire.StartCodeResponse:
        """Exchange keys and SPAKE2 messages."""
        asked = CodeStart(
            attempt_id=request.attempt_id,
            certificate_der=request.certificate_der,
            hpke_public_key=request.hpke_public_key,
            hpke_signature=request.hpke_signature,
            name=request.name,
            nonce=request.nonce,
            message=request.message,
            version=request.version,
        )
        reply = self._pairing.start(asked, _household(context.peer()))
        return wire.StartCodeResponse(
            certificate_der=reply.certificate_der,
            hpke_public_key=reply.hpke_public_key,
            hpke_signature=reply.hpke_signature,
            name=reply.name,
            role=encode_device_role(reply.role),
            nonce=reply.nonce,
            message=reply.message,
        )

    async def ConfirmCode(  # noqa: N802  # the wire's name
        self, request: wire.ConfirmCodeRequest, context: Context
    ) -> wire.ConfirmCodeResponse:
        """Confirm the code, the phone first."""
        del context
        found = self._pairing.confirm(request.attempt_id, request.confirmation)
        return wire.ConfirmCodeResponse(addresses=found.addresses, confirmation=found.confirmation)

    async def AwaitEntry(  # noqa: N802  # the wire's name
        self, request: wire.AwaitEntryRequest, context: Context
    ) -> wire.AwaitEntryResponse:
        """Wait until the person at the node has answered."""
        del context
        entry = await self._pairing.enter(request.attempt_id)
        return wire.AwaitEntryResponse(
            role=encode_device_role(entry.role),
            scopes=encode_scopes(entry.scopes),
            addresses=entry.addresses,
            confirmation=entry.confirmation,
        )


class PairingControlService(pairing_code_pb2_grpc.PairingControlServiceServicer):
    """See `pairing_code.proto`.

    Args:
        decider: takes the answer.
    """

    def __init__(self, decider: Decider) -> None:
        """Keep who takes it."""
        self._decider = decider

    async def DecidePairing(  # noqa: N802  # the wire's name
        self, request: wire.DecidePairingRequest, context: Context
    ) -> wire.DecidePairingResponse:
        """Pass on what the person said."""
        del context
        self._decider.decide(request.attempt_id, allow=request.allow)
        return wire.DecidePairingResponse()


def add_code_pairing(pairing: CodePairing) -> AddTo:
    """Puts the three methods on the pairing port's server."""

    def add(server: grpc.aio.Server) -> None:
        service = CodePairingService(pairing)
        pairing_code_pb2_grpc.add_CodePairingServiceServicer_to_server(service, server)

    return add


def add_pairing_control(decider: Decider) -> AddTo:
    """Puts the person's answer on the local socket's server."""

    def add(server: grpc.aio.Server) -> None:
        service = PairingControlService(decider)
        pairing_code_pb2_grpc.add_PairingControlServiceServicer_to_server(service, server)

    return add


def _household(peer: str) -> str:
    """What shares a limit: an IPv4 address or an IPv6 /64; empty where it cannot be seen."""
    address = caller_address(peer)
    return household(packed(address)).hex() if address else ""
