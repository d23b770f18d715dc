"""The door for new devices: opens one pairing at a time, with its port and its announcement."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_core.access import DeviceRole
from homing_core.addresses import parse_address
from homing_core.errors import ConflictError
from homing_crypto.credentials import pairing_server_credentials
from homing_crypto.pairing.link import LinkKind, PairingLink
from homing_crypto.pairing.machine import LINGER_S, MAX_PAIRING_S, NodeSide

from homing_node.addresses import dialable
from homing_node.background import announce, end
from homing_node.binding import bind_tls
from homing_node.pairing.by_code import CodeWay
from homing_node.pairing.by_link import LinkSecret, LinkWay
from homing_node.pairing.window import Window
from homing_node.rpc.code_pairing_service import add_code_pairing
from homing_node.rpc.pairing_service import PairingService
from homing_node.rpc.servers import pairing_server
from homing_node.values import Closed, CodeOffer, Opened, Paired, PairingEvent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    import grpc.aio
    from homing_core.ids import DeviceId
    from homing_discovery.boundaries import Announcer

    from homing_node.config import NodeConfig
    from homing_node.describe import Identities
    from homing_node.pairing.window import PairingParts

LINK_ADDRESSES = 3
"""Addresses in a link: more would make the QR code hard to scan."""

_GRACE_S = 1.0
"""How long the answer to the last guess may take to be sent."""

_log = get_logger(__name__)


class PairingDoor:
    """Lets new devices in, one at a time. Belongs to one event loop.

    Args:
        identities: the node's own; a pairing begins with the present one and ends with it.
        parts: what each pairing needs of the node.
        config: host and port to listen on.
        addresses: of the main port, `host:port`, best first; asked anew each time.
        announcer: makes what announces a port where a code is offered; None where mDNS is off.
    """

    def __init__(
        self,
        *,
        identities: Identities,
        parts: PairingParts,
        config: NodeConfig,
        addresses: Callable[[], tuple[str, ...]],
        announcer: Callable[[int], Announcer] | None = None,
    ) -> None:
        """Closed."""
        self._identities = identities
        self._parts = parts
        self._config = config
        self._addresses = addresses
        self._announcer = announcer
        self._open = False
        self._code: CodeWay | None = None
        self._lingering: asyncio.Task[None] | None = None

    async def open(
        self, role: DeviceRole, seconds: int, offer: CodeOffer = CodeOffer.NONE
    ) -> AsyncGenerator[PairingEvent, None]:
        """Open the door and follow what happens until it closes.

        The device that was let in may ask again for a little while, because the answer may have
        been lost on its way.

        Raises:
            ConflictError: it is open already, or the port is in use.
        """
        if self._open:
            msg = "pairing is already open"
            raise ConflictError(msg, "Use the link that is shown, or close that window first.")
        self._open = True
        try:
            await self._end_lingering()
            async with contextlib.aclosing(self._follow(role, seconds, offer)) as events:
                async for event in events:
                    yield event
        finally:
            self._open = False
            self._code = None

    def decide(self, attempt_id: str, *, allow: bool) -> None:
        """Say whether a device that knows the code may come in; a second answer changes nothing.

        Raises:
            ConflictError: nobody waits for this answer.
        """
        if self._code is None:
            msg = "no pairing is open"
            raise ConflictError(msg, "Open a new one: homing-node pair.")
        self._code.decide(attempt_id, allow=allow)

    async def close(self) -> None:
        """Close for good."""
        await self._end_lingering()

    async def _follow(
        self, role: DeviceRole, seconds: int, offer: CodeOffer
    ) -> AsyncGenerator[PairingEvent, None]:
        secret, identity = LinkSecret(), self._identities.current
        duration = min(seconds, MAX_PAIRING_S) if seconds > 0 else MAX_PAIRING_S
        window = Window(self._parts, identity, secret.id, duration)
        node = NodeSide.of(identity, self._parts.name, self._addresses())

        def won(device_id: DeviceId) -> None:
            link.taken(device_id)
            code.taken(device_id)

        def void() -> None:
            if link.burned and code.burned:
                window.tell(Closed("too many wrong guesses"))

        link = LinkWay(window, node, role, secret, duration, won, void)
        code = self._code = CodeWay(window, node, role, offer, link.expires_at, won, void)
        server = pairing_server(PairingService(link.decide), more=[add_code_pairing(code)])
        credentials = pairing_server_credentials(identity)
        listen, fixed = self._config.listen, self._config.pairing.port
        port = bind_tls(server, listen.host, fixed, credentials, "[pairing] port")
        shown = PairingLink(
            addresses=tuple(map(parse_address, dialable(listen, port, main=False)))[
                :LINK_ADDRESSES
            ],
            certificate_sha256=identity.certificate.sha256,
            secret=secret.value,
            expires_at=int(link.expires_at),
            kind=LinkKind.PEER if role is DeviceRole.PEER else LinkKind.PHONE,
        )
        try:
            await server.start()
            _log.info("pairing.opened", port=port, role=role.value, code=code.offered)
            async with self._announced(port, offer):
                yield Opened(shown.to_text(), shown.expires_at, code.code)
                while True:
                    event = await window.next_event()
                    if isinstance(event, Closed):  # whoever reads this must find it closed
                        await _close(server, code)
                    yield event
                    if isinstance(event, Closed | Paired):
                        break
        finally:
            if window.paired:
                self._lingering = asyncio.create_task(_linger(server))
            else:
                await _close(server, code)
            _log.info("pairing.closed")

    @contextlib.asynccontextmanager
    async def _announced(self, port: int, offer: CodeOffer) -> AsyncGenerator[None]:
        """A code does not say where the node is, so the network does, as long as it is open."""
        if self._announcer is None or offer is CodeOffer.NONE:
            yield
            return
        task = asyncio.create_task(announce(self._announcer(port)))
        try:
            yield
        finally:
            await end(task)

    async def _end_lingering(self) -> None:
        task, self._lingering = self._lingering, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def _close(server: grpc.aio.Server, code: CodeWay) -> None:
    """Let nobody in any more, and answer whoever is still there."""
    code.end()
    await code.farewell()
    await server.stop(_GRACE_S)


async def _linger(server: grpc.aio.Server) -> None:
    try:
        await asyncio.sleep(LINGER_S)
    finally:
        await server.stop(None)
