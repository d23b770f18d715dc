"""A server as a child process: its own process group, its own environment, no descriptor of ours.

The SDK's own transport reads lines of any length, and cannot say who is told of what the server
prints on standard error; so the pipes are read here, and the SDK gets the streams.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio
import mcp_types as types
from homing_core.errors import HomingError, UnavailableError
from homing_core.labels import clean_label
from mcp.shared.message import SessionMessage

from homing_agent.mcp.guard import values_in
from homing_agent.mcp.transport import Transport

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from pathlib import Path

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from homing_agent.mcp.guard import MessageGuard
    from homing_agent.mcp.leftover import Leftovers
    from homing_agent.mcp.stderr import StderrTail

_CHUNK: Final = 64 << 10
_POLL_SECONDS: Final = 0.01
_REAP_SECONDS: Final = 1.0
_NEWLINE: Final = b"\n"


@dataclass(frozen=True, slots=True)
class Launch:
    """How a server is started and stopped.

    Attributes:
        command: a program, found on the server's PATH unless it is a path.
        args: its arguments.
        environment: all of it.
        folder: its working directory.
        stop_seconds: how long it may take to leave when its input ends, and again when it is
            told to.
    """

    command: str
    args: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    stop_seconds: float


@asynccontextmanager
async def child_transport(
    launch: Launch, guard: MessageGuard, tail: StderrTail, leftovers: Leftovers
) -> AsyncGenerator[Transport]:
    """Start a server; when the block is left it and everything it started has ended.

    Raises:
        UnavailableError: it cannot be started.
    """
    process = await _start(launch)
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
        transport.end("it was stopped")
        stopping = asyncio.ensure_future(_stop(process, launch.stop_seconds))
        try:
            await asyncio.shield(stopping)
        except asyncio.CancelledError:
            # A second wish to stop makes it no faster; nothing may be left running.
            await asyncio.wait({stopping})
            raise
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for stream in (read_in, read, write, write_out):
                stream.close()
            leftovers.remove(process.pid)


async def _start(launch: Launch) -> asyncio.subprocess.Process:
    path = shutil.which(launch.command, path=launch.environment.get("PATH", os.defpath))
    if path is None:
        msg = f"there is no program {clean_label(launch.command)}"
        raise UnavailableError(msg, "Install it, or correct command in the list of MCP servers.")
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            path,
            *launch.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=launch.environment,
            cwd=launch.folder,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its arguments are malformed"
        msg = f"{clean_label(launch.command)} cannot be started: {reason}"
        raise UnavailableError(msg, "Run it by hand to see why.") from error
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await _stop(starting.result(), 0)
        raise


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


async def _stop(process: asyncio.subprocess.Process, grace: float) -> None:
    """End its input, then tell it, then kill it, and all that it started with it.

    The order is the specification's (2025-11-25, basic/lifecycle, shutdown).
    """
    if process.stdin is not None:
        process.stdin.close()
    if not await _gone(process, grace):
        _signal(process.pid, signal.SIGTERM)
        await _gone(process, grace)
    _signal(process.pid, signal.SIGKILL)
    await _gone(process, max(grace, _REAP_SECONDS))
    # A descendant that left the group may hold a pipe open; nobody listens any more.
    inner = getattr(process, "_transport", None)
    if isinstance(inner, asyncio.SubprocessTransport):
        with contextlib.suppress(OSError):
            inner.close()


async def _gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether the whole group ended in time."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        if process.returncode is not None and not _signal(process.pid, 0):
            return True
        await asyncio.sleep(_POLL_SECONDS)
    return False


def _signal(group: int, number: int) -> bool:
    """Whether anybody of the group was there to get it."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
