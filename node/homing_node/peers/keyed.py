"""Connections to peers while keys are replaced: this node's own, and the peers'."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_core.errors import NotFoundError, UnavailableError, UnpairedError
from homing_crypto.certificates import check_certificate

from homing_node.peers.dial import dialled
from homing_node.rpc.keys_calls import finish_at, rotate_at, successor_at

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from contextlib import AsyncExitStack

    from homing_core.clock import Clock
    from homing_core.ids import DeviceId
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook

    from homing_node.keys import NodeKeys
    from homing_node.rpc.peer_calls import PeerCalls

_log = get_logger(__name__)


class KeyedDial:
    """A `homing_node.peers.sharing_parts.Dial` that sees to keys before anything else is said.

    A peer that knows this node by an old key is told of the present one over that connection. A
    peer that has a new key itself is followed; it is then told under its new id.

    Args:
        keys: this node's.
        succeeded: told of a peer's old id and its entry under the new one.
    """

    def __init__(
        self, keys: NodeKeys, succeeded: Callable[[DeviceId, KnownNode], Awaitable[None]]
    ) -> None:
        """Keep where to look."""
        self._keys = keys
        self._succeeded = succeeded
        self._following: set[asyncio.Future[None]] = set()

    @contextlib.asynccontextmanager
    async def __call__(
        self, node: KnownNode, identity: DeviceIdentity, book: NodeBook, clock: Clock
    ) -> AsyncGenerator[PeerCalls]:
        """The peer's services over a connection with the key `identity`, the present one.

        Raises:
            UnavailableError: it does not answer, or has a new key and is told in a moment.
            UnpairedError: it is there, and knows this node by none of its keys.
        """
        async with contextlib.AsyncExitStack() as stack:
            calls, used = await self._first(stack, node, book, clock)
            await self._follow(calls, node, book)
            if used is not identity:
                await rotate_at(node.id, calls.channel, used, identity)
                calls = await stack.enter_async_context(dialled(node, identity, book, clock))
            if node.known_as != identity.device_id:
                with contextlib.suppress(NotFoundError):  # a peer that rotates no keys
                    await finish_at(calls.channel)
                await asyncio.to_thread(book.note_known_as, identity.device_id, node.id)
                _log.info("peers.knows_key", peer=node.id, key=identity.device_id)
            yield calls

    async def _first(
        self, stack: AsyncExitStack, node: KnownNode, book: NodeBook, clock: Clock
    ) -> tuple[PeerCalls, DeviceIdentity]:
        """A connection with whichever key the peer knows; the noted one is tried first."""
        noted = sorted(
            self._keys.identities(), key=lambda one: one.device_id != node.known_as
        )  # otherwise the present one first: sorting keeps the order
        failure: UnpairedError | None = None
        for identity in noted:
            try:
                opened = dialled(node, identity, book, clock)
                return await stack.enter_async_context(opened), identity
            except UnpairedError as error:
                failure = failure or error
        raise failure or UnpairedError(f"{node.name} does not know this node any more")

    async def _follow(self, calls: PeerCalls, node: KnownNode, book: NodeBook) -> None:
        certificate = check_certificate(node.certificate_der)
        try:
            key = await successor_at(calls.channel, certificate)
        except NotFoundError:  # a peer that rotates no keys
            return
        if key is None:
            return
        stored = await asyncio.to_thread(book.succeed, node.id, key)
        _log.info("peers.has_new_key", peer=stored.id, before=node.id)
        # In a task of its own: whoever looked after the old id is ended by it.
        following = asyncio.ensure_future(self._succeeded(node.id, stored))
        self._following.add(following)
        following.add_done_callback(self._following.discard)
        msg = f"{node.name} has a new key"
        raise UnavailableError(msg, "It is called under that from now on.")
