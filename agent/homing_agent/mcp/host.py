"""All MCP servers of this device, and the tools of theirs that the operator has allowed."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, NotFoundError, UnavailableError
from homing_core.labels import clean_label
from homing_core.tools import Place

from homing_agent.mcp.backoff import Timing
from homing_agent.mcp.config import HttpServer
from homing_agent.mcp.guard import MessageLimits
from homing_agent.mcp.leftover import Leftovers
from homing_agent.mcp.offers import Offers
from homing_agent.mcp.sdk import load_servers
from homing_agent.mcp.status import ServerState, ServerStatus, not_offered_of
from homing_agent.mcp.tools import McpTool
from homing_agent.mcp.words import words_for
from homing_agent.runtime.logs import get_logger
from homing_agent.runtime.paths import make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from homing_core.canonical import JsonObject

    from homing_agent.mcp.config import ServerConfig
    from homing_agent.mcp.consent import Allowed
    from homing_agent.mcp.definitions import Definition
    from homing_agent.mcp.server import McpServer
    from homing_agent.mcp.status import Withheld
    from homing_agent.mcp.words import ServerWords
    from homing_agent.tool import ToolContext, ToolOutput

_log = get_logger(__name__)
_NO_SDK: Final = "MCP is not installed here; install it with: pip install 'homing[mcp]'"


def _nobody() -> None:
    """Nobody listens."""


class McpHost:
    """Runs the servers and offers their tools.

    Args:
        servers: as the configuration lists them.
        words: what the operator says of each, by name.
        folder: `DATA_DIR/mcp`: consent and working directories; made if need be.
        place: where the tools run: `HOME` on a node, `PHONE` on a phone.
        reserved: names that no tool may get.
        environ: this process's environment; None takes the real one.
        timing: how long things may take.
        limits: what a server may send.
    """

    def __init__(  # noqa: PLR0913  # all but the first three have defaults
        self,
        servers: Sequence[ServerConfig],
        words: Mapping[str, ServerWords],
        folder: Path,
        *,
        place: Place = Place.HOME,
        reserved: Iterable[str] = (),
        environ: Mapping[str, str] | None = None,
        timing: Timing | None = None,
        limits: MessageLimits | None = None,
    ) -> None:
        """Nothing is started before `start`."""
        self.on_change: Callable[[], None] = _nobody
        """Called when the tools, or the state of a server, may have changed."""
        self._configs = {server.name: server for server in servers}
        self._folder = folder
        self._environ = dict(os.environ if environ is None else environ)
        self._timing = timing or Timing()
        self._limits = limits or MessageLimits()

        def make(server: str, allowed: Allowed) -> McpTool:
            return McpTool(server, allowed, words_for(words, server), place, self)

        self._offers = Offers(self._configs, words, folder / "allowed.json", reserved, make)
        self._servers: dict[str, McpServer] = {}
        self._leftovers = Leftovers()
        self._loading: asyncio.Task[None] | None = None
        self._loaded = asyncio.Event()
        self._trouble = ""

    async def start(self) -> None:
        """Bring the servers up in the background; returns at once, and never fails.

        Tools that were allowed before are there when this returns; a call waits for its server.
        """
        if not self._configs or self._loading is not None:
            return
        try:
            make_private(self._folder)
        except HomingError as error:
            self._trouble = error.what
            _log.warning("mcp.folder", what=error.what, hint=error.hint)
        self._offers.load()
        self._loading = asyncio.create_task(self._load(), name="mcp load")

    async def close(self) -> None:
        """End all servers and everything that they started."""
        loading, self._loading = self._loading, None
        if loading is not None:
            loading.cancel()
            await asyncio.wait({loading})
        await asyncio.gather(*(server.close() for server in self._servers.values()))
        await asyncio.to_thread(self._leftovers.close)

    def tools(self) -> tuple[McpTool, ...]:
        """The tools that the operator has allowed, in a stable order.

        They include those of servers that are not up just now; see `Tool.unavailable`.
        """
        return tuple(self._offers.tools.values())

    def find(self, server: str, name: str) -> McpTool | None:
        """A tool by the name that a model knows it by; None if none is allowed."""
        return self._offers.tools.get((server, name))

    def withheld(self) -> tuple[Withheld, ...]:
        """Tools that are new or have changed, and wait for the operator's word."""
        return self._offers.withheld()

    async def allow(
        self, server: str, tool: str | None = None, *, shown: Collection[str]
    ) -> tuple[str, ...]:
        """The operator's word: allow what a server offers now, if it is what the operator saw.

        Args:
            server: its name.
            tool: one of its tools, by the server's own name or the model's; None for all.
            shown: hashes of the definitions that the operator has seen.

        Returns:
            The server's own names of the tools that were withheld and now are not.

        Raises:
            NotFoundError: no such server or tool waits.
            ConflictError: one of those that wait is another than was seen; nothing is allowed.
            UnavailableError: it cannot be written down.
        """
        if server not in self._configs:
            msg = f"there is no MCP server {clean_label(server)}"
            raise NotFoundError(msg, f"The servers are: {', '.join(self._configs) or 'none'}.")
        allowed = await self._offers.allow(server, tool, shown)
        self.on_change()
        return allowed

    def retry(self, server: str) -> None:
        """Try a server that failed again now. Raises `NotFoundError`."""
        if server not in self._configs:
            msg = f"there is no MCP server {clean_label(server)}"
            raise NotFoundError(msg, f"The servers are: {', '.join(self._configs) or 'none'}.")
        if server in self._servers:
            self._servers[server].retry()

    def status(self) -> tuple[ServerStatus, ...]:
        """How each server is."""
        withheld = self.withheld()
        return tuple(self._status(name, withheld) for name in self._configs)

    def _status(self, name: str, withheld: Sequence[Withheld]) -> ServerStatus:
        server = self._servers.get(name)
        starting = ServerState.STARTING if self._loading is not None else ServerState.STOPPED
        failed = self._loaded.is_set() and server is None
        idle = ServerState.STOPPED if failed else starting
        return ServerStatus(
            name=name,
            kind="http" if isinstance(self._configs[name].where, HttpServer) else "stdio",
            state=server.state if server else idle,
            tools=tuple(
                t.spec.name for (owner, _), t in self._offers.tools.items() if owner == name
            ),
            withheld=tuple(each.name for each in withheld if each.server == name),
            not_offered=not_offered_of(name, self._offers.words(name), self._offers.of(name) or ()),
            last_error=(server.last_error if server else "")
            or self._trouble
            or self._offers.trouble,
            failures=server.failures if server else 0,
            protocol=server.protocol if server else "",
        )

    def why_not(self, server: str, definition: Definition) -> str:
        """See `tools.Servers.why_not`."""
        running = self._servers.get(server)
        if running is None:
            return self._trouble if self._loaded.is_set() else ""
        if running.state is ServerState.WAITING and running.failures > 1:
            return f"its server is not there: {running.last_error}"
        if self._offers.of(server) is not None and running.offered(definition) is None:
            return "its server has changed or no longer offers it"
        return ""

    async def call(
        self, server: str, definition: Definition, arguments: JsonObject, context: ToolContext
    ) -> ToolOutput:
        """See `tools.Servers.call`."""
        await self._loaded.wait()
        running = self._servers.get(server)
        if running is None:
            msg = self._trouble or f"the MCP server {server} is not running"
            raise UnavailableError(msg, "Look at it with: homing-node tools")
        from homing_agent.mcp.calls import call_tool  # noqa: PLC0415  # the SDK is there by now

        return await call_tool(running, definition, arguments, context)

    async def _load(self) -> None:
        """Import the SDK beside the loop, for it takes most of a second, and start the servers."""
        try:
            kind = await asyncio.to_thread(load_servers)
        except ImportError:
            self._trouble = _NO_SDK
            _log.warning("mcp.missing", what=_NO_SDK)
        else:
            for name in self._configs:
                self._servers[name] = self._build(kind, name)
            for server in self._servers.values():
                server.start()
        self._loaded.set()
        self.on_change()

    def _build(self, kind: type[McpServer], name: str) -> McpServer:
        """A server of a kind that has been imported."""
        from homing_agent.mcp.ways import Surroundings  # noqa: PLC0415  # as above

        surroundings = Surroundings(
            self._folder, self._leftovers, self._environ, self._timing, self._limits
        )

        async def offered(definitions: tuple[Definition, ...]) -> None:
            await self._offers.take(name, definitions)
            self.on_change()

        words = self._offers.words(name)
        return kind(self._configs[name], words, surroundings, offered, self._tell)

    def _tell(self) -> None:
        self.on_change()  # whatever it is by then
