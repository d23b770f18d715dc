"""Pairing with a node by its link. What is under way is written down before it is sent.

If the process is killed in the middle, or the answer is lost, the node may have let this phone in
while the phone does not know the node. The same link from the same phone is welcome again, so what
was under way is tried again at the next start, as long as the link can still be good.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

import structlog
from homing_core.errors import HomingError, UnavailableError
from homing_crypto.credentials import pairing_channel
from homing_crypto.nodes import PendingPairing
from homing_crypto.pairing.client import accept_answer, start_pairing
from homing_crypto.pairing.code_claim import is_claiming
from homing_crypto.pairing.link import parse_link
from homing_crypto.pairing.pinned import fetch_certificate

from homing_client.code_pairing import PhoneHere, resume_by_code
from homing_client.pairing_server import first_server
from homing_client.rpc import pairing_calls

if TYPE_CHECKING:
    from homing_core.clock import Clock
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_crypto.pairing.link import PairingLink
    from homing_crypto.pairing.proof import PairAnswer, PairAttempt

PENDING_S = 15 * 60.0
"""An unanswered pairing is forgotten after this long: links live for three minutes."""
_CALL_S = 10.0
_TRIES = 3

_log = structlog.get_logger(__name__)


async def pair_with(
    text: str, *, identity: DeviceIdentity, book: NodeBook, name: str, clock: Clock
) -> KnownNode:
    """Pair, and remember the node.

    Args:
        text: the link, `homing://pair?…`.
        identity: this phone's.
        book: where the node is remembered.
        name: what this phone calls itself.
        clock: wall time.

    Raises:
        InvalidDataError: that is no pairing link.
        IntegrityError: somebody else answered, or the node did not prove that it made the link.
        RefusedError: the node said no: wrong secret, too late, or too many guesses.
        ConflictError: the link has paired another device.
        UnavailableError: nobody answered. The link may be tried again until it ends.
    """
    link = parse_link(text)
    pending = PendingPairing(link.id, link.to_text(), name, clock.now())
    await asyncio.to_thread(book.begin_pairing, pending)
    try:
        target, certificate = await _find_server(link)
        side = start_pairing(link, identity, certificate, name)
        answer = await _exchange(target, certificate, side.attempt)
        node = accept_answer(side, answer, clock.now())
    except UnavailableError as error:
        # The answer may have been lost, so it stays pending.
        known = await _known_as(book, link)
        if known is None:
            raise
        raise UnavailableError(
            error.what, f"This phone is paired with {known} already: homing nodes"
        ) from error
    except HomingError:
        await asyncio.to_thread(book.finish_pairing, link.id, None)
        raise
    await asyncio.to_thread(book.finish_pairing, link.id, node)
    return node


async def resume_pairings(*, identity: DeviceIdentity, book: NodeBook, clock: Clock) -> None:
    """Try again what an earlier process did not end; forget what is too old to succeed."""
    for pending in await asyncio.to_thread(book.pending_pairings):
        if not 0 <= clock.now() - pending.started_at < PENDING_S:
            await asyncio.to_thread(book.finish_pairing, pending.link_id, None)
            continue
        name = pending.device_name
        try:
            if is_claiming(pending.link):
                here = PhoneHere(identity, book, clock, name)
                node = await resume_by_code(pending, here)
            else:
                node = await pair_with(
                    pending.link, identity=identity, book=book, name=name, clock=clock
                )
        except HomingError as error:
            _log.info("pairing.not_resumed", code=error.code.value, what=error.what)
        else:
            _log.info("pairing.resumed", node=node.id)


async def _known_as(book: NodeBook, link: PairingLink) -> str | None:
    """The name of the node that made the link, if this phone is paired with it."""
    for node in await asyncio.to_thread(book.nodes):
        if hashlib.sha256(node.certificate_der).digest() == link.certificate_sha256:
            return node.name
    return None


async def _find_server(link: PairingLink) -> tuple[str, CheckedCertificate]:
    """The address of the link at which the right certificate is shown first; all are tried."""
    return await first_server(
        link.addresses, lambda address: fetch_certificate(address, link.certificate_sha256)
    )


async def _exchange(
    target: str, certificate: CheckedCertificate, attempt: PairAttempt
) -> PairAnswer:
    failure = UnavailableError("the pairing server does not answer", "Try the same link again.")
    for _ in range(_TRIES):
        async with pairing_channel(target, certificate) as channel:
            try:
                return await pairing_calls.pair(channel, attempt, _CALL_S)
            except UnavailableError as error:
                failure = error
    raise failure
