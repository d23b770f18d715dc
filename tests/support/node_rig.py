"""A whole node in this process: real TLS on loopback, real stores, an engine driven by hand."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import grpc.aio
import pytest
from homing_agent.runtime.model_host import ModelStatus, Phase
from homing_agent.runtime.paths import program_paths
from homing_agent.runtime.testing import HeldSource
from homing_core.access import DeviceRole, Scope
from homing_core.clock import SystemClock
from homing_crypto.credentials import client_channel
from homing_crypto.identity import DeviceIdentity
from homing_crypto.rpc_errors import error_from_rpc
from homing_crypto.testing import paired_device, throwaway_identity
from homing_node.assembly import NodeOptions, RunningNode, running_node
from homing_node.config import DiscoverySection, ListenSection, NodeConfig, NodeSection
from homing_node.jobs.workflows import MemoryWorkflows
from homing_node.models.slots import ConfiguredModel
from homing_node.rpc.control_client import ControlClient
from homing_node.tools import NoTools
from homing_proto.codec.events import decode_numbered
from homing_proto.v1 import inference_pb2, inference_pb2_grpc, node_pb2_grpc
from support.fed_engine import FedEngine

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine
    from pathlib import Path

    from homing_agent.runtime.paths import ProgramPaths
    from homing_core.clock import Clock
    from homing_core.errors import HomingError
    from homing_core.generation import Numbered
    from homing_crypto.certificates import CheckedCertificate
    from homing_node.tools import HomeTools

T = TypeVar("T")

DEADLINE_S = 60.0
"""Longer than a phone tries a pairing server that closes while it is found: three times 10 s."""
LOOPBACK = NodeConfig(
    node=NodeSection(name="den", drain_seconds=0.0),
    listen=ListenSection(host="127.0.0.1", port=0),
    discovery=DiscoverySection(mdns=False),
)


async def within(work: Coroutine[object, object, T]) -> T:
    """Bound a wait that a failing test would not end."""
    return await asyncio.wait_for(work, DEADLINE_S)


Generated: TypeAlias = (
    "grpc.aio.UnaryStreamCall[inference_pb2.GenerateRequest, inference_pb2.GenerateResponse]"
)
Resumed: TypeAlias = (
    "grpc.aio.UnaryStreamCall[inference_pb2.ResumeRequest, inference_pb2.ResumeResponse]"
)
Events: TypeAlias = "Generated | Resumed"


async def next_event(call: Events) -> Numbered | None:
    """The next event of a stream; None at its end."""
    answer = await within(call.read())
    if isinstance(answer, inference_pb2.GenerateResponse | inference_pb2.ResumeResponse):
        return decode_numbered(answer.event)
    return None


async def all_events(call: Events) -> list[Numbered]:
    """The rest of a stream."""
    found: list[Numbered] = []
    while (event := await next_event(call)) is not None:
        found.append(event)
    return found


async def refusal(call: Awaitable[object] | Events) -> HomingError:
    """The error with which a call ends."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (within(_awaited(call)) if isinstance(call, Awaitable) else all_events(call))
    return error_from_rpc(caught.value)


async def _awaited(call: Awaitable[object]) -> object:
    return await call


async def send_raw(
    channel: grpc.aio.Channel, method: str, data: bytes, *, stream: bool = False
) -> bytes | None:
    """Send bytes as they are; the answer, or the first of a stream."""
    if stream:
        many: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = channel.unary_stream(method)
        answer = await within(many(data).read())
        return answer if isinstance(answer, bytes) else None
    one: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
    return await one(data, timeout=DEADLINE_S)


@dataclass
class Phone:
    """A device with an open channel to the node."""

    identity: DeviceIdentity
    channel: grpc.aio.Channel

    @property
    def node(self) -> node_pb2_grpc.NodeServiceAsyncStub:
        return node_pb2_grpc.NodeServiceStub(self.channel)

    @property
    def inference(self) -> inference_pb2_grpc.InferenceServiceAsyncStub:
        return inference_pb2_grpc.InferenceServiceStub(self.channel)


@dataclass
class NodeRig:
    """A running node and everything a test wants to hold."""

    running: RunningNode
    engine: FedEngine
    source: HeldSource
    paths: ProgramPaths
    stop: asyncio.Event
    stack: contextlib.AsyncExitStack = field(repr=False)

    @property
    def certificate(self) -> CheckedCertificate:
        return DeviceIdentity.load_or_create(self.paths.data_dir, SystemClock()).certificate

    async def phone(
        self,
        role: DeviceRole = DeviceRole.OWNER,
        scopes: frozenset[Scope] | None = None,
        *,
        paired: bool = True,
    ) -> Phone:
        identity = throwaway_identity()
        if paired:
            self.running.store.add(paired_device(identity, role, scopes))
        return await self.dial(identity)

    async def dial(self, identity: DeviceIdentity) -> Phone:
        target = f"127.0.0.1:{self.running.port}"
        channel = client_channel(target, identity, self.certificate)
        return Phone(identity, await self.stack.enter_async_context(channel))

    async def control(self) -> ControlClient:
        return await self.stack.enter_async_context(ControlClient.connect(self.paths))


def only(source: HeldSource) -> tuple[ConfiguredModel, ...]:
    """A node's models, where there is one."""
    return (ConfiguredModel(ModelStatus("default", Phase.UNLOADED), source),)


@contextlib.asynccontextmanager
async def node_rig(  # noqa: PLR0913  # each is a part of its own
    folder: Path,
    config: NodeConfig = LOOPBACK,
    *,
    ready: bool = True,
    also: tuple[ConfiguredModel, ...] = (),
    clock: Clock | None = None,
    tools: HomeTools | None = None,
) -> AsyncGenerator[NodeRig]:
    """Run a node in `folder`, its model loaded unless `ready` is false.

    Args:
        folder: for everything that it keeps.
        config: how it is set.
        ready: whether its default model is loaded at once.
        also: further models.
        clock: for everything that it stores; None is the machine's.
        tools: what it can run; None is nothing.
    """
    engine = FedEngine()
    source = HeldSource(engine, ready=ready)
    paths = program_paths("homing-node", "node", folder / "node", environ={})
    stop = asyncio.Event()
    options = NodeOptions(
        paths,
        config,
        (*only(source), *also),
        clock=clock or SystemClock(),
        tools=tools or NoTools(),
        workflows=MemoryWorkflows(),  # several nodes share this process
    )
    async with running_node(options, stop) as running:
        if ready:
            await within(running.models.settled())
        else:
            await within(source.asked.wait())
        async with contextlib.AsyncExitStack() as channels:
            yield NodeRig(running, engine, source, paths, stop, channels)
