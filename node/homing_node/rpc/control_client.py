"""The command line's side of the daemon's local service."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import grpc.aio
from homing_agent.runtime.localsocket import open_local_channel
from homing_core.errors import InvalidDataError, UnavailableError
from homing_core.labels import clean_label
from homing_crypto.rpc_errors import CODE_KEY, error_from_rpc
from homing_crypto.rpc_guard import INTERRUPTED
from homing_proto.codec.access import encode_device_role
from homing_proto.codec.devices import decode_device, decode_devices
from homing_proto.codec.nodes import decode_load, decode_served_model
from homing_proto.v1 import control_pb2 as wire
from homing_proto.v1 import control_pb2_grpc, pairing_code_pb2, pairing_code_pb2_grpc

from homing_node.values import (
    Asks,
    Closed,
    CodeOffer,
    DaemonView,
    Opened,
    Paired,
    PairingEvent,
    WrongCodeTyped,
    WrongGuess,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.access import DeviceRole
    from homing_core.devices import DeviceView

_OFFERS = {
    CodeOffer.NONE: wire.PAIRING_CODE_OFFER_UNSPECIFIED,
    CodeOffer.ASK: wire.PAIRING_CODE_OFFER_ASK,
    CodeOffer.ACCEPT: wire.PAIRING_CODE_OFFER_ACCEPT,
}

TIMEOUT_S = 10.0
"""How long a quick call to the daemon may take, in seconds."""


class ControlClient:
    """Talks to the daemon that runs on a data directory. Every method raises `HomingError`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Use `connect`."""
        self._stub = control_pb2_grpc.NodeControlServiceStub(channel)
        self._pairing = pairing_code_pb2_grpc.PairingControlServiceStub(channel)

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(
        cls, paths: ProgramPaths, start_with: str = "homing-node run"
    ) -> AsyncGenerator[ControlClient]:
        """Raises `UnavailableError` if no daemon runs there; `start_with` is what to try."""
        async with open_local_channel(paths, start_with) as channel:
            yield cls(channel)

    async def daemon(self) -> DaemonView:
        """How the daemon is."""
        with daemon_errors():
            answer = await self._stub.GetDaemon(wire.GetDaemonRequest(), timeout=TIMEOUT_S)
        return DaemonView(
            version=answer.version,
            pid=answer.pid,
            node_id=answer.node_id,
            name=clean_label(answer.name),
            addresses=tuple(answer.addresses),
            models=tuple(decode_served_model(model) for model in answer.models),
            load=decode_load(answer.load),
        )

    async def pair(
        self, role: DeviceRole, seconds: int, offer: CodeOffer = CodeOffer.NONE
    ) -> AsyncGenerator[PairingEvent, None]:
        """Open the pairing server and follow it; closing the generator closes it."""
        request = wire.OpenPairingRequest(
            role=encode_device_role(role), seconds=seconds, code=_OFFERS[offer]
        )
        call = self._stub.OpenPairing(request)
        try:
            with daemon_errors():
                async for answer in call:
                    yield _decode_pairing(answer)
        finally:
            call.cancel()

    async def decide(self, attempt_id: str, *, allow: bool) -> None:
        """Say whether a device that knows the code may come in."""
        request = pairing_code_pb2.DecidePairingRequest(attempt_id=attempt_id, allow=allow)
        with daemon_errors():
            await self._pairing.DecidePairing(request, timeout=TIMEOUT_S)

    async def devices(self) -> tuple[DeviceView, ...]:
        """Every paired device, oldest first."""
        with daemon_errors():
            request = wire.ListPairedDevicesRequest()
            answer = await self._stub.ListPairedDevices(request, timeout=TIMEOUT_S)
        return decode_devices(answer.devices)

    async def revoke(self, id_prefix: str) -> DeviceView:
        """Shut a device out."""
        with daemon_errors():
            request = wire.RevokePairedDeviceRequest(id_prefix=id_prefix)
            answer = await self._stub.RevokePairedDevice(request, timeout=TIMEOUT_S)
        return decode_device(answer.device)

    async def stop(self) -> None:
        """Ask the daemon to leave."""
        with daemon_errors():
            await self._stub.StopDaemon(wire.StopDaemonRequest(), timeout=TIMEOUT_S)


@contextlib.contextmanager
def daemon_errors() -> Generator[None]:
    """What a failed call means here; what the daemon itself said is passed on as it is."""
    try:
        yield
    except grpc.aio.AioRpcError as error:
        found = error_from_rpc(error)
        said = any(key == CODE_KEY for key, _ in error.trailing_metadata() or ())
        if said and found.what != INTERRUPTED.what:
            raise found from error
        if isinstance(found, UnavailableError):
            late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            happened = "did not answer in time" if late else "ended during the call"
            hint = "Try again." if late else "Start it with: homing-node run"
            msg = f"the daemon {happened}"
            raise UnavailableError(msg, hint) from error
        raise found from error


def _decode_pairing(answer: wire.OpenPairingResponse) -> PairingEvent:
    match answer.WhichOneof("kind"):
        case "opened":
            opened = answer.opened
            return Opened(opened.link, opened.expires_at, opened.code)
        case "wrong_guess_left":
            return WrongGuess(answer.wrong_guess_left)
        case "wrong_code_left":
            return WrongCodeTyped(answer.wrong_code_left)
        case "asks":
            asks = answer.asks
            return Asks(asks.attempt_id, clean_label(asks.name), asks.device_id, asks.expires_at)
        case "paired":
            return Paired(decode_device(answer.paired))
        case "closed":
            return Closed(clean_label(answer.closed, 200))
        case _:
            msg = "the daemon said something unknown about the pairing"
            raise InvalidDataError(msg, "Restart the daemon: it may be of another version.")
