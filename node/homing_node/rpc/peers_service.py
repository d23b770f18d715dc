"""A node's main port towards homes that push, and phones that ask for peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.errors import InvalidDataError
from homing_core.provenance import Sensitivity
from homing_crypto.introductions import MAX_SERIAL
from homing_crypto.rpc_guard import current_caller
from homing_proto.codec.access import encode_scopes
from homing_proto.codec.common import encode_sensitivity
from homing_proto.v1 import devices_pb2 as wire
from homing_proto.v1 import devices_pb2_grpc

from homing_node.rpc.peers_codec import decode_device_ids, decode_introductions, encode_taken

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import grpc
    from homing_core.ids import DeviceId

    from homing_node.peers.homes import Homes
    from homing_node.peers.offers import Offer

    Context = grpc.aio.ServicerContext[Any, Any]


class PeersService(devices_pb2_grpc.PeersServiceServicer):
    """See `devices.proto`.

    Args:
        homes: takes what homes say.
        offers: the peers that took a device.
        addresses: where this node is reached, best first; asked anew each time.
    """

    def __init__(
        self,
        homes: Homes,
        offers: Callable[[DeviceId], Awaitable[tuple[Offer, ...]]],
        addresses: Callable[[], tuple[str, ...]],
    ) -> None:
        """Keep where to look."""
        self._homes = homes
        self._offers = offers
        self._addresses = addresses

    def add_to(self, server: grpc.aio.Server) -> None:
        """Serve on a server."""
        devices_pb2_grpc.add_PeersServiceServicer_to_server(self, server)

    async def PushIntroductions(  # noqa: N802  # the wire's name
        self, request: wire.PushIntroductionsRequest, context: Context
    ) -> wire.PushIntroductionsResponse:
        """Add or renew devices for which the calling home vouches."""
        del context
        introductions = decode_introductions(request.introductions)
        taken = await self._homes.push(current_caller(), introductions)
        return encode_taken(taken, self._addresses())

    async def WithdrawIntroductions(  # noqa: N802  # the wire's name
        self, request: wire.WithdrawIntroductionsRequest, context: Context
    ) -> wire.WithdrawIntroductionsResponse:
        """Shut devices out for which the calling home vouches no more."""
        del context
        if not 0 < request.serial < MAX_SERIAL:
            msg = "this withdrawal is malformed"
            raise InvalidDataError(msg, "Both sides may run different versions of Homing.")
        ids = decode_device_ids(request.device_ids)
        ended = await self._homes.withdraw(current_caller(), ids, request.serial)
        return wire.WithdrawIntroductionsResponse(serial=ended.serial)

    async def ListPeers(  # noqa: N802  # the wire's name
        self, request: wire.ListPeersRequest, context: Context
    ) -> wire.ListPeersResponse:
        """The peers that took the calling phone."""
        del request, context
        return wire.ListPeersResponse(
            peers=[_peer(offer) for offer in await self._offers(current_caller().id)]
        )


def _peer(offer: Offer) -> wire.Peer:
    return wire.Peer(
        node_id=offer.node.id,
        certificate_der=offer.node.certificate_der,
        name=offer.node.name,
        addresses=offer.addresses,
        accepts=encode_sensitivity(Sensitivity.TRUSTED_PEERS),
        lease_expires_at=offer.lease_expires_at,
        scopes=encode_scopes(offer.scopes),
    )
