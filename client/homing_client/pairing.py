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
from homing_agent.pairing.by_link import PENDING_S, Pairer
from homing_core.access import DeviceRole
from homing_core.errors import HomingError, RefusedError, UnavailableError
from homing_crypto.pairing.code_claim import is_claiming
from homing_crypto.pairing.link import LinkKind, parse_link

from homing_client.code_pairing import PhoneHere, resume_by_code
from homing_client.rpc import pairing_calls

if TYPE_CHECKING:
    from homing_core.clock import Clock
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_crypto.pairing.link import PairingLink

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
        RefusedError: the node said no: wrong secret, too late, or too many guesses; or the link is
            not for phones.
        ConflictError: the link has paired another device.
        UnavailableError: nobody answered. The link may be tried again until it ends.
    """
    pairer = Pairer(
        identity, book, clock, pairing_calls.pair, check=_check_node, check_link=check_link
    )
    try:
        return await pairer.pair(text, name)
    except UnavailableError as error:
        # The answer may have been lost, so it stays pending.
        known = await _known_as(book, parse_link(text))
        if known is None:
            raise
        raise UnavailableError(
            error.what, f"This phone is paired with {known} already: homing nodes"
        ) from error


def check_link(link: PairingLink) -> None:
    """Raises `RefusedError` for a link that another home was meant to have; nothing is used up."""
    if link.kind is LinkKind.PEER:
        raise _not_for_phones()


def _check_node(node: KnownNode) -> None:
    if node.role is DeviceRole.PEER:  # an older node's link does not say whom it is for
        raise _not_for_phones()


def _not_for_phones() -> RefusedError:
    msg = "that link is for another home's node, not for a phone"
    return RefusedError(
        msg, "There: homing-node peers add LINK. For a phone, ask for: homing-node pair"
    )


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
