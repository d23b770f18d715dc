"""One session with a server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

import mcp_types as types
from homing_core.errors import HomingError, InvalidDataError, OverloadedError
from homing_core.labels import clean_label
from mcp.client.session import ClientSession
from mcp.client.subscriptions import listen
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field, ValidationError

from homing_agent.mcp.definitions import Definition, define, without_repeats

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from mcp.client.session import IncomingMessage

    from homing_agent.mcp.transport import Transport

_MOST_TOOLS: Final = 256
_MOST_PAGES: Final = 64
_TASKS_VERSION: Final = "2025-11-25"
_REASONS: Final = {
    "ConnectError": "it cannot be reached",
    "ConnectTimeout": "it cannot be reached in time",
    "ReadError": "the connection broke",
    "WriteError": "the connection broke",
    "RemoteProtocolError": "what answers is no HTTP server, or it broke off",
    "ValidationError": "its answer is malformed",
}
_CLIENT: Final = types.Implementation(name="homing", version="1")


class _RawPage(BaseModel):
    """A page of a list of tools, each still as it came."""

    tools: list[object]
    next_cursor: str | None = Field(alias="nextCursor", default=None)


class Connection:
    """A session that has been agreed on.

    It is made and left in one task, the server's own, because the SDK's cancel scopes belong to it;
    calls may be made from any.
    """

    def __init__(
        self,
        session: ClientSession,
        dispatcher: JSONRPCDispatcher,
        transport: Transport,
    ) -> None:
        """Use `open_connection`."""
        self.session = session
        self.dispatcher = dispatcher
        self.transport = transport
        self.closed = asyncio.Event()
        """Set once what is behind it has really ended."""

    @property
    def modern(self) -> bool:
        """Whether it speaks 2026-07-28 or later, without sessions."""
        return self.session.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def tasks(self) -> bool:
        """Whether the server runs calls as tasks."""
        offered = self.session.server_capabilities
        requests = offered.tasks.requests if offered and offered.tasks else None
        tools = requests.tools if requests else None
        return self.session.protocol_version == _TASKS_VERSION and bool(tools and tools.call)

    async def agree(self) -> None:
        """Agree on a version: with a handshake, as nearly all servers do, or else without one.

        Raises:
            InvalidDataError: there is no version that both speak, or the answer is malformed.
        """
        try:
            await self.session.initialize()
        except MCPError as error:
            if self.transport.ended.is_set():
                raise
            try:
                await self.session.discover()
            except MCPError:
                raise error from None
        except ValidationError as error:
            msg = "its answer to the handshake is malformed"
            raise InvalidDataError(msg, "Look for another version of it.") from error
        except RuntimeError as error:
            if not str(error).startswith("Unsupported protocol version"):
                raise
            spoken = clean_label(str(error).rpartition(":")[2])
            msg = f"it speaks MCP {spoken}, which is not known here"
            raise InvalidDataError(msg, "Look for another version of it.") from error

    async def tools(self) -> tuple[Definition, ...]:
        """The tools that it offers now.

        Raises:
            InvalidDataError: the list is malformed.
            OverloadedError: it has too many, or never ends.
        """
        found: list[Definition] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            try:
                tools, cursor = await self._page(cursor)
            except MCPError as error:
                if error.code == types.METHOD_NOT_FOUND and not found:
                    return ()
                raise
            except ValidationError as error:
                msg = "its list of tools is malformed"
                raise InvalidDataError(msg, "Look for another version of it.") from error
            found.extend(self._define(tool) for tool in tools[: _MOST_TOOLS + 1])
            if len(found) > _MOST_TOOLS:
                msg = f"it offers more than {_MOST_TOOLS} tools"
                raise OverloadedError(msg, "Look for a smaller server.")
            if cursor is None:
                return without_repeats(found)
        msg = "its list of tools does not end"
        raise OverloadedError(msg, "Look for another version of it.")

    async def _page(self, cursor: str | None) -> tuple[Sequence[object], str | None]:
        """Some tools, and where the next are."""
        if self.modern:
            params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self.session.list_tools(params=params)
            return page.tools, page.next_cursor
        # The SDK's session would refuse the whole list for one tool that is malformed.
        asked = {"cursor": cursor} if cursor is not None else None
        raw = _RawPage.model_validate(await self.dispatcher.send_raw_request("tools/list", asked))
        return raw.tools, raw.next_cursor

    def _define(self, raw: object) -> Definition:
        try:
            tool = types.Tool.model_validate(raw, by_name=False)
        except ValidationError:
            said: object = (
                cast("dict[str, object]", raw).get("name") if isinstance(raw, dict) else ""
            )
            name = clean_label(said) if isinstance(said, str) else "unnamed"
            return Definition(name, "0" * 64, problem="its description is malformed")
        support = tool.execution.task_support if tool.execution else None
        if support == "required" and not self.tasks:
            return Definition(tool.name, "0" * 64, problem="it needs tasks, which its server lacks")
        task = self.tasks and support in {"optional", "required"}
        return define(tool.name, tool.description or "", tool.input_schema, task=task)

    async def ping(self) -> None:
        """Return once it has read all that it was sent. Raises whatever says that it has not."""
        if self.modern:
            await self.session.send_discover(str(self.session.protocol_version))
        else:
            await self.session.send_ping()

    async def watch(self, changed: Callable[[], None]) -> None:
        """Without sessions: be told when the list of tools changes. Runs until it is cancelled."""
        if not self.modern:
            return
        async with listen(self.session, tools_list_changed=True) as news:
            async for _ in news:
                changed()


@asynccontextmanager
async def open_connection(
    transport: Transport, changed: Callable[[], None]
) -> AsyncGenerator[Connection]:
    """A session over a transport, not agreed on yet.

    Requests of the server, such as for a model's words or a person's, are refused by the SDK: no
    such capability is offered.

    Args:
        transport: the way.
        changed: called when the server says that its tools have changed.
    """

    async def hear(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed()

    dispatcher: JSONRPCDispatcher = JSONRPCDispatcher(transport.read, transport.write)
    session = ClientSession(dispatcher=dispatcher, message_handler=hear, client_info=_CLIENT)
    async with session:
        yield Connection(session, dispatcher, transport)


def reason_of(error: BaseException) -> str:
    """Why a server is not there, for a person, from whatever was raised."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    match error:
        case HomingError():
            return error.what
        case MCPError(code=types.CONNECTION_CLOSED):
            return "it ended the connection"
        case MCPError():
            return f"it refused: {clean_label(error.message, 200, 'without a word')}"
        case TimeoutError():
            return "it did not answer in time"
        case _:
            name = type(error).__name__
            return _REASONS.get(name, f"it failed ({name})")
