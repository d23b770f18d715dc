"""Keeps one server up: starts it, reads its tools, starts it again when it fails.

All of a session happens in one task, because the SDK's cancel scopes belong to the task that
entered them. Calls come from other tasks and only wait for it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_core.errors import UnavailableError

from homing_agent.mcp.backoff import Pause, pause_after
from homing_agent.mcp.config import HttpServer
from homing_agent.mcp.connection import open_connection, reason_of
from homing_agent.mcp.settling import Settler
from homing_agent.mcp.status import ServerState
from homing_agent.mcp.stderr import StderrTail
from homing_agent.mcp.ways import open_way
from homing_agent.runtime.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from homing_agent.mcp.config import ServerConfig
    from homing_agent.mcp.connection import Connection
    from homing_agent.mcp.definitions import Definition
    from homing_agent.mcp.transport import Transport
    from homing_agent.mcp.ways import Surroundings
    from homing_agent.mcp.words import ServerWords

_log = get_logger(__name__)


class McpServer:
    """One server.

    Args:
        config: how it is reached.
        words: what the operator says of it.
        surroundings: what it is started in.
        told: told what it offers, each time that is read.
        changed: told when its state changes.
    """

    def __init__(
        self,
        config: ServerConfig,
        words: ServerWords,
        surroundings: Surroundings,
        told: Callable[[tuple[Definition, ...]], Awaitable[None]],
        changed: Callable[[], None],
    ) -> None:
        """Nothing is started before `start`."""
        self.config = config
        self.name = config.name
        self.words = words
        self.timing = surroundings.timing
        self.state = ServerState.STOPPED
        self.last_error = ""
        self.failures = 0
        self.protocol = ""
        self._surroundings = surroundings
        self._told = told
        self._changed = changed
        self._offers: dict[str, Definition] = {}
        self._connection: Connection | None = None
        self._tail: StderrTail | None = None
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._list_changed = False
        self._awake = asyncio.Event()
        self._pause = Pause(self.timing)
        self._calls = 0
        self._tries = 0
        self._settler = Settler(self)

    def start(self) -> None:
        """Bring it up in the background; harmless if it is."""
        if self._task is None:
            self._set(ServerState.STARTING)
            self._task = asyncio.create_task(self._run(), name=f"mcp {self.name}")

    async def close(self) -> None:
        """End it and everything that it started."""
        task, self._task = self._task, None
        if task is None:
            return
        while not task.done():
            # A wish to stop that meets a failing task group is lost in it (anyio 4), so it is said
            # again, and looked for at each turn.
            self._awake.set()
            self._pause.end()
            task.cancel()
            await asyncio.wait({task}, timeout=self.timing.stop * 2 + 1)
        await self._settler.close()
        self._set(ServerState.STOPPED)

    def retry(self) -> None:
        """Do not wait for the pause to end."""
        self._pause.end()

    def offered(self, definition: Definition) -> Definition | None:
        """What it offers now that is described exactly so; None if it does not."""
        offer = self._offers.get(definition.name)
        return offer if offer is not None and offer.hash == definition.hash else None

    async def ready(self) -> Connection:
        """Its session, once it is up.

        Raises:
            UnavailableError: it cannot be brought up now; nothing was asked of it.
        """
        self.retry()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.words.start_seconds + self.timing.stop):
                tries = self._tries
                while self._wished and self._tries == tries:
                    connection = self._connection
                    if connection is not None and not connection.transport.ended.is_set():
                        return connection
                    await self._news.wait()
        msg = f"the MCP server {self.name} is not there: {self.last_error or 'it is not up'}"
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

    async def settle(self, connection: Connection, first: Awaitable[None] | None = None) -> None:
        """After a call was given up; see `Settler.settle`."""
        await self._settler.settle(connection, first)

    @property
    def calls(self) -> int:
        """Calls under way, those that are given up included."""
        return self._calls

    def lose(self, connection: Connection, why: str) -> None:
        """The session is of no use any more: take up another."""
        connection.transport.end(why)
        self._awake.set()

    def _set(self, state: ServerState) -> None:
        self.state = state
        news, self._news = self._news, asyncio.Event()
        news.set()
        self._changed()

    @property
    def _wished(self) -> bool:
        """Whether it shall be up."""
        return self._task is not None

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._wished:
            self._set(ServerState.STARTING)
            began = loop.time()
            try:
                await self._once()
            except asyncio.CancelledError:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                self.last_error = "its session broke"  # a cancel scope of the SDK's leaked
            if not self._wished:
                return
            if loop.time() - began > self.timing.settled:
                self.failures = 0
            self.failures += 1
            self._tries += 1
            _log.warning("mcp.failed", name=self.name, reason=self.last_error, count=self.failures)
            self._set(ServerState.WAITING)
            await self._pause.wait(pause_after(self.failures, self.timing))

    async def _once(self) -> None:
        """One session, from its start to its end; why it ended stands in `last_error`."""
        connection: Connection | None = None
        transport: Transport | None = None
        failure: Exception | None = None
        self._list_changed = False
        where = self.config.where
        secrets = () if isinstance(where, HttpServer) else where.env.values()
        tail = self._tail = StderrTail(self.name, secrets)
        try:
            async with (
                open_way(self.config, self.words, self._surroundings, tail) as transport,
                open_connection(transport, self._heard) as connection,
            ):
                await self._live(connection)
        except Exception as error:  # noqa: BLE001  # a server's failure is never the node's
            failure = error
        finally:
            self._connection = None
            self.protocol = ""
            if connection is not None:
                connection.closed.set()
        why = transport.problem if transport is not None else ""
        if not why:
            why = reason_of(failure) if failure is not None else "it ended"
        self.last_error = f"{why}; it last said: {tail.last}" if tail.last else why

    async def _live(self, connection: Connection) -> None:
        async with asyncio.timeout(self.words.start_seconds):
            await connection.agree()
            await self._read_tools(connection)
        self._connection = connection
        self.protocol = str(connection.session.protocol_version)
        _log.info("mcp.ready", name=self.name, version=self.protocol, count=len(self._offers))
        self._set(ServerState.READY)
        watching = asyncio.ensure_future(connection.watch(self._heard))
        ending = asyncio.ensure_future(self._end_of(connection.transport))
        try:
            while self._wished and not connection.transport.ended.is_set():
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
        self._offers = {each.name: each for each in definitions}
        await self._told(definitions)
