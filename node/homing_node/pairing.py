"""The pairing server: opened for one device, for three minutes at most.

It decides nothing: `homing_crypto.pairing.machine` does. Here are its port, its clock and its end.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_core.addresses import parse_address
from homing_core.errors import ConflictError, HomingError
from homing_crypto.audit.records import CONSOLE
from homing_crypto.credentials import pairing_server_credentials
from homing_crypto.pairing.link import PairingLink, new_secret
from homing_crypto.pairing.machine import (
    LINGER_S,
    NodeSide,
    answer_to,
    open_pairing,
    step,
)
from homing_crypto.pairing.outcomes import Accepted, WrongProof, refusal

from homing_node.addresses import dialable
from homing_node.binding import bind_tls
from homing_node.rpc.device_codec import view_device
from homing_node.rpc.pairing_service import PairingService
from homing_node.rpc.servers import pairing_server
from homing_node.values import Closed, Opened, Paired, PairingEvent, WrongGuess

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    import grpc.aio
    from homing_core.access import DeviceRole
    from homing_core.clock import Clock
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.pairing.machine import Pairing
    from homing_crypto.pairing.proof import PairAnswer, PairAttempt
    from homing_crypto.trust import TrustStore

    from homing_node.config import NodeConfig
    from homing_node.describe import Identities
    from homing_node.devices.desk import DeviceDesk

LINK_ADDRESSES = 3
"""Addresses in a link: more would make the QR code hard to scan."""

_GRACE_S = 1.0
"""How long the answer to the last guess may take to be sent."""

_log = get_logger(__name__)


class PairingDoor:
    """Lets new devices in, one at a time. Belongs to one event loop.

    Args:
        identities: the node's own; a pairing begins with the present one and ends with it.
        store: where a paired device goes; the main port's bundle follows it by itself.
        desk: told of it.
        clock: for deadlines that people see.
        config: host and port to listen on.
        name: the node's, for people.
        addresses: of the main port, `host:port`, best first; asked anew each time.
    """

    def __init__(  # noqa: PLR0913  # each is a boundary of its own
        self,
        *,
        identities: Identities,
        store: TrustStore,
        desk: DeviceDesk,
        clock: Clock,
        config: NodeConfig,
        name: str,
        addresses: Callable[[], tuple[str, ...]],
    ) -> None:
        """Closed."""
        self._identities = identities
        self._store = store
        self._desk = desk
        self._clock = clock
        self._config = config
        self._name = name
        self._addresses = addresses
        self._open = False
        self._lingering: asyncio.Task[None] | None = None

    async def open(self, role: DeviceRole, seconds: int) -> AsyncGenerator[PairingEvent, None]:
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
            identity = self._identities.current
            session = _Session(identity, self._store, self._desk, self._clock, self._name)
            async with contextlib.aclosing(self._follow(session, role, seconds)) as events:
                async for event in events:
                    yield event
        finally:
            self._open = False

    async def close(self) -> None:
        """Close for good."""
        await self._end_lingering()

    async def _follow(
        self, session: _Session, role: DeviceRole, seconds: int
    ) -> AsyncGenerator[PairingEvent, None]:
        server = pairing_server(PairingService(session.decide))
        listen = self._config.listen.host
        credentials = pairing_server_credentials(session.identity)
        port = bind_tls(server, listen, self._config.pairing.port, credentials, "[pairing] port")
        link = session.open(
            role, seconds, dialable(self._config.listen, port, main=False), self._addresses()
        )
        ends = asyncio.get_running_loop().time() + max(session.expires_at - self._clock.now(), 0)
        try:
            await server.start()
            _log.info("pairing.opened", port=port, role=role.value)
            yield Opened(link.to_text(), link.expires_at)
            while True:
                event = await session.next_event(ends)
                if isinstance(event, Closed):  # whoever reads this must find it closed
                    await server.stop(_GRACE_S)
                yield event
                if not isinstance(event, WrongGuess):
                    break
        finally:
            if session.paired:
                self._lingering = asyncio.create_task(_linger(server))
            else:
                await server.stop(None)
            _log.info("pairing.closed")

    async def _end_lingering(self) -> None:
        task, self._lingering = self._lingering, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class _Session:
    """One pairing: the machine's state, and what happened as a queue."""

    def __init__(
        self,
        identity: DeviceIdentity,
        store: TrustStore,
        desk: DeviceDesk,
        clock: Clock,
        name: str,
    ) -> None:
        self.identity = identity
        self._store = store
        self._desk = desk
        self._clock = clock
        self._name = name
        self._events: asyncio.Queue[PairingEvent] = asyncio.Queue()
        self._pairing: Pairing | None = None
        self.expires_at = 0.0
        self.paired = False

    def open(
        self,
        role: DeviceRole,
        seconds: int,
        dial: tuple[str, ...],
        main: tuple[str, ...],
    ) -> PairingLink:
        """Start the machine; the link that goes with it."""
        secret = new_secret()
        node = NodeSide.of(self.identity, self._name, main)
        self._pairing = open_pairing(node, role, secret, self._clock.now(), seconds=seconds)
        self.expires_at = self._pairing.expires_at
        return PairingLink(
            addresses=tuple(parse_address(text) for text in dial[:LINK_ADDRESSES]),
            certificate_sha256=self.identity.certificate.sha256,
            secret=secret,
            expires_at=int(self.expires_at),
        )

    async def decide(self, attempt: PairAttempt) -> PairAnswer:
        """Answer one attempt. The machine moves before anything is awaited, so two cannot win."""
        if self._pairing is None:
            msg = "pairing is not open"
            raise ConflictError(msg, "Open it on the node: homing-node pair.")
        used = self._store.link_used(attempt.link_id)
        self._pairing, outcome = step(self._pairing, attempt, self._clock.now(), used_before=used)
        if not isinstance(outcome, Accepted):
            if isinstance(outcome, WrongProof):
                _log.warning("pairing.wrong_guess", left=outcome.left)
                self._events.put_nowait(WrongGuess(outcome.left))
                if outcome.left == 0:
                    self._events.put_nowait(Closed("too many wrong guesses"))
            raise refusal(outcome)
        pairing = self._pairing
        try:
            stored = await self._desk.admit(outcome.device, CONSOLE, pairing.link_id)
        except HomingError as error:
            _log.error("pairing.not_stored", code=error.code.value, what=error.what)
            raise
        if not self.paired:
            self.paired = True
            _log.info("pairing.paired", device=stored.id, role=stored.role.value)
            self._events.put_nowait(Paired(view_device(stored)))
        return answer_to(pairing, attempt, stored)

    async def next_event(self, ends: float) -> PairingEvent:
        """What happens next, or that the time is over."""
        try:
            async with asyncio.timeout_at(ends):
                return await self._events.get()
        except TimeoutError:
            return Closed("nobody came in time")


async def _linger(server: grpc.aio.Server) -> None:
    try:
        await asyncio.sleep(LINGER_S)
    finally:
        await server.stop(None)
