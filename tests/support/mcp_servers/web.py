"""Servers over streamable HTTP on this machine: the SDK's own, and raw ones that misbehave."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import uvicorn
from homing_agent.mcp.config import HttpServer, ServerConfig
from mcp.server.mcpserver import Context, MCPServer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from typing import TypeAlias

    from starlette.types import ASGIApp

    Answer: TypeAlias = Callable[[asyncio.StreamWriter], Awaitable[None]]


def adder(log: list[str] | None = None) -> MCPServer:
    """A server with a few tools."""
    server = MCPServer("adder")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    @server.tool()
    async def slow(ctx: Context) -> str:
        """Never ends by itself."""
        await ctx.report_progress(1, 2, "on it")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if log is not None:
                log.append("cancelled")
            raise
        return "never"

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Adds a tool."""
        server.add_tool(lambda: "new", name="fresh", description="Is new.")
        await ctx.session.send_tool_list_changed()
        return "grown"

    return server


def free_socket(port: int = 0) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    return listening


def web_config(port: int, name: str = "web") -> ServerConfig:
    return ServerConfig(name, HttpServer(f"http://127.0.0.1:{port}/mcp", {"X-Key": "k"}))


@asynccontextmanager
async def serving(app: ASGIApp, port: int = 0) -> AsyncGenerator[int]:
    """The port on which an app is served."""
    listening = free_socket(port)
    config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listening.close()


@asynccontextmanager
async def raw_serving(
    answer: Answer,
) -> AsyncGenerator[int]:
    """The port of a server that answers each connection's first words so."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            await answer(writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
