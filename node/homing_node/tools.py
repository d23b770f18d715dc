"""The boundary to tools that run on the node."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Protocol

from homing_core.limits import may_use_tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_agent.tool import Tool
    from homing_core.access import Limits
    from homing_core.tools import ToolSpec


class HomeTools(Protocol):
    """Tools that this node can run."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """All of them, in a stable order."""
        ...

    def find(self, server: str, name: str) -> Tool | None:
        """The tool of a server or built-in group; None if there is none now."""
        ...

    async def start(self) -> None:
        """Bring up what runs beside the node, such as MCP servers; returns at once."""
        ...

    async def close(self) -> None:
        """End what was brought up."""
        ...


class NoTools:
    """A node without tools."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """None."""
        return ()

    def find(self, server: str, name: str) -> Tool | None:
        """None."""
        del server, name
        return None

    async def start(self) -> None:
        """Nothing is to be brought up."""

    async def close(self) -> None:
        """Nothing is to be ended."""


def tools_for(tools: HomeTools, limits: Limits) -> tuple[ToolSpec, ...]:
    """Those that a device may know of and run."""
    return tuple(tool for tool in tools.specs() if may_use_tool(limits, tool.name, tool.server))


@contextlib.asynccontextmanager
async def started(tools: HomeTools) -> AsyncGenerator[None]:
    """Have tools brought up for the length of a block; whoever runs them is to end before."""
    try:
        await tools.start()
        yield
    finally:
        await tools.close()
