"""The link to one node: dials its addresses, keeps the one that proved the node's key.

All candidates are dialled at once and the first that answers with the right key wins; whoever
answers with another key is not the node, whatever an announcement said. "Connected" always comes
with the moment at which that was last verified.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog
from homing_core.errors import HomingError, IntegrityError, UnavailableError, UnpairedError
from homing_crypto.certificates import check_certificate
from homing_crypto.credentials import client_channel
from homing_crypto.presence import is_there

from homing_client.dial_failures import explain
from homing_client.rpc.node_calls import NobodyListensError, NodeCalls, ShutOutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import grpc.aio
    from homing_core.addresses import Address
    from homing_core.clock import Clock
    from homing_core.nodes import NodeInfo
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode, NodeBook

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
_LEAST_S = 0.1


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
        identity: this phone's.
        book: where a verified address is noted.
        candidates: the addresses to try now, best first.
        clock: for the moment of verification.

    Attributes:
        node: as the book knows it.
        on_verified: called whenever the node has proven itself; it must return at once.
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
        self.on_verified: Callable[[NodeLink, Verified], None] | None = None
        self.node = node
        self._identity = identity
        self._book = book
        self._candidates = candidates
        self._clock = clock
        self._certificate = check_certificate(node.certificate_der)
        self._channel: grpc.aio.Channel | None = None
        self._address = ""
        self._noted = ("", 0.0)
        self._dialling = asyncio.Lock()

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
                return await self.verify(max(min(left, _ATTEMPT_S), _LEAST_S))
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

    async def _drop(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    async def _verify_within(self, deadline: float) -> Verified:
        if self._channel is not None:
            left = deadline - time.monotonic()
            try:
                # Half the time: a connection that went silent must leave some for dialling.
                return await self._ask(self._channel, self._address, left / 2)
            except UnpairedError:
                await self._drop()  # so that a new pairing is not answered by the old connection
                raise
            except HomingError:
                await self._drop()
        return await self._dial(deadline)

    async def _ask(self, channel: grpc.aio.Channel, address: str, timeout_s: float) -> Verified:
        started = time.monotonic()
        info = await NodeCalls(channel).get_node(max(timeout_s, _LEAST_S))
        if info.id != self.node.id:
            msg = f"the computer at {address} says that it is another node"
            raise IntegrityError(msg, "Pair again if the node was set up anew.")
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
        addresses = tuple(self._candidates())
        if not addresses:
            msg = f"no address of {self.node.name} is known"
            raise UnavailableError(
                msg, "Join its network, or name one under [home] addresses in the configuration."
            )
        channels = {
            address: client_channel(str(address), self._identity, self._certificate)
            for address in addresses
        }
        failures: dict[Address, HomingError] = {}

        async def attempt(address: Address) -> Address | None:
            left = deadline - time.monotonic()
            try:
                answers[address] = await self._ask(channels[address], str(address), left)
            except HomingError as error:
                failures[address] = error
                return None
            return address

        answers: dict[Address, Verified] = {}
        tasks = [asyncio.ensure_future(attempt(address)) for address in addresses]
        winner: Address | None = None
        try:
            for finished in asyncio.as_completed(tasks):
                winner = await finished
                if winner is not None:
                    self._channel, self._address = channels[winner], str(winner)
                    return answers[winner]
            raise await self._explain(failures, deadline)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for address, channel in channels.items():
                if address != winner:
                    await channel.close()

    async def _explain(self, failures: dict[Address, HomingError], deadline: float) -> HomingError:
        shut_out = [a for a, error in failures.items() if isinstance(error, ShutOutError)]
        alive = False
        for address in shut_out:
            left = max(deadline - time.monotonic(), _LEAST_S)
            alive = alive or await is_there(str(address), self._certificate, left)
        named = {str(address): error for address, error in failures.items()}
        return explain(self.node.name, named, self._address, knows_us_not=alive)
