"""Keeps one server up: starts it, reads its tools, starts it again when it fails.

All of a session happens in one task, because the SDK's cancel scopes belong to the task that
entered them. Calls come from other tasks and only wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, UnavailableError

from homing_agent.mcp.backoff import Timing, pause_after
from homing_agent.mcp.config import HttpServer
from homing_agent.mcp.connection import open_connection, reason_of
from homing_agent.mcp.environment import server_environment
from homing_agent.mcp.guard import MessageGuard, MessageLimits
from homing_agent.mcp.status import ServerState
from homing_agent.mcp.stderr import StderrTail
from homing_agent.mcp.stdio import Launch, child_transport
from homing_agent.mcp.web import web_transport
from homing_agent.runtime.logs import get_logger
from homing_agent.runtime.paths import make_private

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from homing_agent.mcp.config import ServerConfig, StdioServer
    from homing_agent.mcp.connection import Connection
    from homing_agent.mcp.definitions import Definition
    from homing_agent.mcp.leftover import Leftovers
    from homing_agent.mcp.transport import Transport
    from homing_agent.mcp.words import ServerWords

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What servers are started in.

    Attributes:
        folder: holds each server's own working directory.
        leftovers: ends them if this process is killed.
        environ: this process's environment.
        timing: how long things may take.
        limits: what a server may send.
    """

    folder: Path
    leftovers: Leftovers
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    timing: Timing = field(default_factory=Timing)
    limits: MessageLimits = field(default_factory=MessageLimits)


class McpServer:
    """One server.

    Args:
        config: how it is reached.
        words: what the operator says of it.
        surroundings: what it is started in.
        offered: told what it offers, each time that is read.
        changed: told when its state changes.
    """

    def __init__(
        self,
        config: ServerConfig,
        words: ServerWords,
        surroundings: Surroundings,
        offered: Callable[[tuple[Definition, ...]], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        """Nothing is started before `start`."""
        self.config = config
        self.words = words
        self.timing = surroundings.timing
        self.state = ServerState.STOPPED
        self.last_error = ""
        self.failures = 0
        self.protocol = ""
        self._surroundings = surroundings
        self._offered = offered
        self._changed = changed
        self._hashes: dict[str, str] = {}
        self._connection: Connection | None = None
        self._tail: StderrTail | None = None
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._list_changed = False
        self._awake = asyncio.Event()
        self._retry = asyncio.Event()
        self._calls = 0

    @property
    def name(self) -> str:
        """What the configuration calls it."""
        return self.config.name

    @property
    def calls(self) -> int:
        """Calls under way."""
        return self._calls

    def start(self) -> None:
        """Bring it up in the background; harmless if it is."""
        if self._task is None:
            self._set(ServerState.STARTING)
            self._task = asyncio.create_task(self._run(), name=f"mcp {self.name}")

    async def close(self) -> None:
        """End it and everything that it started."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        self._set(ServerState.STOPPED)

    def retry(self) -> None:
        """Do not wait for the pause to end."""
        self._retry.set()

    def offers(self, definition: Definition) -> bool:
        """Whether it offers exactly this now."""
        return self._hashes.get(definition.name) == definition.hash

    async def ready(self) -> Connection:
        """Its session, once it is up.

        Raises:
            UnavailableError: it cannot be brought up now; nothing was asked of it.
        """
        self.retry()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.words.start_seconds + self.timing.stop):
                failures = self.failures
                while self._task is not None and self.failures <= failures:
                    connection = self._connection
                    if connection is not None and not connection.transport.ended.is_set():
                        return connection
                    await self._next_news()
        why = self.last_error or "it is not up"
        msg = f"the MCP server {self.name} is not there: {why}"
        raise UnavailableError(msg, "Look at it with: homing-node tools")

    @contextlib.contextmanager
    def calling(self) -> Generator[None]:
        """Around a call."""
        self._calls += 1
        if self._tail is not None:
            self._tail.hush()
        try:
            yield
        finally:
            self._calls -= 1

    async def settle(self, connection: Connection) -> None:
        """After a call was given up: make sure that the server has read so.

        One that does not answer a ping is stuck in what nobody wants any more, and is ended.
        """
        if self.words.end_on_cancel and not self._calls:
            connection.transport.end("it was ended with the call that was cancelled")
        else:
            try:
                async with asyncio.timeout(self.timing.cancel):
                    await connection.ping()
            except Exception:  # noqa: BLE001  # whatever it is, the server has not answered
                connection.transport.end("it did not answer after a call was cancelled")
        if connection.transport.ended.is_set():
            self._awake.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.timing.stop * 3 + 1):
                    await connection.closed.wait()

    def lose(self, connection: Connection, why: str) -> None:
        """The session is of no use any more: take up another."""
        connection.transport.end(why)
        self._awake.set()

    async def _next_news(self) -> None:
        await self._news.wait()

    def _set(self, state: ServerState) -> None:
        self.state = state
        news, self._news = self._news, asyncio.Event()
        news.set()
        self._changed()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._set(ServerState.STARTING)
            began = loop.time()
            try:
                await self._once()
                why = self.last_error or "it ended"
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                why = "its session broke"
            except Exception as error:  # noqa: BLE001  # a server's failure is never the node's
                why = reason_of(error)
            if loop.time() - began > self.timing.settled:
                self.failures = 0
            self.failures += 1
            self.last_error = why
            pause = pause_after(self.failures, self.timing)
            _log.warning("mcp.failed", name=self.name, reason=why, count=self.failures)
            self._set(ServerState.WAITING)
            self._retry.clear()
            await asyncio.sleep(min(pause, self.timing.first_pause))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, pause - self.timing.first_pause)):
                    await self._retry.wait()

    async def _once(self) -> None:
        """One session, from its start to its end."""
        connection: Connection | None = None
        self._list_changed = False
        problem = ""
        try:
            async with self._way() as transport:
                try:
                    async with open_connection(transport, self._heard) as connection:
                        await self._live(connection)
                except Exception as error:
                    problem = transport.problem or self._said(reason_of(error))
                    raise
                problem = self._said(transport.problem or "it ended")
        except Exception as error:  # noqa: BLE001  # see above
            problem = problem or reason_of(error)
        finally:
            self._connection = None
            self.protocol = ""
            if connection is not None:
                connection.closed.set()
        self.last_error = problem

    async def _live(self, connection: Connection) -> None:
        async with asyncio.timeout(self.words.start_seconds):
            await connection.agree()
            await self._read_tools(connection)
        self._connection = connection
        self.protocol = str(connection.session.protocol_version)
        _log.info("mcp.ready", name=self.name, version=self.protocol, count=len(self._hashes))
        self._set(ServerState.READY)
        watching = asyncio.ensure_future(connection.watch(self._heard))
        ending = asyncio.ensure_future(self._end_of(connection.transport))
        try:
            while not connection.transport.ended.is_set():
                self._awake.clear()
                if self._list_changed:
                    self._list_changed = False
                    async with asyncio.timeout(self.words.start_seconds):
                        await self._read_tools(connection)
                    await asyncio.sleep(self.timing.between_lists)
                    continue
                await self._awake.wait()
        finally:
            for task in (watching, ending):
                task.cancel()
            await asyncio.gather(watching, ending, return_exceptions=True)

    async def _end_of(self, transport: Transport) -> None:
        await transport.ended.wait()
        self._awake.set()

    def _heard(self) -> None:
        self._list_changed = True
        self._awake.set()

    async def _read_tools(self, connection: Connection) -> None:
        definitions = await connection.tools()
        self._hashes = {each.name: each.hash for each in definitions}
        await self._offered(definitions)

    @asynccontextmanager
    async def _way(self) -> AsyncGenerator[Transport]:
        where = self.config.where
        guard = MessageGuard(self._surroundings.limits)
        way: AbstractAsyncContextManager[Transport]
        if isinstance(where, HttpServer):
            self._tail = None
            way = web_transport(where, guard)
        else:
            self._tail = StderrTail(self.name, where.env.values())
            launch = self._launch(where)
            way = child_transport(launch, guard, self._tail, self._surroundings.leftovers)
        async with way as transport:
            yield transport

    def _launch(self, where: StdioServer) -> Launch:
        folder = where.cwd
        if folder is None:
            folder = self._surroundings.folder / self.name
            try:
                make_private(folder)
            except HomingError as error:
                raise UnavailableError(error.what, error.hint) from error
        elif not folder.is_dir():
            msg = f"its working directory {folder} does not exist"
            raise UnavailableError(msg, "Correct cwd in the list of MCP servers.")
        environment = server_environment(
            self._surroundings.environ, self.words.environment, where.env
        )
        return Launch(where.command, where.args, environment, folder, self.timing.stop)

    def _said(self, why: str) -> str:
        """Why it failed, with the last line that it printed about it."""
        last = self._tail.last if self._tail is not None else ""
        return f"{why}; it last said: {last}" if last else why
