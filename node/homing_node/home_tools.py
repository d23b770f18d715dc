"""This node's tools: documents, pages, recipes, tasks of its own, and those of MCP servers."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from homing_agent.documents.library import Library
from homing_agent.documents.roots import Roots
from homing_agent.runtime.logs import get_logger
from homing_agent.schema import unsupported
from homing_agent.tools.home.agent_task import AgentTask, TaskLimits
from homing_agent.tools.home.document_tools import document_tools
from homing_agent.tools.home.fetch_page import FetchPage
from homing_agent.tools.home.recipe import RecipeTool
from homing_agent.web.addresses import Allowed
from homing_agent.web.fetch import FetchRules, PageFetcher
from homing_core.errors import ConfigError, HomingError, NotFoundError

from homing_node.mcp_servers import mcp_host
from homing_node.tools_views import Offer, ServerView, ToolsOverview, ToolView, schema_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from homing_agent.mcp.host import McpHost
    from homing_agent.mcp.status import ServerStatus
    from homing_agent.runtime.paths import ProgramPaths
    from homing_agent.tool import Tool
    from homing_core.tools import ToolSpec

    from homing_node.config import NodeConfig

_LEFT_OUT: Final = "the configuration leaves it out (tools.off)"
_log = get_logger(__name__)


class NodeTools:
    """A node's tools, each under one name. Belongs to one event loop.

    Args:
        own: tools of Homing's own and recipes, in the order in which models see them.
        mcp: tools of MCP servers; None where none are configured.
        off: patterns for `server.name` of tools that are left out.
        closers: end what the tools stand on.

    Raises:
        ConfigError: two have the same name.
    """

    def __init__(
        self,
        own: Sequence[Tool] = (),
        mcp: McpHost | None = None,
        off: Iterable[str] = (),
        closers: Sequence[Callable[[], Awaitable[None]]] = (),
    ) -> None:
        """Nothing runs yet."""
        self._own: dict[str, Tool] = {}
        for tool in own:
            if tool.spec.name in self._own:
                msg = f"two tools of this node are called {tool.spec.name}"
                raise ConfigError(msg, "Give the recipe another name.")
            self._own[tool.spec.name] = tool
        self.mcp = mcp
        """Tools of MCP servers; None where none are configured."""
        self._off = tuple(off)
        self._closers = tuple(closers)

    def specs(self) -> tuple[ToolSpec, ...]:
        """As in `HomeTools`: those that can run now."""
        return tuple(
            tool.spec for tool in self._all() if not self._is_off(tool.spec) and not _why_not(tool)
        )

    def find(self, server: str, name: str) -> Tool | None:
        """As in `HomeTools`; also one that cannot run just now, and then says why."""
        tool = self._own.get(name)
        if (tool is None or tool.spec.server != server) and self.mcp is not None:
            tool = self.mcp.find(server, name)
        if tool is None or tool.spec.server != server or self._is_off(tool.spec):
            return None
        return tool

    async def start(self) -> None:
        """As in `HomeTools`. A part that cannot start leaves the others alone."""
        if self.mcp is None:
            return
        try:
            await self.mcp.start()
        except HomingError as error:
            _log.warning("tools.mcp_not_started", what=error.what)

    async def close(self) -> None:
        """As in `HomeTools`: everything is ended, whatever goes wrong with a part."""
        closers = [*self._closers, *((self.mcp.close,) if self.mcp else ())]
        for close in closers:
            try:
                await close()
            except HomingError as error:
                _log.warning("tools.not_ended_well", what=error.what)

    # The console

    def overview(self) -> ToolsOverview:
        """As in `ToolsConsole`."""
        views = [self._view(tool) for tool in self._all()]
        offered = [view for view in views if view.offer is Offer.OFFERED]
        others = [view for view in views if view.offer is not Offer.OFFERED]
        if self.mcp is None:
            return ToolsOverview((*offered, *others))
        status = self.mcp.status()
        known = {(view.server, view.name) for view in views}
        waiting = [
            ToolView(
                one.server,
                one.name,
                one.now.description,
                None,
                idempotent=False,
                offer=Offer.WITHHELD,
                reason=one.reason,
                changed=one.changed,
                before=one.before.description if one.before else "",
                parameters=schema_text(one.now.schema),
                parameters_before=schema_text(one.before.schema) if one.before else "",
                hash=one.now.hash,
            )
            for one in self.mcp.withheld()
        ]
        held = {(view.server, view.name) for view in waiting}
        others = [view for view in others if (view.server, view.name) not in held]
        unusable = [
            ToolView(
                one.server,
                one.name,
                "",
                None,
                idempotent=False,
                offer=Offer.UNUSABLE,
                reason=one.reason,
            )
            for server in status
            for one in server.not_offered
            if (one.server, one.name) not in known
        ]
        return ToolsOverview(
            (*offered, *others, *waiting, *unusable), tuple(map(_server_view, status))
        )

    async def allow(self, server: str, tool: str, shown: Collection[str]) -> tuple[str, ...]:
        """As in `ToolsConsole`."""
        return await self._servers().allow(server, tool or None, shown=shown)

    def retry(self, server: str) -> None:
        """As in `ToolsConsole`."""
        self._servers().retry(server)

    def _servers(self) -> McpHost:
        if self.mcp is None:
            msg = "this node has no MCP servers"
            raise NotFoundError(msg, "List some in mcp.json; see docs/tools.md.")
        return self.mcp

    def _all(self) -> tuple[Tool, ...]:
        """One tool for each name: our own come first, and a server gets no name of theirs."""
        found = dict(self._own)
        for tool in self.mcp.tools() if self.mcp is not None else ():
            found.setdefault(tool.spec.name, tool)
        return tuple(found.values())

    def _is_off(self, spec: ToolSpec) -> bool:
        return any(fnmatchcase(f"{spec.server}.{spec.name}", pattern) for pattern in self._off)

    def _view(self, tool: Tool) -> ToolView:
        spec = tool.spec
        offer, reason = Offer.OFFERED, ""
        if self._is_off(spec):
            offer, reason = Offer.OFF, _LEFT_OUT
        else:
            why = _why_not(tool)
            if why:
                offer, reason = Offer.UNAVAILABLE, why
        return ToolView(
            spec.server, spec.name, spec.description, spec.effect, spec.idempotent, offer, reason
        )


def home_tools(
    config: NodeConfig, paths: ProgramPaths, environ: Mapping[str, str] | None = None
) -> NodeTools:
    """The tools that the configuration names; nothing is started yet.

    Args:
        config: how the node is set.
        paths: where it keeps its things.
        environ: this process's environment; None takes the real one.

    Raises:
        ConfigError: the list of MCP servers cannot be read, or names clash.
    """
    env = os.environ if environ is None else environ
    own: list[Tool] = []
    closers: list[Callable[[], Awaitable[None]]] = []
    if config.documents.folders:
        roots = Roots.of(config.documents.folders, never=(paths.data_dir,))
        for place in roots.all():
            if not place.root.path.is_dir():
                _log.warning("documents.no_such_folder", what=str(place.root.given))
        library = Library(paths.data_dir / "documents.db", roots)
        closers.append(library.close)
        own.extend(document_tools(library))
    if config.fetch.enabled:
        own.append(_fetch_page(config))
    own.extend(RecipeTool(section.recipe(name)) for name, section in config.recipes.items())
    if config.agent_task.enabled:
        section = config.agent_task
        own.append(AgentTask(TaskLimits(turns=section.turns, seconds=section.minutes * 60)))
    return NodeTools(own, mcp_host(config, paths, env, own), config.tools.off, closers)


def _fetch_page(config: NodeConfig) -> FetchPage:
    section = config.fetch
    rules = FetchRules(
        allowed=Allowed.parse(section.allow_private),
        ports=frozenset(section.ports),
        most_bytes=section.max_bytes,
        seconds=section.seconds,
    )
    return FetchPage(PageFetcher(rules), section.max_characters)


def _why_not(tool: Tool) -> str:
    return unsupported(tool.spec.parameters) or tool.unavailable() or ""


def _server_view(status: ServerStatus) -> ServerView:
    return ServerView(
        name=status.name,
        kind=status.kind,
        state=status.state.value,
        tools=len(status.tools),
        withheld=len(status.withheld),
        failures=status.failures,
        last_error=status.last_error,
        protocol=status.protocol,
    )
