"""The link to one node: dials its addresses, keeps the one that proved the node's key.

All candidates are dialled at once and the first that answers with the right key wins; whoever
answers with another key is not the node, whatever an announcement said. "Connected" always comes
with the moment at which that was last verified.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import structlog
from homing_core.errors import HomingError, UnavailableError, UnpairedError

from homing_client.dialling import LEAST_S, Dialler, dial_any
from homing_client.renewal import follow, store_successor, tell_new_key
from homing_client.rpc.node_calls import NobodyListensError, NodeCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import grpc.aio
    from homing_core.addresses import Address
    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_core.nodes import NodeInfo
    from homing_crypto.nodes import KnownNode, NodeBook

    from homing_client.keys import Keys

_log = structlog.get_logger(__name__)

_NOTE_S = 60.0
"""A verification at the same address is written down this often: the disk is not a heartbeat."""
_ATTEMPT_S = 3.0
"""Longest single attempt while reaching a node again: its addresses may change meanwhile."""
_DOWN_S = 3.0
"""How long a node is waited for whose computer says that it does not run: after a restart it has
forgotten the answer anyway."""
_PAUSES_S = (0.1, 0.25, 0.5, 1.0)
"""Waits between such attempts; the last one repeats."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The node answered.

    Attributes:
        info: what it said of itself.
        address: where, `host:port`.
        at: when, wall time in seconds since the epoch.
        round_trip_ms: how long one small call took, connecting included if it was not connected.
    """

    info: NodeInfo
    address: str
    at: float
    round_trip_ms: float


class NodeLink:
    """One node, dialled when it is needed and kept while it answers.

    Args:
        node: as the book knows it.
        keys: this phone's.
        book: where a verified address is noted.
        candidates: the addresses to try now, best first.
        clock: for the moment of verification.

    Attributes:
        node: as the book knows it.
        on_verified: called whenever the node has proven itself; it must return at once.
        on_succeeding: called with its old and new id first, in another thread; may raise.
        on_succeeded: called with the node's old and new id when it has replaced its key.
    """

    def __init__(
        self,
        node: KnownNode,
        keys: Keys,
        book: NodeBook,
        candidates: Callable[[], Iterable[Address]],
        clock: Clock,
    ) -> None:
        """Nothing is dialled yet."""
        self.on_verified: Callable[[NodeLink, Verified], None] | None = None
        self.on_succeeding: Callable[[DeviceId, DeviceId], None] | None = None
        self.on_succeeded: Callable[[DeviceId, DeviceId], None] | None = None
        self.node = node
        self._keys = keys
        self._used = keys.current
        self._book = book
        self._candidates = candidates
        self._clock = clock
        self._channel: grpc.aio.Channel | None = None
        self._address = ""
        self._noted = ("", 0.0)
        self._dialling = asyncio.Lock()
        self._outlived: list[grpc.aio.Channel] = []

    async def verify(self, timeout_s: float) -> Verified:
        """Prove that the node answers, over the connection at hand or a new one.

        Args:
            timeout_s: how long this may take in all, in seconds. Where every address refuses at
                once, so does this.

        Raises:
            UnavailableError: no address answered in time.
            IntegrityError: only others than the node answered.
            UnpairedError: the node does not know this phone any more.
        """
        deadline = time.monotonic() + timeout_s
        async with self._dialling:
            verified = await self._verify_within(deadline)
            if verified.info.id != self.node.id:
                await self._follow(verified)
        await self._note(verified)
        if self.on_verified is not None:
            self.on_verified(self, verified)
        return verified

    async def reach(self, timeout_s: float) -> Verified:
        """As `verify`, but goes on trying until the time is over: the line may come back.

        Where the node's computer says that the node does not run, the time is short.
        """
        started = time.monotonic()
        deadline = started + timeout_s
        pauses = iter(_PAUSES_S)
        while True:
            left = deadline - time.monotonic()
            try:
                return await self.verify(max(min(left, _ATTEMPT_S), LEAST_S))
            except UnavailableError as error:
                pause = next(pauses, _PAUSES_S[-1])
                down = isinstance(error, NobodyListensError)
                end = min(deadline, started + _DOWN_S) if down else deadline
                if time.monotonic() + pause >= end:
                    raise
            await asyncio.sleep(pause)

    async def calls(self, timeout_s: float) -> NodeCalls:
        """The node's services; dials if need be. Raises as `verify`."""
        return NodeCalls(await self.channel(timeout_s))

    async def channel(self, timeout_s: float) -> grpc.aio.Channel:
        """The connection, for calls of other services; dials if need be. Raises as `verify`."""
        if self._channel is None:
            await self.verify(timeout_s)
        if self._channel is None:
            msg = f"the connection to {self.node.name} was closed"
            raise UnavailableError(msg, "Try again.")
        return self._channel

    async def drop(self) -> None:
        """Close the connection at hand: it broke, or the network changed."""
        async with self._dialling:
            await self._drop()

    @property
    def behind(self) -> bool:
        """Whether the node, called just now, knows this phone by an earlier key.

        A node that is lent by a home hears of the new key from that home; this phone only notes it.
        """
        present = self._keys.current.device_id
        noted, shown = self.node.known_as in {"", present}, self._used.device_id == present
        return (shown and not noted) if self.node.introduced_by else not (shown and noted)

    async def renew(self, timeout_s: float) -> None:
        """Let the node know this phone by its present key; harmless if it does.

        What runs over the old connection goes on there. A kill at any point is made up for by
        doing it again (`Keys.for_node`).

        Args:
            timeout_s: deadline of each call, in seconds.

        Raises:
            HomingError: the node was not reached or refused; it is still called with the old key.
        """
        async with self._dialling:
            if self._channel is None or not self.behind:
                return
            keys = (self._used, self._keys.current)
            new, channel = keys[1], self._channel
            if not self.node.introduced_by:
                channel = await tell_new_key(channel, self._address, self.node, keys, timeout_s)
            if channel is not self._channel:
                self._outlived.append(self._channel)
                self._channel, self._used = channel, new
            await self._keys.told(self.node, new.device_id)
            self.node = replace(self.node, known_as=new.device_id)
        _log.info("link.renewed", node=self.node.id, key=new.device_id)

    async def _drop(self) -> None:
        channel, self._channel = self._channel, None
        for one in (*self._outlived, channel):
            if one is not None:
                await one.close()
        self._outlived.clear()

    async def _verify_within(self, deadline: float) -> Verified:
        if self._channel is not None:
            left = deadline - time.monotonic()
            try:
                # Half the time: a connection that went silent must leave some for dialling.
                return await self._ask(self._channel, self._address, left / 2)
            except UnpairedError:
                await self._drop()  # so that a new pairing is not answered by the old connection
                if self._used.device_id == self._keys.current.device_id:
                    raise
                # Its home has told it of the new key, and taken back the old one.
            except HomingError:
                await self._drop()
        return await self._dial(deadline)

    async def _ask(self, channel: grpc.aio.Channel, address: str, timeout_s: float) -> Verified:
        started = time.monotonic()
        info = await NodeCalls(channel).get_node(max(timeout_s, LEAST_S))
        return Verified(info, address, self._clock.now(), (time.monotonic() - started) * 1000)

    async def _note(self, verified: Verified) -> None:
        address, at = self._noted
        if address == verified.address and 0 <= verified.at - at < _NOTE_S:
            return
        self._noted = (verified.address, verified.at)
        try:
            await asyncio.to_thread(
                self._book.note_verified, self.node.id, verified.address, verified.at
            )
        except HomingError as error:  # only a convenience: the node did answer
            _log.warning("link.not_noted", node=self.node.id, what=error.what)

    async def _dial(self, deadline: float) -> Verified:
        diallers = [
            Dialler(self.node, identity, self._ask, self._address)
            for identity in self._keys.for_node(self.node)
        ]
        found, self._used = await dial_any(diallers, tuple(self._candidates()), deadline)
        self._channel, self._address = found.channel, found.address
        return found.answer

    async def _follow(self, verified: Verified) -> None:
        """The node has proven the key that the book knows, and says that it has another now."""
        old, channel = self.node, self._channel
        try:
            store = partial(store_successor, self._book, self.on_succeeding)
            self.node = await follow(channel, verified.address, old, verified.info.id, store)
        except HomingError:
            await self._drop()
            raise
        _log.info("link.node_has_new_key", node=self.node.id, before=old.id)
        if self.on_succeeded is not None:
            self.on_succeeded(old.id, self.node.id)
