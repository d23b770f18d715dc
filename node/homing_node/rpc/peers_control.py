"""Peers on the daemon's local service: its servicer and the command line's side of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import grpc.aio
from homing_agent.runtime.localsocket import open_local_channel
from homing_core.errors import UnavailableError
from homing_core.ids import parse_device_id
from homing_core.labels import clean_label
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec import limits
from homing_proto.codec.access import decode_limits, decode_scopes, encode_limits, encode_scopes
from homing_proto.codec.common import decode_error, encode_error
from homing_proto.codec.fields import EnumTable
from homing_proto.v1 import peers_control_pb2 as wire
from homing_proto.v1 import peers_control_pb2_grpc

from homing_node.peers.views import HomeView, PeerView, SharedView, Standing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable

    from homing_agent.runtime.paths import ProgramPaths

    from homing_node.peers.sharing import Sharing

    Context = grpc.aio.ServicerContext[Any, Any]

_TIMEOUT_S: Final = 10.0
_WITH_PEER_S: Final = 60.0
"""Pairing and telling a peer take a while where it is far away."""

_STANDINGS = EnumTable(
    "device's standing",
    {
        Standing.TAKEN: wire.SHARING_STATE_TAKEN,
        Standing.WAITING: wire.SHARING_STATE_WAITING,
        Standing.REFUSED: wire.SHARING_STATE_REFUSED,
        Standing.WITHDRAWING: wire.SHARING_STATE_WITHDRAWING,
    },
)


class PeersControlService(peers_control_pb2_grpc.NodePeersControlServiceServicer):
    """See `peers_control.proto`.

    Args:
        sharing: looks after peers.
    """

    def __init__(self, sharing: Sharing) -> None:
        """Keep who does it."""
        self._sharing = sharing

    def add_to(self, server: grpc.aio.Server) -> None:
        """Serve on a server."""
        peers_control_pb2_grpc.add_NodePeersControlServiceServicer_to_server(self, server)

    async def AddPeer(  # noqa: N802  # the wire's name
        self, request: wire.AddPeerRequest, context: Context
    ) -> wire.AddPeerResponse:
        """Pair with a peer, and introduce devices to it."""
        del context
        view = await self._sharing.add(request.link, request.name)
        return wire.AddPeerResponse(peer=_encode_peer(view))

    async def ListNodePeers(  # noqa: N802  # the wire's name
        self, request: wire.ListNodePeersRequest, context: Context
    ) -> wire.ListNodePeersResponse:
        """Both directions."""
        del request, context
        peers, homes = await self._sharing.views()
        return wire.ListNodePeersResponse(
            peers=map(_encode_peer, peers), homes=map(_encode_home, homes)
        )

    async def RemovePeer(  # noqa: N802  # the wire's name
        self, request: wire.RemovePeerRequest, context: Context
    ) -> wire.RemovePeerResponse:
        """Take everything back there, then forget it."""
        del context
        view, gone = await self._sharing.remove(request.peer)
        return wire.RemovePeerResponse(peer=_encode_peer(view), gone=gone)

    async def SharePeer(  # noqa: N802  # the wire's name
        self, request: wire.SharePeerRequest, context: Context
    ) -> wire.SharePeerResponse:
        """Change whose devices are introduced there."""
        del context
        view = await self._sharing.share(
            request.peer,
            guests=request.guests if request.HasField("guests") else None,
            add=request.add,
            drop=request.drop,
        )
        return wire.SharePeerResponse(peer=_encode_peer(view))


class PeersControl:
    """The command line's side. Every method raises `HomingError`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Use `connect`."""
        self._stub = peers_control_pb2_grpc.NodePeersControlServiceStub(channel)

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(
        cls, paths: ProgramPaths, start_with: str = "homing-node run"
    ) -> AsyncGenerator[PeersControl]:
        """Raises `UnavailableError` if no daemon runs there; `start_with` is what to try."""
        async with open_local_channel(paths, start_with) as channel:
            yield cls(channel)

    async def add(self, link: str, name: str = "") -> PeerView:
        """Pair with a peer."""
        with _errors():
            request = wire.AddPeerRequest(link=link, name=name)
            answer = await self._stub.AddPeer(request, timeout=_WITH_PEER_S)
        return _decode_peer(answer.peer)

    async def views(self) -> tuple[tuple[PeerView, ...], tuple[HomeView, ...]]:
        """Both directions."""
        with _errors():
            answer = await self._stub.ListNodePeers(wire.ListNodePeersRequest(), timeout=_TIMEOUT_S)
        return tuple(map(_decode_peer, answer.peers)), tuple(map(_decode_home, answer.homes))

    async def remove(self, peer: str) -> tuple[PeerView, bool]:
        """Leave a peer; whether that is done already."""
        with _errors():
            request = wire.RemovePeerRequest(peer=peer)
            answer = await self._stub.RemovePeer(request, timeout=_WITH_PEER_S)
        return _decode_peer(answer.peer), answer.gone

    async def share(
        self,
        peer: str,
        *,
        guests: bool | None = None,
        add: Iterable[str] = (),
        drop: Iterable[str] = (),
    ) -> PeerView:
        """Change whose devices are introduced."""
        with _errors():
            request = wire.SharePeerRequest(peer=peer, guests=guests, add=add, drop=drop)
            answer = await self._stub.SharePeer(request, timeout=_WITH_PEER_S)
        return _decode_peer(answer.peer)


def _encode_peer(view: PeerView) -> wire.NodePeer:
    return wire.NodePeer(
        id=view.id,
        name=view.name,
        addresses=view.addresses,
        pushed_at=int(view.pushed_at),
        error=encode_error(view.error) if view.error else None,
        guests=view.guests,
        leaving=view.leaving,
        devices=[
            wire.SharedDevice(
                device_id=one.id,
                name=one.name,
                state=_STANDINGS.encode(one.standing),
                lease_expires_at=one.lease_expires_at,
                reason=one.reason,
            )
            for one in view.devices
        ],
    )


def _decode_peer(message: wire.NodePeer) -> PeerView:
    return PeerView(
        id=parse_device_id(message.id),
        name=clean_label(message.name),
        addresses=tuple(message.addresses),
        pushed_at=message.pushed_at,
        error=decode_error(message.error) if message.HasField("error") else None,
        guests=message.guests,
        leaving=message.leaving,
        devices=tuple(
            SharedView(
                parse_device_id(one.device_id),
                clean_label(one.name, fallback=""),
                _STANDINGS.decode(one.state),
                one.lease_expires_at,
                clean_label(one.reason, limits.MAX_LINE_CHARS, fallback=""),
            )
            for one in message.devices
        ),
    )


def _encode_home(view: HomeView) -> wire.NodeHome:
    return wire.NodeHome(
        id=view.id,
        name=view.name,
        devices=view.devices,
        most_devices=view.most_devices,
        scopes=encode_scopes(view.scopes),
        limits=encode_limits(view.limits),
        last_seen_at=int(view.last_seen_at),
    )


def _decode_home(message: wire.NodeHome) -> HomeView:
    return HomeView(
        id=parse_device_id(message.id),
        name=clean_label(message.name),
        devices=message.devices,
        most_devices=message.most_devices,
        scopes=decode_scopes(message.scopes),
        limits=decode_limits(message.limits, limits.MAX_LIMIT_PATTERNS),
        last_seen_at=message.last_seen_at,
    )


@contextlib.contextmanager
def _errors() -> Generator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        found = error_from_rpc(error)
        if isinstance(found, UnavailableError) and error.code() is grpc.StatusCode.CANCELLED:
            msg = "the daemon ended during the call"
            raise UnavailableError(msg, "Start it with: homing-node run") from error
        raise found from error
