"""One call of a server's tool, from its arguments to its output."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import TYPE_CHECKING, Any, Final, NoReturn

import mcp_types as types
from homing_core.errors import RefusedError, UnavailableError
from homing_core.jobs import JobProgress
from homing_core.labels import clean_label
from homing_core.tools import EffectClass
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter, ValidationError

from homing_agent.mcp.content import clean_text, to_output
from homing_agent.mcp.tasks import TaskCall
from homing_agent.tool import ToolOutput, UnknownOutcomeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.canonical import JsonObject

    from homing_agent.mcp.connection import Connection
    from homing_agent.mcp.definitions import Definition
    from homing_agent.mcp.server import McpServer
    from homing_agent.tool import ToolContext

_LONGEST_SECONDS: Final = 24 * 3600.0
_ERROR_CHARS: Final = 2000
_RESULT: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_SDK_LOST: Final = ("Connection closed", "SSE stream")
_SDK_HTTP_FAILED: Final = "Server returned an error response"


class _SessionGoneError(Exception):
    """The server does not know the session any more, so it did nothing."""


async def call_tool(
    server: McpServer, definition: Definition, arguments: JsonObject, context: ToolContext
) -> ToolOutput:
    """Make a call; see `homing_agent.tool.Tool.run`."""
    for again in (True, False):
        connection = await server.ready()
        offer = server.offered(definition)
        if offer is None:
            msg = f"{server.name} no longer offers {clean_label(definition.name)} as it was allowed"
            raise RefusedError(msg, "See homing-node tools, and allow it there.")
        context.may_act()  # it may have waited long for its server
        try:
            with server.calling():
                return await _Call(server, connection, offer, context).make(arguments)
        except _SessionGoneError:
            server.lose(connection, "its session had ended")
            if not again:
                break
            await connection.closed.wait()
    msg = f"{server.name} ends its sessions at once"
    raise UnavailableError(msg, "Try again later.")


class _Call:
    """One attempt."""

    def __init__(
        self,
        server: McpServer,
        connection: Connection,
        definition: Definition,
        context: ToolContext,
    ) -> None:
        self._server = server
        self._connection = connection
        self._definition = definition
        self._context = context
        self._words = server.words
        self._heard: Callable[[], None] = _nothing
        self._task: TaskCall | None = None

    async def make(self, arguments: JsonObject) -> ToolOutput:
        try:
            result = await self._in_time(dict(arguments))
        except asyncio.CancelledError:
            await self._give_up()
            raise
        except TimeoutError:
            await self._give_up()
            self._unknown("gave no answer and no word of progress in time")
        except MCPError as error:
            return self._refused(error)
        except (ValidationError, RecursionError):
            self._unknown("answered in a form that cannot be read")
        if isinstance(result, types.InputRequiredResult):
            text = "The tool asks for further input while it runs, which is not given here."
            return ToolOutput(text, source=self._source, is_error=True)
        return await asyncio.to_thread(
            to_output, result, self._words, self._context.folder, self._source
        )

    @property
    def _source(self) -> str:
        return f"{self._server.name}: {clean_label(self._definition.name)}"

    @property
    def _repeatable(self) -> bool:
        name = self._definition.name
        reads = {EffectClass.READ, EffectClass.READ_NETWORK}
        return self._words.is_idempotent(name) or self._words.effect_of(name) in reads

    async def _in_time(
        self, arguments: dict[str, Any]
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Within the time without an answer, which starts anew with each word of progress."""
        loop = asyncio.get_running_loop()
        last = loop.time() + _LONGEST_SECONDS
        async with asyncio.timeout(self._words.timeout_seconds) as limit:

            def heard() -> None:
                if not limit.expired():
                    limit.reschedule(min(last, loop.time() + self._words.timeout_seconds))

            self._heard = heard
            try:
                return await self._ask(arguments, heard)
            finally:
                self._heard = _nothing

    async def _ask(
        self, arguments: dict[str, Any], heard: Callable[[], None]
    ) -> types.CallToolResult | types.InputRequiredResult:
        name = self._definition.name
        if self._definition.task:
            self._task = TaskCall(self._connection, name, self._context, heard, self._progress)
            return await self._task.run(arguments)
        # Not `call_tool` of the SDK: it would run the server's own patterns over the answer, and a
        # pattern can be made to take for ever.
        params = types.CallToolRequestParams(name=name, arguments=arguments)
        return await self._connection.session.send_request(
            types.CallToolRequest(params=params), _RESULT, progress_callback=self._progress
        )

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        self._heard()
        self._context.report(
            JobProgress(
                done=_finite(progress),
                total=_finite(total or 0),
                note=clean_label(message or "", 200, ""),
            )
        )

    async def _give_up(self) -> None:
        """The SDK has told the server; see to it that this was read, and the work is over."""
        task = self._task
        await self._server.settle(self._connection, self._end(task) if task else None)

    async def _end(self, task: TaskCall) -> None:
        with contextlib.suppress(MCPError, TimeoutError, ValidationError):
            async with asyncio.timeout(self._server.timing.cancel):
                await task.cancel()

    def _refused(self, error: MCPError) -> ToolOutput:
        """An error in MCP's own form. Its text is the server's: untrusted, as any output."""
        if self._connection.transport.forgotten and error.code != types.CONNECTION_CLOSED:
            raise _SessionGoneError from error
        lost = error.code == types.CONNECTION_CLOSED and (
            self._connection.transport.ended.is_set() or error.message.startswith(_SDK_LOST)
        )
        if lost:
            problem = self._connection.transport.problem
            self._unknown("went away during the call" + (f": {problem}" if problem else ""))
        if error.code == types.INTERNAL_ERROR and error.message == _SDK_HTTP_FAILED:
            self._unknown("failed without saying what it did")
        text = clean_text(error.message)[:_ERROR_CHARS]
        return ToolOutput(f"The tool failed: {text}", source=self._source, is_error=True)

    def _unknown(self, what: str) -> NoReturn:
        """The call has no answer: harmless if it may be made again."""
        msg = f"the MCP server {self._server.name} {what}"
        if self._repeatable:
            raise UnavailableError(msg, "Try again; nothing is done twice by that.")
        raise UnknownOutcomeError(msg, "Look whether it happened before you try again.")


def _finite(number: float) -> float:
    return number if math.isfinite(number) and number >= 0 else 0.0


def _nothing() -> None:
    """Nobody waits."""
