"""A connection to a peer for a moment: at whichever of its addresses it proves its key."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, UnavailableError, UnpairedError
from homing_crypto.certificates import check_certificate
from homing_crypto.credentials import client_channel
from homing_crypto.presence import is_there

from homing_node.rpc.peer_calls import ClosedAtOnceError, PeerCalls

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.clock import Clock
    from homing_crypto.certificates import CheckedCertificate
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook

_REACH_S: Final = 5.0
"""For each address, in seconds."""

_log = get_logger(__name__)


@contextlib.asynccontextmanager
async def dialled(
    node: KnownNode, identity: DeviceIdentity, book: NodeBook, clock: Clock
) -> AsyncGenerator[PeerCalls]:
    """The peer's services for the length of a block.

    Raises:
        UnavailableError: it answers at none of its addresses.
        UnpairedError: it is there, and does not know this node any more.
    """
    certificate = check_certificate(node.certificate_der)
    known = dict.fromkeys((node.last_good_address, *node.addresses))
    failure: HomingError = UnavailableError(
        f"no address of {node.name} is known", "Add it again with a new link."
    )
    for address in filter(None, known):
        async with client_channel(address, identity, certificate) as channel:
            calls = PeerCalls(channel)
            try:
                await calls.get_node(_REACH_S)
            except HomingError as error:
                failure = await _explained(error, address, certificate, node.name)
                if isinstance(failure, UnavailableError):
                    continue
                break
            await _note(book, node, address, clock)
            yield calls
            return
    raise failure


async def _explained(
    error: HomingError, address: str, certificate: CheckedCertificate, name: str
) -> HomingError:
    """A node closes the connection of a device that it does not know; TLS gives no reason.

    So this connects once more without showing who we are: if the peer is there, that was it.
    """
    if not isinstance(error, ClosedAtOnceError):
        return error
    if not await is_there(address, certificate, _REACH_S):
        return error
    msg = f"{name} does not know this node any more"
    return UnpairedError(msg, "Ask its owner for a new link: homing-node pair --role peer.")


async def _note(book: NodeBook, node: KnownNode, address: str, clock: Clock) -> None:
    try:
        await asyncio.to_thread(book.note_verified, node.id, address, clock.now())
    except HomingError as error:  # only a convenience: the peer did answer
        _log.warning("peers.not_noted", peer=node.id, what=error.what)
