"""How callers come to the main port: by the front door, or to gRPC directly."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from homing_core.errors import UnpairedError

from homing_node.binding import bind_tls, listen
from homing_node.devices.checks import FloodError
from homing_node.door.events import Caps
from homing_node.door.front_door import DoorSettings, FrontDoor
from homing_node.door.process import prepare_folder

if TYPE_CHECKING:
    import grpc.aio
    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.errors import HomingError
    from homing_core.ids import DeviceId
    from homing_crypto.guard import Caller

    from homing_node.config import NodeConfig
    from homing_node.devices.desk import Work
    from homing_node.devices.refusals import Refusals

_PORT_KEY = "--port"
TOLD_S: Final = 2.0
"""Seconds in which a device that was shut out can still be told so on the connection it has."""

_MOST_LEAVING: Final = 1024
"""Connections of which it is remembered that they are being cut: more than there can be at once."""


def hybrid_required(config: NodeConfig) -> bool:
    """Whether callers must use the post-quantum key exchange."""
    return config.security.post_quantum == "required"


class Entrance:
    """The way to one node's main port. Belongs to one event loop.

    Args:
        paths: where a door finds a private folder.
        config: `[listen]`, `[door]` and `[security]`.
        refusals: told of connections that were of no use.
    """

    def __init__(self, paths: ProgramPaths, config: NodeConfig, refusals: Refusals) -> None:
        """Closed."""
        self._paths = paths
        self._config = config
        self._refusals = refusals
        self._door: FrontDoor | None = None
        self._leaving: OrderedDict[str, None] = OrderedDict()

    @property
    def door(self) -> FrontDoor | None:
        """The door, if this node has one."""
        return self._door

    def attach(self, server: grpc.aio.Server, credentials: grpc.ServerCredentials) -> int:
        """Open the port and lead it to `server`, which is not yet started; the port.

        Raises:
            ConflictError: the port is in use.
            UsageError: the address is not this machine's, or there is no place for the door.
        """
        host, port = self._config.listen.host, self._config.listen.port
        if not self._config.door.enabled:
            return bind_tls(server, host, port, credentials, _PORT_KEY)
        listener, port = listen(host, port, _PORT_KEY)
        try:
            settings = DoorSettings(_caps(self._config), hybrid_required(self._config))
            folder = prepare_folder(self._paths)
            self._door = FrontDoor(folder, (listener,), settings, self._refusals.connection)
            server.add_secure_port(self._door.upstream, credentials)
        except BaseException:
            listener.close()
            raise
        return port

    async def start(self) -> None:
        """Let callers in; the server has started.

        Raises:
            UnavailableError: the door does not start.
        """
        if self._door is not None:
            await self._door.start()

    async def close(self, grace_s: float) -> None:
        """Let nobody in any more, and cut those who stay longer than the grace."""
        if self._door is not None:
            await self._door.close(grace_s)

    def hanging_up(self, work: Work) -> Work:
        """The same work; who is let in no more also loses its connections, soon after its calls."""
        return _HangingUp(work, self)

    def expel(self, account: DeviceId) -> None:
        """End all connections of a device that was shut out."""
        if self._door is not None:
            self._door.expel(account)

    def refused(self, peer: str, error: HomingError) -> None:
        """A call was refused; see `RpcGuard`. Whoever only makes calls to be refused is cut."""
        if self._door is None or peer in self._leaving:
            return
        if isinstance(error, FloodError):
            self._leave(peer)
            self._door.dismiss(peer)  # the door may not know yet whose it is
            self._door.expel(error.account)
        elif isinstance(error, UnpairedError):  # whatever it was, it is let in no more
            self._leave(peer)
            asyncio.get_running_loop().call_later(TOLD_S, self._door.dismiss, peer)

    def _leave(self, peer: str) -> None:
        self._leaving[peer] = None
        if len(self._leaving) > _MOST_LEAVING:
            self._leaving.popitem(last=False)

    def allowed(self, peer: str, caller: Caller) -> None:
        """A call was let in; see `RpcGuard`."""
        if self._door is not None:
            self._door.allowed(peer, caller)


class _HangingUp:
    def __init__(self, work: Work, entrance: Entrance) -> None:
        self._work = work
        self._entrance = entrance

    async def end(self, account: DeviceId, error: HomingError | None = None) -> int:
        """See `homing_node.devices.desk.Work.end`."""
        ended = await self._work.end(account, error)
        if error is None or isinstance(error, UnpairedError):
            asyncio.get_running_loop().call_later(TOLD_S, self._entrance.expel, account)
        return ended


def _caps(config: NodeConfig) -> Caps:
    section = config.door
    return Caps(
        outside=section.waiting,
        outside_each=section.waiting_per_address,
        inside=section.unproven,
        inside_each=section.unproven_per_address,
        proven_each=section.per_device,
        hello_s=section.hello_seconds,
        turn_s=section.proof_seconds,
        proof_s=section.proof_seconds,
    )
