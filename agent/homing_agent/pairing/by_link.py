"""Pairing with a node by its link. What is under way is written down before it is sent.

If the process is killed in the middle, or the answer is lost, the node may have let this device in
while the device does not know the node. The same link from the same device is welcome again, so
what was under way is tried again at the next start, as long as the link can still be good.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import structlog
from homing_core.errors import HomingError, UnavailableError
from homing_core.tools import Place
from homing_crypto.credentials import pairing_channel
from homing_crypto.nodes import PendingPairing
from homing_crypto.pairing.client import accept_answer, start_pairing
from homing_crypto.pairing.link import parse_link
from homing_crypto.pairing.pinned import fetch_certificate

from homing_agent.pairing.first_server import first_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import grpc.aio
    from homing_core.clock import Clock
    from homing_core.pairing import PairAnswer, PairAttempt
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_crypto.pairing.link import PairingLink

    Exchange: TypeAlias = Callable[[grpc.aio.Channel, PairAttempt, float], Awaitable[PairAnswer]]

PENDING_S = 15 * 60.0
"""An unanswered pairing is forgotten after this long: links live for three minutes."""
_CALL_S = 10.0
_TRIES = 3

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pairer:
    """Pairs this device with nodes.

    Attributes:
        identity: this device's.
        book: where nodes are remembered.
        clock: wall time.
        exchange: sends the attempt on a channel and gives the answer; the number is its deadline
            in seconds. Raises `HomingError`; repeating it is harmless.
        place: what the nodes are to this device.
        check: raises `HomingError` for a node that is not what was wanted; it is not remembered.
        check_link: the same for a link, before anything is written down or sent.
    """

    identity: DeviceIdentity
    book: NodeBook
    clock: Clock
    exchange: Exchange
    place: Place = Place.HOME
    check: Callable[[KnownNode], None] = lambda _: None
    check_link: Callable[[PairingLink], None] = lambda _: None

    async def pair(self, text: str, name: str, call_it: str = "") -> KnownNode:
        """Pair, and remember the node.

        Args:
            text: the link, `homing://pair?…`.
            name: what this device calls itself.
            call_it: what to call the node here; empty takes its own name.

        Raises:
            InvalidDataError: that is no pairing link.
            IntegrityError: somebody else answered, or the node did not prove that it made the link.
            RefusedError: the node said no: wrong secret, too late, or too many guesses; or this is
                not what `check_link` or `check` takes.
            ConflictError: the link has paired another device.
            UnavailableError: nobody answered. The link may be tried again until it ends.
        """
        link = parse_link(text)
        self.check_link(link)
        pending = PendingPairing(link.id, link.to_text(), name, self.clock.now())
        await asyncio.to_thread(self.book.begin_pairing, pending)
        try:
            target, certificate = await _find_server(link)
            side = start_pairing(link, self.identity, certificate, name)
            answer = await self._exchange(target, certificate, side.attempt)
            node = accept_answer(side, answer, self.clock.now(), self.place)
            self.check(node)
        except UnavailableError:
            raise  # the answer may have been lost, so it stays pending
        except HomingError:
            await asyncio.to_thread(self.book.finish_pairing, link.id, None)
            raise
        if call_it:
            node = replace(node, name=call_it)
        await asyncio.to_thread(self.book.finish_pairing, link.id, node)
        return node

    async def resume(self) -> None:
        """Try again what an earlier process did not end; forget what is too old to succeed."""
        for pending in await asyncio.to_thread(self.book.pending_pairings):
            if not 0 <= self.clock.now() - pending.started_at < PENDING_S:
                await asyncio.to_thread(self.book.finish_pairing, pending.link_id, None)
                continue
            try:
                node = await self.pair(pending.link, pending.device_name)
            except HomingError as error:
                _log.info("pairing.not_resumed", code=error.code.value, what=error.what)
            else:
                _log.info("pairing.resumed", node=node.id)

    async def _exchange(
        self, target: str, certificate: CheckedCertificate, attempt: PairAttempt
    ) -> PairAnswer:
        failure = UnavailableError("the pairing server does not answer", "Try the same link again.")
        for _ in range(_TRIES):
            async with pairing_channel(target, certificate) as channel:
                try:
                    return await self.exchange(channel, attempt, _CALL_S)
                except UnavailableError as error:
                    failure = error
        raise failure


async def _find_server(link: PairingLink) -> tuple[str, CheckedCertificate]:
    """The address of the link at which the right certificate is shown first; all are tried."""
    return await first_server(
        link.addresses, lambda address: fetch_certificate(address, link.certificate_sha256)
    )
