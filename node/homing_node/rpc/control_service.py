"""The daemon's local service for its own command line."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any, Protocol

from homing_core.access import DeviceRole
from homing_crypto.audit.records import CONSOLE
from homing_proto.codec.access import decode_device_role
from homing_proto.codec.devices import encode_device
from homing_proto.codec.nodes import encode_load, encode_served_model
from homing_proto.v1 import control_pb2 as wire
from homing_proto.v1 import control_pb2_grpc

from homing_node.describe import node_load, served_models
from homing_node.devices.revocation import find_device
from homing_node.values import (
    Asks,
    Closed,
    CodeOffer,
    Opened,
    Paired,
    PairingEvent,
    WrongCodeTyped,
    WrongGuess,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    import grpc
    from homing_crypto.trust import TrustStore

    from homing_node.describe import NodeFacts
    from homing_node.devices.desk import DeviceDesk
    from homing_node.generations.runner import Generations
    from homing_node.models.pool import ModelPool

    Context = grpc.aio.ServicerContext[Any, Any]

_OFFERS = {
    wire.PAIRING_CODE_OFFER_UNSPECIFIED: CodeOffer.NONE,
    wire.PAIRING_CODE_OFFER_ASK: CodeOffer.ASK,
    wire.PAIRING_CODE_OFFER_ACCEPT: CodeOffer.ACCEPT,
}
MOST_PAIRING_SECONDS = 180


class Pairing(Protocol):
    """Opens the pairing server."""

    def open(
        self, role: DeviceRole, seconds: int, offer: CodeOffer
    ) -> AsyncGenerator[PairingEvent, None]:
        """Open it and follow it until it closes; closing the generator closes it."""
        ...


class ControlService(control_pb2_grpc.NodeControlServiceServicer):
    """See `control.proto`.

    Args:
        facts: who the node is.
        addresses: where it is reached, best first; asked anew each time.
        models: what it serves.
        generations: how busy it is.
        store: whom it knows.
        pairing: lets a new device in.
        desk: changes devices.
        stop: asks the daemon to leave.
    """

    def __init__(  # noqa: PLR0913  # it is the one window onto the whole daemon
        self,
        *,
        facts: NodeFacts,
        addresses: Callable[[], tuple[str, ...]],
        models: ModelPool,
        generations: Generations,
        store: TrustStore,
        pairing: Pairing,
        desk: DeviceDesk,
        stop: asyncio.Event,
    ) -> None:
        """Keep where to look."""
        self._facts = facts
        self._addresses = addresses
        self._models = models
        self._generations = generations
        self._store = store
        self._pairing = pairing
        self._desk = desk
        self._stop = stop

    async def GetDaemon(  # noqa: N802  # the wire's name
        self, request: wire.GetDaemonRequest, context: Context
    ) -> wire.GetDaemonResponse:
        """How the daemon is."""
        del request, context
        return wire.GetDaemonResponse(
            version=self._facts.version,
            pid=os.getpid(),
            node_id=self._facts.id,
            name=self._facts.name,
            addresses=self._addresses(),
            models=[encode_served_model(model) for model in served_models(self._models)],
            load=encode_load(node_load(self._models, self._generations)),
        )

    async def OpenPairing(  # noqa: N802  # the wire's name
        self, request: wire.OpenPairingRequest, context: Context
    ) -> AsyncGenerator[wire.OpenPairingResponse, None]:
        """Open the pairing server; it closes when this stream is given up."""
        del context
        role = decode_device_role(request.role)
        seconds = min(request.seconds or MOST_PAIRING_SECONDS, MOST_PAIRING_SECONDS)
        offer = _OFFERS.get(request.code, CodeOffer.ASK)
        if role is DeviceRole.PEER:  # a home is let in by its link alone
            offer = CodeOffer.NONE
        async with contextlib.aclosing(self._pairing.open(role, seconds, offer)) as events:
            async for event in events:
                yield _encode_pairing(event)

    async def ListPairedDevices(  # noqa: N802  # the wire's name
        self, request: wire.ListPairedDevicesRequest, context: Context
    ) -> wire.ListPairedDevicesResponse:
        """Every device that was not revoked, oldest first."""
        del request, context
        devices = await asyncio.to_thread(self._store.devices)
        return wire.ListPairedDevicesResponse(
            devices=[encode_device(self._desk.view(device)) for device in devices if device.listed]
        )

    async def RevokePairedDevice(  # noqa: N802  # the wire's name
        self, request: wire.RevokePairedDeviceRequest, context: Context
    ) -> wire.RevokePairedDeviceResponse:
        """Shut a device out: stored first, then everything of it that is under way ends."""
        del context
        device_id = await find_device(self._store, request.id_prefix)
        device, *_ = await self._desk.revoke(device_id, CONSOLE)
        return wire.RevokePairedDeviceResponse(device=encode_device(self._desk.view(device)))

    async def StopDaemon(  # noqa: N802  # the wire's name
        self, request: wire.StopDaemonRequest, context: Context
    ) -> wire.StopDaemonResponse:
        """Leave, as after SIGTERM."""
        del request, context
        self._stop.set()
        return wire.StopDaemonResponse()


def _encode_pairing(event: PairingEvent) -> wire.OpenPairingResponse:
    match event:
        case Opened():
            opened = wire.PairingOpened(
                link=event.link, expires_at=event.expires_at, code=event.code
            )
            return wire.OpenPairingResponse(opened=opened)
        case WrongGuess():
            return wire.OpenPairingResponse(wrong_guess_left=event.left)
        case WrongCodeTyped():
            return wire.OpenPairingResponse(wrong_code_left=event.left)
        case Asks():
            asks = wire.PairingAsk(
                attempt_id=event.attempt_id,
                name=event.name,
                device_id=event.device_id,
                expires_at=event.expires_at,
            )
            return wire.OpenPairingResponse(asks=asks)
        case Paired():
            return wire.OpenPairingResponse(paired=encode_device(event.device))
        case Closed():
            return wire.OpenPairingResponse(closed=event.reason)
