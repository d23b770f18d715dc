"""The recovery secret on the daemon's local socket: the service, and the command line's side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.errors import InvalidDataError
from homing_proto.v1 import recovery_pb2 as wire
from homing_proto.v1 import recovery_pb2_grpc

from homing_node.devices.recovery import RecoveryState
from homing_node.rpc.control_client import TIMEOUT_S, daemon_errors

if TYPE_CHECKING:
    import grpc.aio

    from homing_node.devices.recovery import Recovery
    from homing_node.rpc.servers import AddTo

    Context = grpc.aio.ServicerContext[Any, Any]

_MOST_CHARS = 100


class RecoveryService(recovery_pb2_grpc.RecoveryControlServiceServicer):
    """See `recovery.proto`.

    Args:
        recovery: makes and keeps it.
    """

    def __init__(self, recovery: Recovery) -> None:
        """Keep who does it."""
        self._recovery = recovery

    async def GetRecovery(  # noqa: N802  # the wire's name
        self, request: wire.GetRecoveryRequest, context: Context
    ) -> wire.GetRecoveryResponse:
        """Whether there is one."""
        del request, context
        state = await self._recovery.state()
        return wire.GetRecoveryResponse(made_at=state.made_at, shown=state.shown)

    async def MakeRecovery(  # noqa: N802  # the wire's name
        self, request: wire.MakeRecoveryRequest, context: Context
    ) -> wire.MakeRecoveryResponse:
        """A new one."""
        del context
        secret, state = await self._recovery.make(if_missing=request.if_missing)
        return wire.MakeRecoveryResponse(secret=secret, made_at=state.made_at)

    async def ConfirmRecovery(  # noqa: N802  # the wire's name
        self, request: wire.ConfirmRecoveryRequest, context: Context
    ) -> wire.ConfirmRecoveryResponse:
        """A person has seen it."""
        del context
        await self._recovery.confirm(request.made_at)
        return wire.ConfirmRecoveryResponse()


def add_recovery_service(recovery: Recovery) -> AddTo:
    """What puts the service on a server."""

    def add(server: grpc.aio.Server) -> None:
        recovery_pb2_grpc.add_RecoveryControlServiceServicer_to_server(
            RecoveryService(recovery), server
        )

    return add


class RecoveryClient:
    """The command line's side. Every method raises `HomingError`.

    Args:
        channel: an open one to the daemon's local socket.
    """

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Make the stub."""
        self._stub = recovery_pb2_grpc.RecoveryControlServiceStub(channel)

    async def state(self) -> RecoveryState:
        """Whether there is one."""
        with daemon_errors():
            found = await self._stub.GetRecovery(wire.GetRecoveryRequest(), timeout=TIMEOUT_S)
        return RecoveryState(found.made_at, found.shown)

    async def make(self, *, if_missing: bool = False) -> tuple[str, int]:
        """A new secret, empty if there was one, and when the one that counts was made."""
        with daemon_errors():
            request = wire.MakeRecoveryRequest(if_missing=if_missing)
            found = await self._stub.MakeRecovery(request, timeout=TIMEOUT_S)
        if len(found.secret) > _MOST_CHARS or not found.secret.isascii():
            msg = "the daemon said something that is no recovery secret"
            raise InvalidDataError(msg, "Restart the daemon: it may be of another version.")
        return found.secret, found.made_at

    async def confirm(self, made_at: int) -> None:
        """The person was shown it."""
        with daemon_errors():
            await self._stub.ConfirmRecovery(
                wire.ConfirmRecoveryRequest(made_at=made_at), timeout=TIMEOUT_S
            )
