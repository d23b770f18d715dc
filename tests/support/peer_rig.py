"""A home, a peer and phones in one process: real nodes, real TLS, real stores."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from homing_core.access import DeviceRole
from homing_core.clock import SystemClock
from homing_core.generation import Done, FinishReason, GenerateRequest, TextDelta
from homing_core.ids import new_generation_id
from homing_core.messages import user
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.config import NodeSection
from homing_node.rpc.peers_control import PeersControl
from homing_node.values import Opened
from homing_proto.codec.generation import encode_generate_request
from homing_proto.v1 import devices_pb2, devices_pb2_grpc
from support.node_rig import DEADLINE_S, LOOPBACK, NodeRig, Phone, all_events, node_rig, within

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_crypto.identity import DeviceIdentity
    from homing_node.config import NodeConfig
    from homing_node.peers.views import PeerView


def named(name: str, config: NodeConfig = LOOPBACK) -> NodeConfig:
    return replace(config, node=NodeSection(name=name, drain_seconds=0.0))


@contextlib.asynccontextmanager
async def link_for_a_home(peer: NodeRig) -> AsyncGenerator[str]:
    """What `homing-node pair --role peer` shows there."""
    control = await peer.control()
    async with contextlib.aclosing(control.pair(DeviceRole.PEER, 60)) as events:
        first = await within(anext(events))
        assert isinstance(first, Opened)
        yield first.link


async def control_of(node: NodeRig) -> PeersControl:
    return await node.stack.enter_async_context(PeersControl.connect(node.paths))


async def befriend(home: NodeRig, peer: NodeRig, name: str = "") -> PeerView:
    """`homing-node peers add` on the home."""
    async with link_for_a_home(peer) as link:
        return await (await control_of(home)).add(link, name)


@dataclass
class Three:
    """A home, a peer, and what the home's command line does about it."""

    home: NodeRig
    peer: NodeRig
    control: PeersControl
    clock: Clock
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.peer.running.desk.subscribe(self._changed)

    async def _changed(self) -> None:
        self.news.set()

    async def phone(self, role: DeviceRole = DeviceRole.MEMBER, name: str = "phone") -> Phone:
        """A phone that was just paired with the home."""
        identity = throwaway_identity()
        self.home.running.store.add(paired_device(identity, role, name=name))
        await self.home.running.desk.changed()
        return await self.home.dial(identity)

    async def at_peer(self, phone: Phone) -> Phone:
        """The same phone at the peer."""
        return await self.peer.dial(phone.identity)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of the peer's store, looking again after each change."""
        async with asyncio.timeout(DEADLINE_S):
            while not holds():
                self.news.clear()
                await self.news.wait()

    async def until_known(self, phone: Phone) -> None:
        """Wait until the peer has been told of a phone."""
        await self.until(lambda: self.lives_at_peer(phone.identity))

    def lives_at_peer(self, identity: DeviceIdentity) -> bool:
        entry = self.peer.running.store.lookup(identity.device_id)
        return entry is not None and entry.live(self.clock.now())


@contextlib.asynccontextmanager
async def three(
    folder: Path,
    *,
    home: NodeConfig = LOOPBACK,
    peer: NodeConfig = LOOPBACK,
    clock: Clock | None = None,
) -> AsyncGenerator[Three]:
    """A home that has been paired with a peer."""
    async with (
        node_rig(folder / "attic", named("Attic", home), clock=clock) as attic,
        node_rig(folder / "friend", named("Friend", peer), clock=clock) as friend,
    ):
        await befriend(attic, friend)
        yield Three(attic, friend, await control_of(attic), clock or SystemClock())


async def offered(phone: Phone) -> list[devices_pb2.Peer]:
    """`ListPeers` at the phone's home."""
    stub = devices_pb2_grpc.PeersServiceStub(phone.channel)
    answer = await stub.ListPeers(devices_pb2.ListPeersRequest(), timeout=DEADLINE_S)
    return list(answer.peers)


async def answered(node: NodeRig, phone: Phone, text: str = "hello") -> str:
    """What the node's model says to a phone, driven by hand."""
    request = GenerateRequest(new_generation_id(), (user(text),), "")
    call = phone.inference.Generate(encode_generate_request(request), timeout=DEADLINE_S)
    waiting = asyncio.create_task(all_events(call))
    started = asyncio.create_task(node.engine.started.get())
    await asyncio.wait({waiting, started}, return_when=asyncio.FIRST_COMPLETED)
    if waiting.done():
        started.cancel()
        await waiting  # raises what went wrong
    node.engine.feed(request.id, TextDelta(text[::-1]), Done(FinishReason.STOP))
    events = [numbered.event for numbered in await waiting]
    return "".join(event.text for event in events if isinstance(event, TextDelta))
