"""The way to a server, by what the configuration says of it."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.errors import HomingError, UnavailableError

from homing_agent.mcp.backoff import Timing
from homing_agent.mcp.child import Launch
from homing_agent.mcp.environment import server_environment
from homing_agent.mcp.guard import MessageGuard, MessageLimits
from homing_agent.mcp.servers import HttpServer
from homing_agent.mcp.stdio import child_transport
from homing_agent.mcp.web import web_transport
from homing_agent.runtime.paths import make_private

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from homing_agent.mcp.leftover import Leftovers
    from homing_agent.mcp.servers import ServerConfig, StdioServer
    from homing_agent.mcp.stderr import StderrTail
    from homing_agent.mcp.transport import Transport
    from homing_agent.mcp.words import ServerWords


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


@asynccontextmanager
async def open_way(
    config: ServerConfig, words: ServerWords, surroundings: Surroundings, tail: StderrTail
) -> AsyncGenerator[Transport]:
    """A way to a server; what was started for it has ended when the block is left.

    Args:
        config: how it is reached.
        words: what the operator says of it.
        surroundings: what it is started in.
        tail: told what it prints.

    Raises:
        UnavailableError: it cannot be started.
        ExceptionGroup: the connection broke; it holds what httpx2 said.
    """
    where = config.where
    guard = MessageGuard(surroundings.limits)
    way: AbstractAsyncContextManager[Transport]
    if isinstance(where, HttpServer):
        way = web_transport(where, guard)
    else:
        launch = _launch(config.name, where, words, surroundings)
        way = child_transport(launch, guard, tail, surroundings.leftovers)
    async with way as transport:
        yield transport


def _launch(
    name: str, where: StdioServer, words: ServerWords, surroundings: Surroundings
) -> Launch:
    folder = where.cwd
    if folder is None:
        folder = surroundings.folder / name
        try:
            make_private(folder)
        except HomingError as error:
            raise UnavailableError(error.what, error.hint) from error
    elif not folder.is_dir():
        msg = f"its working directory {folder} does not exist"
        raise UnavailableError(msg, "Correct cwd in the list of MCP servers.")
    environment = server_environment(surroundings.environ, words.environment, where.env)
    return Launch(where.command, where.args, environment, folder, surroundings.timing.stop)
