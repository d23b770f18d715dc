"""A home's calls to one peer; every failure is a `HomingError`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import grpc.aio
from homing_core.errors import UnavailableError
from homing_crypto.presence import closed_after_proof
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec.nodes import decode_node_info
from homing_proto.v1 import devices_pb2, devices_pb2_grpc, node_pb2, node_pb2_grpc

from homing_node.rpc.peers_codec import PushAnswer, decode_push_answer, encode_introduction

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from homing_core.ids import DeviceId
    from homing_core.nodes import NodeInfo
    from homing_crypto.introductions import Introduction

_CALL_S: Final = 10.0


class ClosedAtOnceError(UnavailableError):
    """Somebody took the connection and closed it, as a node does that does not know us."""


class PeerCalls:
    """The peer's services on a channel that is already pinned to its key.

    Args:
        channel: see `homing_crypto.credentials.client_channel`.

    Attributes:
        channel: for other services of the peer's.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stubs."""
        self.channel = channel
        self._node = node_pb2_grpc.NodeServiceStub(channel)
        self._peers = devices_pb2_grpc.PeersServiceStub(channel)

    async def get_node(self, timeout_s: float) -> NodeInfo:
        """What the peer says of itself; fails as soon as the connection does."""
        with _plain_errors():
            answer = await self._node.GetNode(node_pb2.GetNodeRequest(), timeout=timeout_s)
        return decode_node_info(answer)

    async def push(self, introductions: Iterable[Introduction]) -> PushAnswer:
        """Add or renew introductions."""
        request = devices_pb2.PushIntroductionsRequest(
            introductions=[encode_introduction(one) for one in introductions]
        )
        with _plain_errors():
            answer = await self._peers.PushIntroductions(request, timeout=_CALL_S)
        return decode_push_answer(answer)

    async def withdraw(self, device_ids: Iterable[DeviceId], serial: int) -> int:
        """Take introductions back; the highest serial that the peer has had."""
        request = devices_pb2.WithdrawIntroductionsRequest(
            device_ids=list(device_ids), serial=serial
        )
        with _plain_errors():
            answer = await self._peers.WithdrawIntroductions(request, timeout=_CALL_S)
        return answer.serial


@contextlib.contextmanager
def _plain_errors() -> Generator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        found = error_from_rpc(error)
        if isinstance(found, UnavailableError) and closed_after_proof(error):
            raise ClosedAtOnceError(found.what, found.hint) from error
        raise found from error
