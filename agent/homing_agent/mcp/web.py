"""A server over streamable HTTP, held to the same limits as a child process."""

from __future__ import annotations

from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import anyio
import httpx2
from homing_core.errors import HomingError, InvalidDataError
from mcp.client.streamable_http import streamable_http_client

from homing_agent.mcp.guard import values_in
from homing_agent.mcp.transport import Transport

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from types import TracebackType
    from typing import Self

    from mcp.client._transport import ReadStream
    from mcp.shared.message import SessionMessage

    from homing_agent.mcp.config import HttpServer
    from homing_agent.mcp.guard import MessageGuard

_CONNECT_SECONDS: Final = 10.0
_SESSION: Final = "mcp-session-id"
_FAREWELL_SECONDS: Final = 1.0


@asynccontextmanager
async def web_transport(where: HttpServer, guard: MessageGuard) -> AsyncGenerator[Transport]:
    """Open the way to a server.

    Raises:
        ExceptionGroup: the connection broke; it holds what httpx2 said.
    """
    watch = _Watch(guard)
    client = httpx2.AsyncClient(
        headers={"accept-encoding": "identity", **where.headers},
        # A stream of events may be silent for hours; calls have limits of their own.
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
        event_hooks={"request": [_bound_farewell], "response": [watch]},
    )
    async with (
        client,
        streamable_http_client(
            where.url,
            http_client=client,
            max_sse_event_size=guard.limits.message_bytes,
        ) as (read, write),
    ):
        transport = Transport(read, write)
        transport.read = _Counted(read, guard, transport)
        watch.transport = transport
        yield transport


async def _bound_farewell(request: httpx2.Request) -> None:
    """The end of a session is told, and not waited for."""
    if request.method == "DELETE":
        request.extensions["timeout"] = httpx2.Timeout(_FAREWELL_SECONDS).as_dict()


class _Watch:
    """Sees each response before its body is read."""

    def __init__(self, guard: MessageGuard) -> None:
        self.transport: Transport | None = None
        self._guard = guard

    async def __call__(self, response: httpx2.Response) -> None:
        unknown = response.status_code == HTTPStatus.NOT_FOUND
        if unknown and _SESSION in response.request.headers and self.transport is not None:
            # The specification's word for it (2025-11-25, basic/transports, session management).
            self.transport.forgotten = True
        if response.headers.get("content-encoding", "identity").lower() not in {"", "identity"}:
            # What a few bytes unpack to cannot be bounded beforehand.
            msg = "it packs its answers, which it was told not to"
            raise InvalidDataError(msg, "Look for another version of it.")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            events = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = _Watched(response.stream, self, events=events)

    def count(self, chunk: int, size: int, values: int) -> None:
        """So much came. Raises `OverloadedError`."""
        try:
            self._guard.came(chunk)
            self._guard.unfinished(size)
            self._guard.intricate(values)
        except HomingError as error:
            if self.transport is not None:
                self.transport.end(error.what)
            raise


class _Watched(httpx2.AsyncByteStream):
    """A response's body whose bytes are counted as they come."""

    def __init__(self, inner: httpx2.AsyncByteStream, watch: _Watch, *, events: bool) -> None:
        self._inner = inner
        self._watch = watch
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = values = 0
        async for chunk in self._inner:
            if self._events and (b"\n\n" in chunk or b"\r\n\r\n" in chunk):
                size = values = 0
            size += len(chunk)
            values += values_in(chunk)
            self._watch.count(len(chunk), size, values)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Counted:
    """The SDK's stream of messages, which ends when there are too many of them."""

    def __init__(
        self,
        inner: ReadStream[SessionMessage | Exception],
        guard: MessageGuard,
        transport: Transport,
    ) -> None:
        self._inner = inner
        self._guard = guard
        self._transport = transport

    @property
    def last_context(self) -> object:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        item = await self._inner.receive()
        try:
            self._guard.message()
        except HomingError as error:
            self._transport.end(error.what)
            raise anyio.EndOfStream from error
        return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        del exc_type, exc_val, exc_tb
        await self.aclose()
        return None
