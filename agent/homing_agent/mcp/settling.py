"""After a call was given up: see to it that the server does not go on with it."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol

from mcp.shared.exceptions import MCPError

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from homing_agent.mcp.backoff import Timing
    from homing_agent.mcp.connection import Connection
    from homing_agent.mcp.words import ServerWords


class Settled(Protocol):
    """What is needed of a server."""

    words: ServerWords
    timing: Timing

    @property
    def calls(self) -> int:
        """Calls under way, those that are given up included."""
        ...

    def lose(self, connection: Connection, why: str) -> None:
        """The session is of no use any more."""
        ...


class Settler:
    """One server's calls that were given up.

    A server does not confirm a cancellation. But it reads in order: once it has answered a ping it
    has read what came before. One that does not answer is stuck in what nobody wants any more, and
    is ended; if it is busy with calls that somebody does want, it has until they are over.
    """

    def __init__(self, server: Settled) -> None:
        """None was given up."""
        self._server = server
        self._settling: set[asyncio.Task[None]] = set()

    async def settle(self, connection: Connection, first: Awaitable[None] | None = None) -> None:
        """Return when the server has read it or has ended; goes on if the caller stops waiting.

        Args:
            connection: the session that the call was made in.
            first: to be done before.
        """
        settling = asyncio.ensure_future(self._settle(connection, first))
        self._settling.add(settling)
        settling.add_done_callback(self._settling.discard)
        await asyncio.shield(settling)

    async def close(self) -> None:
        """Wait for all."""
        await asyncio.gather(*self._settling, return_exceptions=True)

    async def _settle(self, connection: Connection, first: Awaitable[None] | None) -> None:
        server = self._server
        if first is not None:
            await first
        if server.words.end_on_cancel and not self._others:
            server.lose(connection, "it was ended with the call that was cancelled")
        while not connection.transport.ended.is_set() and not await self._answers(connection):
            if not self._others:
                server.lose(connection, "it did not answer after a call was cancelled")
        if connection.transport.ended.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(server.timing.stop * 2 + server.timing.cancel):
                    await connection.closed.wait()

    @property
    def _others(self) -> int:
        """Calls that somebody waits for."""
        return self._server.calls - len(self._settling)

    async def _answers(self, connection: Connection) -> bool:
        try:
            async with asyncio.timeout(self._server.timing.cancel):
                await connection.ping()
        except MCPError:
            return not connection.transport.ended.is_set()  # a refusal is an answer
        except Exception:  # noqa: BLE001  # whatever it is, the server has not answered
            return False
        return True
