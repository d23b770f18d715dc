"""A host with servers of one's own, and waiting for what they do."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from homing_agent.mcp.backoff import Timing
from homing_agent.mcp.config import ServerConfig, StdioServer
from homing_agent.mcp.host import McpHost
from homing_agent.mcp.status import ServerState
from homing_agent.tool import ToolContext
from homing_core.ids import RequestId, ToolCallId

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

    from homing_agent.mcp.guard import MessageLimits
    from homing_agent.mcp.status import ServerStatus
    from homing_agent.mcp.words import ServerWords
    from homing_agent.tool import ToolOutput

SCRIPT = Path(__file__).with_name("scripted.py")
QUICK = Timing(first_pause=0.02, longest_pause=30.0, stop=0.3, cancel=0.5, between_lists=0.0)
PATIENCE = 20.0
"""Seconds; reached only when something is broken."""


def scripted(mode: str, name: str = "", **env: str) -> ServerConfig:
    """A scripted server."""
    server = StdioServer(sys.executable, ("-I", "-S", str(SCRIPT), mode), env)
    return ServerConfig(name or mode, server)


class McpRig:
    """A host under test, and everything that changes in it."""

    def __init__(self, host: McpHost) -> None:
        self.host = host
        self._changed = asyncio.Event()
        host.on_change = self._changed.set

    def status(self, name: str) -> ServerStatus:
        return next(status for status in self.host.status() if status.name == name)

    async def until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not met():
                self._changed.clear()
                await self._changed.wait()

    async def ready(self, *names: str) -> None:
        await self.until(
            lambda: all(self.status(name).state is ServerState.READY for name in names)
        )

    async def failed(self, name: str, times: int = 1) -> str:
        """Why it failed."""
        await self.until(
            lambda: self.status(name).failures >= times and bool(self.status(name).last_error)
        )
        return self.status(name).last_error

    async def call(
        self, server: str, context: ToolContext | None = None, **more: str
    ) -> ToolOutput:
        """Call its first tool."""
        tool = next(tool for tool in self.host.tools() if tool.spec.server == server)
        async with asyncio.timeout(PATIENCE):
            return await tool.run({"text": "hello", **more}, context or a_context())


def a_context() -> ToolContext:
    return ToolContext(RequestId("request"), ToolCallId("call"))


@asynccontextmanager
async def running(
    folder: Path,
    *servers: ServerConfig,
    words: Mapping[str, ServerWords] | None = None,
    reserved: Iterable[str] = (),
    limits: MessageLimits | None = None,
    timing: Timing = QUICK,
) -> AsyncGenerator[McpRig]:
    """A host that runs these servers."""
    host = McpHost(
        servers, words or {}, folder / "mcp", reserved=reserved, timing=timing, limits=limits
    )
    rig = McpRig(host)
    await host.start()
    try:
        yield rig
    finally:
        async with asyncio.timeout(PATIENCE):
            await host.close()
