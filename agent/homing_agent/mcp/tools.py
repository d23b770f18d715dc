"""A server's tool as the agent sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from homing_core.provenance import Trust
from homing_core.tools import ToolSpec

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject
    from homing_core.tools import Place

    from homing_agent.mcp.consent import Allowed
    from homing_agent.mcp.definitions import Definition
    from homing_agent.mcp.words import ServerWords
    from homing_agent.tool import ToolContext, ToolOutput


class Servers(Protocol):
    """What a tool needs of the host."""

    def why_not(self, server: str, definition: Definition) -> str:
        """Why a tool cannot be called now, for a person; empty if it can be tried."""
        ...

    async def call(
        self, server: str, definition: Definition, arguments: JsonObject, context: ToolContext
    ) -> ToolOutput:
        """Make a call."""
        ...


class McpTool:
    """One tool of one server, exactly as the operator allowed it.

    Args:
        server: the server's name.
        allowed: what was allowed.
        words: what the operator says of the server.
        place: where it runs.
        servers: the way to it.
    """

    def __init__(
        self, server: str, allowed: Allowed, words: ServerWords, place: Place, servers: Servers
    ) -> None:
        """The tool need not be there yet."""
        self.definition = allowed.definition
        self._server = server
        self._servers = servers
        self._spec = ToolSpec(
            name=allowed.name,
            description=allowed.definition.description,
            parameters=allowed.definition.schema,
            effect=words.effect_of(allowed.definition.name),
            place=place,
            server=server,
            idempotent=words.is_idempotent(allowed.definition.name),
            output_trust=Trust.UNTRUSTED,
        )

    @property
    def spec(self) -> ToolSpec:
        """See `Tool.spec`."""
        return self._spec

    def unavailable(self) -> str | None:
        """See `Tool.unavailable`."""
        return self._servers.why_not(self._server, self.definition) or None

    def preview(self, arguments: JsonObject) -> str:
        """See `Tool.preview`: a foreign tool's arguments must speak for themselves."""
        del arguments
        return ""

    async def run(self, arguments: JsonObject, context: ToolContext) -> ToolOutput:
        """See `Tool.run`."""
        return await self._servers.call(self._server, self.definition, arguments, context)
