"""Peers that a home has lent to this phone: learned from the home, kept as long as it offers them.

The phone asks now and then, when the home answers anyway. What may go to a peer is decided where
every step's node is picked; a peer is never asked for peers of its own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.access import DeviceRole
from homing_core.errors import HomingError, NotFoundError, UnpairedError
from homing_core.tools import Place
from homing_crypto.nodes import KnownNode

from homing_client.rpc.peers_calls import list_peers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.nodes import NodeBook

    from homing_client.link import NodeLink, Verified
    from homing_client.rpc.peers_calls import OfferedPeer

EVERY_S: Final = 180.0
"""A home is asked this often at most, in seconds."""
_NEW_S: Final = 600.0
"""A home that was paired this short a time ago is still telling its peers of this phone..."""
_NEW_EVERY_S: Final = 2.0
"""... and is asked this often."""
_REACH_S: Final = 5.0

_log = structlog.get_logger(__name__)


class PeerKeeper:
    """Keeps the peers that homes offer. Belongs to one event loop.

    Args:
        book: the nodes that this phone knows.
        clock: wall time, and for how long ago a home was asked.
        background: begins work that nobody waits for.
    """

    def __init__(
        self,
        book: NodeBook,
        clock: Clock,
        background: Callable[[Coroutine[object, object, None]], None],
    ) -> None:
        """Nobody was asked yet."""
        self._book = book
        self._clock = clock
        self._background = background
        self._asked: dict[DeviceId, float] = {}

    def seen(self, link: NodeLink, verified: Verified) -> None:
        """A node answered: ask it for its peers, if it is a home and if it is time."""
        del verified
        node = link.node
        if node.place is not Place.HOME or node.introduced_by:
            return
        new = 0 <= self._clock.now() - node.paired_at < _NEW_S
        every_s = _NEW_EVERY_S if new else EVERY_S
        now, last = self._clock.monotonic(), self._asked.get(node.id)
        if last is None or now - last >= every_s:
            self._asked[node.id] = now
            self._background(self._ask(link))

    async def _ask(self, link: NodeLink) -> None:
        home = link.node
        try:
            await learn_peers(link, self._book, self._clock)
        except NotFoundError:  # an older node, or it was forgotten meanwhile
            return
        except HomingError as error:
            self._asked.pop(home.id, None)
            _log.info("peers.not_asked", node=home.id, code=error.code.value, what=error.what)


async def learn_peers(link: NodeLink, book: NodeBook, clock: Clock) -> None:
    """Ask a home for its peers now, and keep those instead of what it offered before.

    Raises:
        HomingError: it was not reached, or says what cannot be.
    """
    home = link.node
    offered = await list_peers(await link.channel(_REACH_S))
    entries = [_entry(home, peer, clock.now()) for peer in offered]
    await asyncio.to_thread(book.offer, home.id, entries)


def refused_there(home: str) -> UnpairedError:
    """The error of a peer that lets this phone in no more, for a person: it is the home's matter.

    Args:
        home: name of the home that vouched for this phone.
    """
    msg = f"it does not take {home}'s word for this phone now"
    return UnpairedError(msg, f"It is lent by {home}: ask the owner there.")


def _entry(home: KnownNode, peer: OfferedPeer, now: float) -> KnownNode:
    return KnownNode(
        id=peer.id,
        certificate_der=peer.certificate_der,
        hpke_public_key=b"",
        name=peer.name,
        place=Place.PEER,
        role=DeviceRole.GUEST,
        scopes=peer.scopes,
        addresses=peer.addresses,
        paired_at=now,
        introduced_by=home.id,
        lease_expires_at=peer.lease_expires_at,
    )
