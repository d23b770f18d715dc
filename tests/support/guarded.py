"""A real gRPC server and client over loopback, guarded as a node's main port is."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
from homing_core.access import AccessRule, DeviceRole, Scope
from homing_core.errors import OverloadedError, RefusedError
from homing_core.testing import FakeClock
from homing_crypto.credentials import client_channel, server_credentials
from homing_crypto.guard import Guard
from homing_crypto.live_calls import LiveCalls
from homing_crypto.rpc_guard import RpcGuard, current_caller
from homing_crypto.testing import MemoryTrustStore, throwaway_identity
from homing_crypto.transport import SERVER_OPTIONS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from homing_crypto.identity import DeviceIdentity
    from homing_crypto.rpc_requests import RequestLimits

Context = grpc.aio.ServicerContext[Any, Any]

SERVICE = "test.Echo"
DEADLINE_S = 30.0
PROMPT = "the prompt was: my bank balance"


def read(raw: bytes) -> str:
    """Stands in for a generated message's FromString: raises on malformed bytes."""
    return raw.decode("utf-8")


def same(raw: bytes) -> bytes:
    return raw


def write(text: str | bytes) -> bytes:
    """Stands in for SerializeToString; gRPC itself encodes text that is streamed."""
    return text if isinstance(text, bytes) else text.encode("utf-8")


@dataclass
class Echo:
    """One handler of each kind, and some that go wrong."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    parsed: list[str] = field(default_factory=list[str])

    def read(self, raw: bytes) -> str:
        text = read(raw)
        self.parsed.append(text)
        return text

    async def unary(self, request: str, context: Context) -> str:
        del context
        return f"{current_caller().device.name}: {request}"

    async def stream(self, request: str, context: Context) -> AsyncIterator[str]:
        del context
        for letter in request:
            yield letter

    async def collect(self, requests: AsyncIterator[str], context: Context) -> str:
        del context
        return "".join([request async for request in requests])

    async def both(self, requests: AsyncIterator[str], context: Context) -> AsyncIterator[str]:
        del context
        async for request in requests:
            yield request.upper()

    async def endless(self, request: str, context: Context) -> AsyncIterator[str]:
        del context
        try:
            yield request
            self.started.set()
            await asyncio.Event().wait()
        finally:
            self.finished.set()

    async def flood(self, request: str, context: Context) -> AsyncIterator[str]:
        del context
        self.started.set()
        try:
            while True:
                yield request * 100_000
        finally:
            self.finished.set()

    async def writer(self, request: str, context: Context) -> None:
        for letter in request:
            await context.write(letter)

    async def waiting(self, request: str, context: Context) -> str:
        del context
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.finished.set()
        return request

    async def crash(self, request: str, context: Context) -> str:
        del context, request
        raise ValueError(PROMPT)

    async def crash_midway(self, request: str, context: Context) -> AsyncIterator[str]:
        del context
        yield request
        raise ValueError(PROMPT)

    async def unwritable(self, request: str, context: Context) -> str:
        del context
        return request + "\udc80"

    async def overloaded(self, request: str, context: Context) -> str:
        del context, request
        msg = "the node has its hands full"
        raise OverloadedError(msg, "Wait, then ask again: später.", retry_after_ms=1500)

    async def refused_midway(self, request: str, context: Context) -> AsyncIterator[str]:
        del context
        yield request
        msg = "enough for today"
        raise RefusedError(msg, "Come back tomorrow.")

    async def cancelled(self, request: str, context: Context) -> str:
        del context, request
        raise asyncio.CancelledError

    async def own_abort(self, request: str, context: Context) -> str:
        await context.abort(grpc.StatusCode.FAILED_PRECONDITION, request)

    async def own_status(self, request: str, context: Context) -> None:
        context.set_code(grpc.StatusCode.NOT_FOUND)
        context.set_details(request)

    def not_built(self, request: str, context: Context) -> str:
        """As the generated servicers have it."""
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        raise NotImplementedError(request)

    def handlers(self) -> grpc.GenericRpcHandler:
        unary: Any = grpc.unary_unary_rpc_method_handler
        stream: Any = grpc.unary_stream_rpc_method_handler
        table = {
            "Collect": grpc.stream_unary_rpc_method_handler(self.collect, self.read, write),
            "Both": grpc.stream_stream_rpc_method_handler(self.both, self.read, write),
        }
        for name, kind, method in (
            ("Unary", unary, self.unary),
            ("Closed", unary, self.unary),
            ("OwnersOnly", unary, self.unary),
            ("NeedsTools", unary, self.unary),
            ("Waiting", unary, self.waiting),
            ("Crash", unary, self.crash),
            ("Unwritable", unary, self.unwritable),
            ("Overloaded", unary, self.overloaded),
            ("Cancelled", unary, self.cancelled),
            ("OwnAbort", unary, self.own_abort),
            ("OwnStatus", unary, self.own_status),
            ("NotBuilt", unary, self.not_built),
            ("Stream", stream, self.stream),
            ("Endless", stream, self.endless),
            ("Flood", stream, self.flood),
            ("Writer", stream, self.writer),
            ("CrashMidway", stream, self.crash_midway),
            ("RefusedMidway", stream, self.refused_midway),
        ):
            table[name] = kind(method, self.read, write)
        return grpc.method_handlers_generic_handler(SERVICE, table)

    def rules(self) -> dict[str, AccessRule]:
        names = (
            "Unary Waiting Crash Unwritable Overloaded Cancelled OwnAbort OwnStatus NotBuilt Stream"
            " Endless Flood Writer CrashMidway RefusedMidway Collect Both Unknown"
        )
        rules = {f"/{SERVICE}/{name}": AccessRule() for name in names.split()}
        rules[f"/{SERVICE}/OwnersOnly"] = AccessRule(roles=frozenset({DeviceRole.OWNER}))
        rules[f"/{SERVICE}/NeedsTools"] = AccessRule(scope=Scope.TOOLS)
        return rules


class Client:
    """Calls the echo service over one channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel

    async def unary(self, method: str, text: str = "hi") -> str:
        return await self.raw_unary(method, text.encode())

    async def raw_unary(self, method: str, raw: bytes) -> str:
        call = self.channel.unary_unary(f"/{SERVICE}/{method}", same, read)
        return await call(raw, timeout=DEADLINE_S)

    def stream(self, method: str, text: str = "hi") -> grpc.aio.UnaryStreamCall[bytes, str]:
        call = self.channel.unary_stream(f"/{SERVICE}/{method}", same, read)
        return call(text.encode(), timeout=DEADLINE_S)

    async def collect(self, *messages: bytes) -> str:
        call = self.channel.stream_unary(f"/{SERVICE}/Collect", same, read)
        return await call(_each(messages), timeout=DEADLINE_S)

    async def both(self, *messages: bytes) -> list[str]:
        call = self.channel.stream_stream(f"/{SERVICE}/Both", same, read)
        return [answer async for answer in call(_each(messages), timeout=DEADLINE_S)]


async def _each(messages: tuple[bytes, ...]) -> AsyncIterator[bytes]:
    for message in messages:
        yield message


@dataclass
class GuardedServer:
    """A guarded server that runs.

    Attributes:
        identity: the node's.
        store: whom it knows; starts empty.
        bundle: what TLS asks for its roots; the store's by default. May be swapped while it runs.
        port: on 127.0.0.1.
    """

    identity: DeviceIdentity
    store: MemoryTrustStore
    clock: FakeClock
    calls: LiveCalls
    echo: Echo
    bundle: Callable[[], bytes]
    port: int = 0

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    @contextlib.asynccontextmanager
    async def client(
        self, device: DeviceIdentity, node: DeviceIdentity | None = None
    ) -> AsyncGenerator[Client]:
        certificate = (node or self.identity).certificate
        async with client_channel(self.target, device, certificate) as channel:
            yield Client(channel)


@contextlib.asynccontextmanager
async def guarded_server(
    options: tuple[tuple[str, int], ...] = (),
    *,
    require_hybrid: bool = False,
    requests: RequestLimits | None = None,
) -> AsyncGenerator[GuardedServer]:
    clock = FakeClock()
    store = MemoryTrustStore(clock)
    running = GuardedServer(
        throwaway_identity(), store, clock, LiveCalls(), Echo(), store.roots_pem
    )
    guard = Guard(running.echo.rules(), store, clock, require_hybrid=require_hybrid)
    server = grpc.aio.server(
        handlers=[running.echo.handlers()],
        interceptors=[RpcGuard(guard.authorize, running.calls, requests=requests)],
        options=[*SERVER_OPTIONS, *options],
    )
    credentials = server_credentials(running.identity, lambda: running.bundle())  # noqa: PLW0108  # tests swap the bundle
    running.port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    try:
        yield running
    finally:
        await server.stop(0)
