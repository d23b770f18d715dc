"""The standard gRPC health service, kept in step with the model. Its library is untyped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpc_health.v1 import (  # type: ignore[import-untyped]  # no stubs
    health,
    health_pb2,
    health_pb2_grpc,
)

if TYPE_CHECKING:
    import grpc.aio


class Health:
    """Says whether the node can serve: not before its model is there, and not while it stops."""

    def __init__(self) -> None:
        """Not serving yet."""
        library: Any = health
        self._servicer: Any = library.aio.HealthServicer()

    def serve_on(self, server: grpc.aio.Server) -> None:
        """Add the service to a server."""
        stubs: Any = health_pb2_grpc
        stubs.add_HealthServicer_to_server(self._servicer, server)

    async def set(self, *, serving: bool) -> None:
        """Tell whoever asks or watches."""
        states: Any = health_pb2.HealthCheckResponse
        await self._servicer.set("", states.SERVING if serving else states.NOT_SERVING)
