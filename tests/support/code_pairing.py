"""Pairing by short code over a real node: an open window, phones that try, messages by hand."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import pytest
from homing_client.code_pairing import PersonAsked, PhoneHere, pair_by_code, resume_by_code
from homing_core.access import DeviceRole
from homing_core.clock import SystemClock
from homing_core.errors import HomingError
from homing_crypto.credentials import pairing_channel
from homing_crypto.nodes import KnownNode
from homing_crypto.pairing.code_client import start_by_code
from homing_crypto.pairing.link import parse_link
from homing_crypto.pairing.pinned import fetch_unproven
from homing_crypto.testing import MemoryNodeBook, throwaway_identity
from homing_node.values import Asks, CodeOffer, Opened
from support.node_rig import DEADLINE_S, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import grpc.aio
    from homing_core.addresses import Address
    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.nodes import NodeBook
    from homing_crypto.pairing.code_client import Asking
    from homing_crypto.pairing.link import PairingLink
    from homing_node.rpc.control_client import ControlClient
    from homing_node.values import PairingEvent
    from support.node_rig import NodeRig

EventT = TypeVar("EventT", bound="PairingEvent")


def other_code(code: str) -> str:
    """A code that is wrong."""
    return code[:-1] + str((int(code[-1]) + 1) % 10)


@dataclass
class CodeDoor:
    """An open window, as the command line sees it."""

    control: ControlClient
    opened: Opened
    stream: AsyncGenerator[PairingEvent, None]

    @property
    def code(self) -> str:
        return self.opened.code

    @property
    def link(self) -> PairingLink:
        return parse_link(self.opened.link)

    @property
    def address(self) -> Address:
        return self.link.addresses[0]

    async def next(self) -> PairingEvent:
        return await within(anext(self.stream))

    async def expect(self, kind: type[EventT]) -> EventT:
        event = await self.next()
        assert isinstance(event, kind), event
        return event

    async def answer(self, *, allow: bool) -> Asks:
        """Answer the device that asks next."""
        asks = await self.expect(Asks)
        await self.control.decide(asks.attempt_id, allow=allow)
        return asks


@contextlib.asynccontextmanager
async def code_door(
    rig: NodeRig,
    offer: CodeOffer = CodeOffer.ASK,
    role: DeviceRole = DeviceRole.MEMBER,
    seconds: int = 60,
) -> AsyncGenerator[CodeDoor]:
    """Open a window for link and code."""
    control = await rig.control()
    async with contextlib.aclosing(control.pair(role, seconds, offer)) as stream:
        opened = await within(anext(stream))
        assert isinstance(opened, Opened)
        yield CodeDoor(control, opened, stream)


@dataclass
class CodePhone:
    """A phone that pairs by code."""

    name: str = "Pixel 8"
    identity: DeviceIdentity = field(default_factory=throwaway_identity)
    book: NodeBook = field(default_factory=MemoryNodeBook)
    asked: list[PersonAsked] = field(default_factory=list[PersonAsked])
    waits: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def here(self) -> PhoneHere:
        return PhoneHere(self.identity, self.book, SystemClock(), self.name)

    async def pair(self, door: CodeDoor, code: str = "", at: Address | None = None) -> KnownNode:
        """Pair; the door's own code and address unless told otherwise."""
        return await self.to_the_end(code or door.code, (at or door.address,))

    async def is_refused(
        self, door: CodeDoor, code: str = "", at: Address | None = None
    ) -> HomingError:
        with pytest.raises(HomingError) as told:
            await self.pair(door, code, at)
        return told.value

    async def resume(self) -> KnownNode:
        """What the next process does with what this one left."""
        (pending,) = self.book.pending_pairings()
        return await within(resume_by_code(pending, self.here))

    async def to_the_end(self, code: str, at: tuple[Address, ...]) -> KnownNode:
        """Pair with whoever is there."""
        steps = pair_by_code(code, at, self.here)
        async with asyncio.timeout(DEADLINE_S), contextlib.aclosing(steps):
            async for step in steps:
                if isinstance(step, KnownNode):
                    return step
                self.asked.append(step)
                self.waits.set()
        msg = "it came to no end"
        raise AssertionError(msg)


@dataclass
class ByHand:
    """The messages of one attempt, sent one by one."""

    channel: grpc.aio.Channel
    asking: Asking


@contextlib.asynccontextmanager
async def by_hand(door: CodeDoor, code: str = "", name: str = "Pixel 8") -> AsyncGenerator[ByHand]:
    """An attempt that has not sent anything yet."""
    node = await fetch_unproven(door.address)
    identity = throwaway_identity()
    asking = start_by_code(code or door.code, identity, node, name, str(door.address))
    async with pairing_channel(str(door.address), node) as channel:
        yield ByHand(channel, asking)


async def wrong_guesses(door: CodeDoor, count: int) -> list[str]:
    """What phones with a wrong code are told."""
    told: list[str] = []
    for _ in range(count):
        error = await CodePhone().is_refused(door, other_code(door.code))
        told.append(error.what)
    return told


async def refused(call: object) -> HomingError:
    """The error of one of `code_calls`."""
    with pytest.raises(HomingError) as told:
        await asyncio.wait_for(call, DEADLINE_S)  # type: ignore[arg-type]  # any awaitable
    return told.value
