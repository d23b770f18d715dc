"""Dials all addresses of a node at once; the first that proves the node's key wins."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from homing_core.errors import HomingError, UnavailableError, UnpairedError
from homing_crypto.certificates import check_certificate
from homing_crypto.credentials import client_channel
from homing_crypto.presence import is_there

from homing_client.dial_failures import explain
from homing_client.rpc.node_calls import ShutOutError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import grpc.aio
    from homing_core.addresses import Address
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import KnownNode

T = TypeVar("T")

LEAST_S = 0.1
"""Least deadline of a call, in seconds."""


@dataclass(frozen=True, slots=True)
class Answered(Generic[T]):
    """Who answered first.

    Attributes:
        channel: the connection; whoever asked closes it.
        address: where.
        answer: what it said.
    """

    channel: grpc.aio.Channel
    address: str
    answer: T


@dataclass(frozen=True, slots=True)
class Dialler(Generic[T]):
    """One way to dial one node.

    Attributes:
        node: as the book knows it.
        identity: the key of this phone to show.
        ask: the first call on a channel, given the address and a timeout in seconds.
        last_address: where the node was last; empty for nowhere.
    """

    node: KnownNode
    identity: DeviceIdentity
    ask: Callable[[grpc.aio.Channel, str, float], Awaitable[T]]
    last_address: str

    async def dial(self, addresses: tuple[Address, ...], deadline: float) -> Answered[T]:
        """The first that answers.

        Args:
            addresses: at least one.
            deadline: of the monotonic clock, in seconds.

        Raises:
            HomingError: none did; the one error that says most.
        """
        certificate = check_certificate(self.node.certificate_der)
        channels = {
            address: client_channel(str(address), self.identity, certificate)
            for address in addresses
        }
        failures: dict[Address, HomingError] = {}
        answers: dict[Address, T] = {}

        async def attempt(address: Address) -> Address | None:
            left = deadline - time.monotonic()
            try:
                answers[address] = await self.ask(channels[address], str(address), left)
            except HomingError as error:
                failures[address] = error
                return None
            return address

        tasks = [asyncio.ensure_future(attempt(address)) for address in addresses]
        winner: Address | None = None
        try:
            for finished in asyncio.as_completed(tasks):
                winner = await finished
                if winner is not None:
                    return Answered(channels[winner], str(winner), answers[winner])
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
            left = max(deadline - time.monotonic(), LEAST_S)
            certificate = check_certificate(self.node.certificate_der)
            alive = alive or await is_there(str(address), certificate, left)
        named = {str(address): error for address, error in failures.items()}
        return explain(self.node.name, named, self.last_address, knows_us_not=alive)


async def dial_any(
    diallers: Sequence[Dialler[T]], addresses: tuple[Address, ...], deadline: float
) -> tuple[Answered[T], DeviceIdentity]:
    """Dial one node with one key after the other, until it knows this phone by one of them.

    Args:
        diallers: one for each key, the likeliest first; at least one.
        addresses: where the node may be.
        deadline: of the monotonic clock, in seconds.

    Returns:
        Who answered, and the key that it knew.

    Raises:
        UnpairedError: it is there, and knows this phone by none of them.
        HomingError: as `Dialler.dial`.
    """
    if not addresses:
        msg = f"no address of {diallers[0].node.name} is known"
        raise UnavailableError(
            msg, "Join its network, or name one under [home] addresses in the configuration."
        )
    first: UnpairedError | None = None
    for dialler in diallers:
        try:
            return await dialler.dial(addresses, deadline), dialler.identity
        except UnpairedError as error:
            first = first or error
    raise first or UnavailableError(f"{diallers[0].node.name} does not answer", "Try again.")
