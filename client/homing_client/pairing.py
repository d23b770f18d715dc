"""Pairing with a node by its link. What is under way is written down before it is sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, UnavailableError
from homing_crypto.credentials import pairing_channel
from homing_crypto.nodes import PendingPairing
from homing_crypto.pairing.client import accept_answer, start_pairing
from homing_crypto.pairing.link import parse_link
from homing_crypto.pairing.pinned import fetch_certificate

from homing_client.rpc import pairing_calls

if TYPE_CHECKING:
    from homing_core.clock import Clock
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_crypto.pairing.link import PairingLink
    from homing_crypto.pairing.proof import PairAnswer, PairAttempt

_CALL_S = 10.0
_TRIES = 3


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
    except UnavailableError:
        raise  # the answer may have been lost; the same link from the same phone is welcome again
    except HomingError:
        await asyncio.to_thread(book.finish_pairing, link.id, None)
        raise
    await asyncio.to_thread(book.finish_pairing, link.id, node)
    return node


async def _find_server(link: PairingLink) -> tuple[str, CheckedCertificate]:
    """The first address of the link at which the right certificate is shown."""
    failures: list[HomingError] = []
    for address in link.addresses:
        try:
            return str(address), await fetch_certificate(address, link.certificate_sha256)
        except HomingError as error:
            failures.append(error)
    for failure in failures:
        if not isinstance(failure, UnavailableError):
            raise failure
    raise failures[0]


async def _exchange(
    target: str, certificate: CheckedCertificate, attempt: PairAttempt
) -> PairAnswer:
    for left in reversed(range(_TRIES)):
        channel = pairing_channel(target, certificate)
        try:
            return await pairing_calls.pair(channel, attempt, _CALL_S)
        except UnavailableError:
            if not left:
                raise
        finally:
            await channel.close()
    msg = "the pairing server does not answer"
    raise UnavailableError(msg, "Try again.")
