"""The three servers: the main port, the pairing port, the local socket.

All ports of one gRPC server share all services, so each has a server object of its own. Whatever is
served on any of them passes `RpcGuard`, which also turns errors into clear statuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import grpc.aio
from homing_crypto.rpc_guard import RpcGuard
from homing_crypto.rpc_requests import SMALL_BYTES, RequestLimits
from homing_crypto.transport import MAX_CONCURRENT_RPCS, SERVER_OPTIONS
from homing_proto.v1 import (
    control_pb2_grpc,
    devices_pb2_grpc,
    inference_pb2_grpc,
    node_pb2_grpc,
)

from homing_node.door.names import caller_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from homing_core.errors import HomingError
    from homing_crypto.guard import Caller, Guard
    from homing_crypto.live_calls import LiveCalls

    from homing_node.rpc.control_service import ControlService
    from homing_node.rpc.health import Health
    from homing_node.rpc.inference_service import InferenceService
    from homing_node.rpc.node_service import NodeService, ToolsService
    from homing_node.rpc.pairing_service import PairingService

_LARGE = frozenset(
    {
        "/homing_proto.v1.InferenceService/Generate",
        "/homing_proto.v1.JobsService/SubmitJob",
        "/homing_proto.v1.PeersService/PushIntroductions",
        "/homing_proto.v1.PeersService/WithdrawIntroductions",
    }
)
MAIN_REQUESTS = RequestLimits(most_bytes=SMALL_BYTES, large=_LARGE)
"""On the main port only questions, jobs and introductions are large."""
_PAIRING_RPCS = 96
_PAIRING_STREAMS = 3
"""Calls at once on one connection: a phone has one, and one more to end it."""
PAIRING_REQUESTS = RequestLimits(seconds=3.0, most_bytes=SMALL_BYTES, unread=48)
"""A pairing request has about 2 KiB. Whoever has not sent it gives way to who comes later, so that
calls without one never fill the server."""


AddTo: TypeAlias = "Callable[[grpc.aio.Server], None]"
"""Puts one more service on a server."""


def main_server(  # noqa: PLR0913, PLR0917  # each service is a part of its own
    guard: Guard,
    calls: LiveCalls,
    node: NodeService,
    inference: InferenceService,
    tools: ToolsService,
    health: Health,
    more: Iterable[AddTo] = (),
    on_allowed: Callable[[str, Caller], None] | None = None,
    on_refused: Callable[[str, HomingError], None] | None = None,
) -> grpc.aio.Server:
    """The server of the main port, for paired devices; the last two as of `RpcGuard`."""
    watched = RpcGuard(
        guard.authorize,
        calls,
        caller_address,
        on_allowed,
        on_refused=on_refused,
        requests=MAIN_REQUESTS,
    )
    server = grpc.aio.server(
        interceptors=[watched],
        options=SERVER_OPTIONS,
        maximum_concurrent_rpcs=MAX_CONCURRENT_RPCS,
    )
    node_pb2_grpc.add_NodeServiceServicer_to_server(node, server)
    inference_pb2_grpc.add_InferenceServiceServicer_to_server(inference, server)
    node_pb2_grpc.add_ToolsServiceServicer_to_server(tools, server)
    health.serve_on(server)
    for add in more:
        add(server)
    return server


def pairing_server(service: PairingService, more: Iterable[AddTo] = ()) -> grpc.aio.Server:
    """The server of the pairing port, for anyone who has the link or the code."""
    options = dict(SERVER_OPTIONS) | {
        "grpc.max_receive_message_length": SMALL_BYTES,
        "grpc.max_concurrent_streams": _PAIRING_STREAMS,
    }
    server = grpc.aio.server(
        interceptors=[RpcGuard(None, requests=PAIRING_REQUESTS)],
        options=tuple(options.items()),
        maximum_concurrent_rpcs=_PAIRING_RPCS,
    )
    devices_pb2_grpc.add_PairingServiceServicer_to_server(service, server)
    for add in more:
        add(server)
    return server


def control_server(
    service: ControlService, health: Health, more: Iterable[AddTo] = ()
) -> grpc.aio.Server:
    """The server of the local socket, for the user's own command line."""
    server = grpc.aio.server(interceptors=[RpcGuard(None)])
    control_pb2_grpc.add_NodeControlServiceServicer_to_server(service, server)
    health.serve_on(server)
    for add in more:
        add(server)
    return server
