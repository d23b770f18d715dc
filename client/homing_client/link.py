"""The link to one node: dials its addresses, keeps the one that proved the node's key.

All candidates are dialled at once and the first that answers with the right key wins; whoever
answers with another key is not the node, whatever an announcement said. "Connected" always comes
with the moment at which that was last verified.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, IntegrityError, UnavailableError, UnpairedError
from homing_crypto.certificates import check_certificate
from homing_crypto.credentials import client_channel

from homing_client.rpc.node_calls import NodeCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import grpc.aio
    from homing_core.clock import Clock
    from homing_core.nodes import NodeInfo
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook
    from homing_discovery.addresses import Address


@dataclass(frozen=True, slots=True)
class Verified:
    """The node answered.

    Attributes:
        info: what it said of itself.
        address: where, `host:port`.
        at: when, wall time in seconds since the epoch.
        round_trip_ms: how long one small call took.
    """

    info: NodeInfo
    address: str
    at: float
    round_trip_ms: float


class NodeLink:
    """One node, dialled when it is needed and kept while it answers.

    Args:
        node: as the book knows it.
        identity: this phone's.
        book: where a verified address is noted.
        candidates: the addresses to try now, best first.
        clock: for the moment of verification.
    """

    def __init__(
        self,
        node: KnownNode,
        identity: DeviceIdentity,
        book: NodeBook,
        candidates: Callable[[], Iterable[Address]],
        clock: Clock,
    ) -> None:
        """Nothing is dialled yet."""
        self.node = node
        self._identity = identity
        self._book = book
        self._candidates = candidates
        self._clock = clock
        self._certificate = check_certificate(node.certificate_der)
        self._channel: grpc.aio.Channel | None = None
        self._address = ""
        self._dialling = asyncio.Lock()

    async def verify(self, timeout_s: float) -> Verified:
        """Prove that the node answers, over the connection at hand or a new one.

        Args:
            timeout_s: how long this may take in all, in seconds.

        Raises:
            UnavailableError: no address answered in time.
            IntegrityError: only others than the node answered.
            UnpairedError: the node does not know this phone any more.
        """
        deadline = time.monotonic() + timeout_s
        async with self._dialling:
            if self._channel is not None:
                try:
                    # Half the time: a connection that went silent must leave some for dialling.
                    return await self._ask(self._channel, self._address, timeout_s / 2)
                except UnpairedError:
                    raise
                except HomingError:
                    await self._drop()
            return await self._dial(max(deadline - time.monotonic(), 0.1))

    async def calls(self, timeout_s: float) -> NodeCalls:
        """The node's services; dials if need be. Raises as `verify`."""
        if self._channel is None:
            await self.verify(timeout_s)
        if self._channel is None:
            msg = f"the connection to {self.node.name} was closed"
            raise UnavailableError(msg, "Try again.")
        return NodeCalls(self._channel)

    async def drop(self) -> None:
        """Close the connection at hand: it broke, or the network changed."""
        async with self._dialling:
            await self._drop()

    async def _drop(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _ask(self, channel: grpc.aio.Channel, address: str, timeout_s: float) -> Verified:
        started = time.monotonic()
        info = await NodeCalls(channel).get_node(timeout_s)
        if info.id != self.node.id:
            msg = f"the computer at {address} says that it is another node"
            raise IntegrityError(msg, "Pair again if the node was set up anew.")
        now = self._clock.now()
        await asyncio.to_thread(self._book.note_verified, self.node.id, address, now)
        return Verified(info, address, now, (time.monotonic() - started) * 1000)

    async def _dial(self, timeout_s: float) -> Verified:
        addresses = [str(address) for address in self._candidates()]
        if not addresses:
            msg = f"no address of {self.node.name} is known"
            raise UnavailableError(
                msg, "Join its network, or name one under [home] addresses in the configuration."
            )
        channels = {
            address: client_channel(address, self._identity, self._certificate)
            for address in addresses
        }
        tasks = {
            asyncio.ensure_future(self._ask(channel, address, timeout_s)): address
            for address, channel in channels.items()
        }
        winner = ""
        try:
            failures: list[HomingError] = []
            for finished in asyncio.as_completed(tasks):
                try:
                    verified = await finished
                except HomingError as error:
                    failures.append(error)
                    continue
                winner = verified.address
                self._channel, self._address = channels[winner], winner
                return verified
            raise self._worst(failures)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for address, channel in channels.items():
                if address != winner:
                    with contextlib.suppress(Exception):
                        await channel.close()

    def _worst(self, failures: list[HomingError]) -> HomingError:
        """The failure that says most: unknown here, then a wrong key, then silence."""
        for kind in (UnpairedError, IntegrityError):
            for failure in failures:
                if isinstance(failure, kind):
                    return failure
        others = [one for one in failures if not isinstance(one, UnavailableError)]
        if others:
            return others[0]
        return UnavailableError(
            f"{self.node.name} does not answer", "Check that it runs and that its network is yours."
        )
