"""A node over real TLS that does what a test says: it can die, come back, forget and lie."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
from homing_client.config import HomeSection
from homing_client.homes import HomeLinks
from homing_client.keys import OneKey
from homing_core.access import DeviceRole, Scope
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, NotFoundError
from homing_core.generation import Numbered
from homing_core.nodes import NodeInfo, NodeLoad, ServedModel
from homing_core.tools import Place
from homing_crypto.credentials import server_credentials
from homing_crypto.nodes import KnownNode
from homing_crypto.rpc_errors import status_parts
from homing_crypto.testing import MemoryNodeBook, throwaway_identity
from homing_proto.codec.events import encode_numbered
from homing_proto.codec.nodes import encode_node_info
from homing_proto.v1 import inference_pb2, inference_pb2_grpc, node_pb2, node_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from homing_core.generation import GenerationEvent
    from homing_crypto.identity import DeviceIdentity
    from homing_discovery.boundaries import Browser

Context = grpc.aio.ServicerContext[Any, Any]

MODELS = (ServedModel("big:bf16", "BF16", loaded=True), ServedModel("small:q4_k_m", stand_in=True))


@dataclass
class _Generation:
    """What a node holds of one generation."""

    events: list[Numbered] = field(default_factory=list[Numbered])
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, event: Numbered) -> None:
        self.events.append(event)
        self.news.set()
        self.news = asyncio.Event()


class FakeHome(node_pb2_grpc.NodeServiceServicer, inference_pb2_grpc.InferenceServiceServicer):
    """One node.

    Attributes:
        identity: its key.
        admits: the phones whose connections it takes.
        asked: every `Generate`, as it comes.
        resumed: the number after which each `Resume` reads on.
        acked: id and number of every `Ack`.
        cancelled: id of every `Cancel`.
        error: raised by every call, if set.
        silent: `GetNode` waits until it is cleared.
    """

    def __init__(self, *admits: DeviceIdentity, name: str = "den") -> None:
        self.identity = throwaway_identity()
        self.admits = list(admits)
        self.info = NodeInfo(
            id=self.identity.device_id,
            name=name,
            version="0.1.0",
            models=MODELS,
            default_model=MODELS[0].name,
            load=NodeLoad(),
            role=DeviceRole.OWNER,
            scopes=frozenset({Scope.INFERENCE}),
        )
        self.asked: asyncio.Queue[inference_pb2.GenerateRequest] = asyncio.Queue()
        self.resumed: asyncio.Queue[int] = asyncio.Queue()
        self.acked: asyncio.Queue[tuple[str, int]] = asyncio.Queue()
        self.cancelled: asyncio.Queue[str] = asyncio.Queue()
        self.error: HomingError | None = None
        self.silent = False
        self.port = 0
        self._generations: dict[str, _Generation] = {}
        self._server: grpc.aio.Server | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def known(self, *addresses: str, place: Place = Place.HOME, paired_at: float = 0) -> KnownNode:
        """What a phone's book says of it."""
        return KnownNode(
            id=self.identity.device_id,
            certificate_der=self.identity.certificate.der,
            hpke_public_key=self.identity.hpke.public_bytes,
            name=self.info.name,
            place=place,
            role=DeviceRole.OWNER,
            scopes=frozenset({Scope.INFERENCE}),
            addresses=addresses or (self.address,),
            paired_at=paired_at,
        )

    async def start(self) -> None:
        """Listen, after the first time at the same port."""
        server = grpc.aio.server()
        node_pb2_grpc.add_NodeServiceServicer_to_server(self, server)
        inference_pb2_grpc.add_InferenceServiceServicer_to_server(self, server)
        credentials = server_credentials(self.identity, self._bundle)
        self.port = server.add_secure_port(f"127.0.0.1:{self.port}", credentials)
        await server.start()
        self._server = server

    async def die(self) -> None:
        """End all connections at once."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(0)

    def forget(self) -> None:
        """Lose every generation, as a restart does."""
        self._generations.clear()

    def feed(self, generation: str, *events: GenerationEvent) -> None:
        """Go on with a generation."""
        for event in events:
            seq = len(self._generation(generation).events) + 1
            self.feed_numbered(generation, Numbered(seq, event))

    def feed_numbered(self, generation: str, event: Numbered) -> None:
        """Go on with whatever number."""
        self._generation(generation).add(event)

    async def GetNode(  # noqa: N802  # the wire's name
        self, request: node_pb2.GetNodeRequest, context: Context
    ) -> node_pb2.GetNodeResponse:
        del request
        await self._fail(context)
        if self.silent:
            await asyncio.Event().wait()
        return encode_node_info(self.info)

    async def Generate(  # noqa: N802  # the wire's name
        self, request: inference_pb2.GenerateRequest, context: Context
    ) -> AsyncIterator[inference_pb2.GenerateResponse]:
        await self._fail(context)
        self.asked.put_nowait(request)
        async for event in self._read(self._generation(request.generation_id), 0):
            yield inference_pb2.GenerateResponse(event=encode_numbered(event))

    async def Resume(  # noqa: N802  # the wire's name
        self, request: inference_pb2.ResumeRequest, context: Context
    ) -> AsyncIterator[inference_pb2.ResumeResponse]:
        await self._fail(context)
        generation = self._generations.get(request.generation_id)
        if generation is None:
            await context.abort(*status_parts(NotFoundError("there is no such generation")))
        self.resumed.put_nowait(request.after_seq)
        async for event in self._read(generation, request.after_seq):
            yield inference_pb2.ResumeResponse(event=encode_numbered(event))

    async def Ack(  # noqa: N802  # the wire's name
        self, request: inference_pb2.AckRequest, context: Context
    ) -> inference_pb2.AckResponse:
        del context
        self.acked.put_nowait((request.generation_id, request.up_to_seq))
        return inference_pb2.AckResponse()

    async def Cancel(  # noqa: N802  # the wire's name
        self, request: inference_pb2.CancelRequest, context: Context
    ) -> inference_pb2.CancelResponse:
        del context
        self.cancelled.put_nowait(request.generation_id)
        return inference_pb2.CancelResponse()

    def _bundle(self) -> bytes:
        return b"".join(phone.certificate.pem for phone in self.admits)

    def _generation(self, name: str) -> _Generation:
        return self._generations.setdefault(name, _Generation())

    async def _read(self, generation: _Generation, after: int) -> AsyncGenerator[Numbered, None]:
        seen = 0
        while True:
            news = generation.news
            while seen < len(generation.events):
                event = generation.events[seen]
                seen += 1
                if event.seq > after:
                    yield event
                if event.final:
                    return
            await news.wait()

    async def _fail(self, context: Context) -> None:
        if self.error is not None:
            await context.abort(*status_parts(self.error))


@contextlib.asynccontextmanager
async def fake_home(*admits: DeviceIdentity, name: str = "den") -> AsyncGenerator[FakeHome]:
    """A node that listens."""
    home = FakeHome(*admits, name=name)
    await home.start()
    try:
        yield home
    finally:
        await home.die()


@contextlib.asynccontextmanager
async def home_links(
    phone: DeviceIdentity,
    *nodes: KnownNode,
    settings: HomeSection | None = None,
    browser: Browser | None = None,
    resume_s: float = 10.0,
) -> AsyncGenerator[tuple[HomeLinks, MemoryNodeBook]]:
    """A phone's way to these nodes, and its book."""
    book = MemoryNodeBook()
    for node in nodes:
        book.add(node)
    section = settings or HomeSection(mdns=False, reach_seconds=5.0)
    links = HomeLinks(OneKey(phone), book, section, browser, SystemClock(), resume_s)
    try:
        yield links, book
    finally:
        await links.close()
