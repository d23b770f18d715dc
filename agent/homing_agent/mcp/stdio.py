"""A server as a child process: its own process group, its own environment, no descriptor of ours.

The SDK's own transport reads lines of any length, and cannot say who is told of what the server
prints on standard error; so the pipes are read here, and the SDK gets the streams.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
import mcp_types as types
from homing_core.errors import HomingError
from mcp.shared.message import SessionMessage

from homing_agent.mcp.child import end_of, start_child, stop_child
from homing_agent.mcp.guard import values_in
from homing_agent.mcp.transport import Transport

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from homing_agent.mcp.child import Launch
    from homing_agent.mcp.guard import MessageGuard
    from homing_agent.mcp.leftover import Leftovers
    from homing_agent.mcp.stderr import StderrTail

_CHUNK: Final = 64 << 10
_POLL_SECONDS: Final = 0.01
_REAP_SECONDS: Final = 1.0
_LAST_WORDS_SECONDS: Final = 0.2
_NEWLINE: Final = b"\n"


@asynccontextmanager
async def child_transport(
    launch: Launch, guard: MessageGuard, tail: StderrTail, leftovers: Leftovers
) -> AsyncGenerator[Transport]:
    """Start a server; when the block is left it and everything it started has ended.

    Raises:
        UnavailableError: it cannot be started.
    """
    process = await start_child(launch)
    leftovers.add(process.pid)
    read_in, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, write_out = anyio.create_memory_object_stream[SessionMessage](0)
    transport = Transport(read, write)
    pumps = (
        asyncio.ensure_future(_read(process, read_in, transport, guard)),
        asyncio.ensure_future(_write(process, write_out, transport)),
        asyncio.ensure_future(_listen(process, tail)),
    )
    try:
        yield transport
    finally:
        by_itself = transport.ended.is_set() and not transport.problem
        transport.end("")
        stopping = asyncio.ensure_future(stop_child(process, launch.stop_seconds))
        try:
            await asyncio.shield(stopping)
        except asyncio.CancelledError:
            # A second wish to stop makes it no faster; nothing may be left running.
            await asyncio.wait({stopping})
            raise
        finally:
            if by_itself:
                transport.problem = end_of(stopping.result())
            # What it said last is in the pipe still.
            await asyncio.wait({pumps[-1]}, timeout=_LAST_WORDS_SECONDS)
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for stream in (read_in, read, write, write_out):
                stream.close()
            leftovers.remove(process.pid)


async def _read(
    process: asyncio.subprocess.Process,
    out: MemoryObjectSendStream[SessionMessage | Exception],
    transport: Transport,
    guard: MessageGuard,
) -> None:
    """Messages from its standard output until it ends or is too much."""
    stdout = process.stdout
    if stdout is None:
        return
    line = bytearray()
    with out, contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        try:
            while chunk := await stdout.read(_CHUNK):
                guard.came(len(chunk))
                first, *rest = chunk.split(_NEWLINE)
                line += first
                guard.unfinished(len(line))
                for part in rest:
                    await _deliver(line, out, guard)
                    line = bytearray(part)
        except HomingError as error:
            transport.end(error.what)
        except OSError:
            transport.end("its output cannot be read")
        finally:
            transport.end("")


async def _deliver(
    line: bytearray,
    out: MemoryObjectSendStream[SessionMessage | Exception],
    guard: MessageGuard,
) -> None:
    text = bytes(line).strip()
    if not text:
        guard.garbage()
        return
    guard.intricate(values_in(text))
    try:
        message = types.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValueError:
        guard.garbage()
        return
    guard.message()
    await out.send(SessionMessage(message))


async def _write(
    process: asyncio.subprocess.Process,
    messages: MemoryObjectReceiveStream[SessionMessage],
    transport: Transport,
) -> None:
    stdin = process.stdin
    if stdin is None:
        return
    with messages:
        try:
            async for message in messages:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode("utf-8", "replace") + b"\n")
                await stdin.drain()
        except OSError:
            transport.end("it does not read its input")


async def _listen(process: asyncio.subprocess.Process, tail: StderrTail) -> None:
    stderr = process.stderr
    if stderr is None:
        return
    with contextlib.suppress(OSError):
        while chunk := await stderr.read(_CHUNK):
            tail.feed(chunk)
    tail.finish()
