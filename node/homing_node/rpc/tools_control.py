"""Tools on the daemon's local service: its servicer and the command line's side of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import grpc.aio
from homing_agent.runtime.localsocket import open_local_channel
from homing_core.errors import InvalidDataError, UnavailableError
from homing_core.labels import clean_label
from homing_crypto.rpc_errors import error_from_rpc
from homing_proto.codec import limits
from homing_proto.codec.fields import EnumTable
from homing_proto.codec.tools import EFFECTS
from homing_proto.v1 import tool_pb2, tools_control_pb2_grpc
from homing_proto.v1 import tools_control_pb2 as wire

from homing_node.tools_views import Offer, ServerView, ToolsOverview, ToolView

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Collection, Generator

    from homing_agent.runtime.paths import ProgramPaths

    from homing_node.tools_views import ToolsConsole

    Context = grpc.aio.ServicerContext[Any, Any]

_TIMEOUT_S: Final = 10.0
_MOST_DESCRIPTION: Final = 2000
_MOST_PARAMETERS: Final = 8_000
_MOST_TOOLS: Final = 10_000

_OFFERS = EnumTable(
    "tool's offer",
    {
        Offer.OFFERED: wire.TOOL_OFFER_OFFERED,
        Offer.OFF: wire.TOOL_OFFER_OFF,
        Offer.UNAVAILABLE: wire.TOOL_OFFER_UNAVAILABLE,
        Offer.WITHHELD: wire.TOOL_OFFER_WITHHELD,
        Offer.UNUSABLE: wire.TOOL_OFFER_UNUSABLE,
    },
)


class ToolsControlService(tools_control_pb2_grpc.NodeToolsControlServiceServicer):
    """See `tools_control.proto`.

    Args:
        console: knows the tools.
    """

    def __init__(self, console: ToolsConsole) -> None:
        """Keep it."""
        self._console = console

    async def ListNodeTools(  # noqa: N802  # the wire's name
        self, request: wire.ListNodeToolsRequest, context: Context
    ) -> wire.ListNodeToolsResponse:
        """Every tool, offered or not, and the MCP servers."""
        del request, context
        return _encode_overview(self._console.overview())

    async def AllowNodeTools(  # noqa: N802  # the wire's name
        self, request: wire.AllowNodeToolsRequest, context: Context
    ) -> wire.AllowNodeToolsResponse:
        """Allow tools of an MCP server that are new or have changed."""
        del context
        if len(request.shown) > _MOST_TOOLS:
            msg = "these are more tools than a server has"
            raise InvalidDataError(msg, "Allow them one by one.")
        names = await self._console.allow(request.server, request.tool, frozenset(request.shown))
        return wire.AllowNodeToolsResponse(names=names)

    async def RetryNodeServer(  # noqa: N802  # the wire's name
        self, request: wire.RetryNodeServerRequest, context: Context
    ) -> wire.RetryNodeServerResponse:
        """Try an MCP server that failed again at once."""
        del context
        self._console.retry(request.server)
        return wire.RetryNodeServerResponse()


def add_tools_control(console: ToolsConsole) -> Callable[[grpc.aio.Server], None]:
    """Serve it on the control server."""
    service = ToolsControlService(console)

    def add(server: grpc.aio.Server) -> None:
        tools_control_pb2_grpc.add_NodeToolsControlServiceServicer_to_server(service, server)

    return add


class ToolsControl:
    """The command line's side. Every method raises `HomingError`."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        """Use `connect`."""
        self._stub = tools_control_pb2_grpc.NodeToolsControlServiceStub(channel)

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(
        cls, paths: ProgramPaths, start_with: str = "homing-node run"
    ) -> AsyncGenerator[ToolsControl]:
        """Raises `UnavailableError` if no daemon runs there; `start_with` is what to try."""
        async with open_local_channel(paths, start_with) as channel:
            yield cls(channel)

    async def overview(self) -> ToolsOverview:
        """Every tool, offered or not, and the MCP servers."""
        with _errors():
            answer = await self._stub.ListNodeTools(wire.ListNodeToolsRequest(), timeout=_TIMEOUT_S)
        return _decode_overview(answer)

    async def allow(self, server: str, tool: str, shown: Collection[str]) -> tuple[str, ...]:
        """Allow what waits, if it is what was shown; the server's own names of what is allowed."""
        with _errors():
            request = wire.AllowNodeToolsRequest(server=server, tool=tool, shown=sorted(shown))
            answer = await self._stub.AllowNodeTools(request, timeout=_TIMEOUT_S)
        return tuple(clean_label(name, limits.MAX_LINE_CHARS) for name in answer.names)

    async def retry(self, server: str) -> None:
        """Try an MCP server that failed again at once."""
        with _errors():
            request = wire.RetryNodeServerRequest(server=server)
            await self._stub.RetryNodeServer(request, timeout=_TIMEOUT_S)


def _encode_overview(overview: ToolsOverview) -> wire.ListNodeToolsResponse:
    return wire.ListNodeToolsResponse(
        tools=[
            wire.NodeTool(
                server=view.server,
                name=_line(view.name),
                description=_line(view.description, _MOST_DESCRIPTION),
                effect=tool_pb2.EFFECT_CLASS_UNSPECIFIED
                if view.effect is None
                else EFFECTS.encode(view.effect),
                idempotent=view.idempotent,
                offer=_OFFERS.encode(view.offer),
                reason=_line(view.reason),
                changed=view.changed,
                before=_line(view.before, _MOST_DESCRIPTION),
                parameters=_line(view.parameters, _MOST_PARAMETERS),
                parameters_before=_line(view.parameters_before, _MOST_PARAMETERS),
                hash=_line(view.hash),
            )
            for view in overview.tools
        ],
        servers=[
            wire.NodeToolServer(
                name=view.name,
                kind=view.kind,
                state=view.state,
                tools=view.tools,
                withheld=view.withheld,
                failures=view.failures,
                last_error=_line(view.last_error),
                protocol=_line(view.protocol),
            )
            for view in overview.servers
        ],
    )


def _decode_overview(message: wire.ListNodeToolsResponse) -> ToolsOverview:
    if len(message.tools) > _MOST_TOOLS or len(message.servers) > _MOST_TOOLS:
        msg = "the daemon lists more tools than there can be"
        raise InvalidDataError(msg, "Restart the daemon: it may be of another version.")
    return ToolsOverview(
        tools=tuple(
            ToolView(
                server=_line(one.server),
                name=_line(one.name),
                description=_line(one.description, _MOST_DESCRIPTION),
                effect=None
                if one.effect == tool_pb2.EFFECT_CLASS_UNSPECIFIED
                else EFFECTS.decode(one.effect),
                idempotent=one.idempotent,
                offer=_OFFERS.decode(one.offer),
                reason=_line(one.reason),
                changed=one.changed,
                before=_line(one.before, _MOST_DESCRIPTION),
                parameters=_line(one.parameters, _MOST_PARAMETERS),
                parameters_before=_line(one.parameters_before, _MOST_PARAMETERS),
                hash=_line(one.hash),
            )
            for one in message.tools
        ),
        servers=tuple(
            ServerView(
                name=_line(one.name),
                kind=_line(one.kind),
                state=_line(one.state),
                tools=one.tools,
                withheld=one.withheld,
                failures=one.failures,
                last_error=_line(one.last_error),
                protocol=_line(one.protocol),
            )
            for one in message.servers
        ),
    )


def _line(text: str, most: int = limits.MAX_LINE_CHARS) -> str:
    """One line without terminal escapes: much of it was written by whoever wrote a server."""
    return clean_label(text, most, "")


@contextlib.contextmanager
def _errors() -> Generator[None]:
    try:
        yield
    except grpc.aio.AioRpcError as error:
        found = error_from_rpc(error)
        if isinstance(found, UnavailableError) and error.code() is grpc.StatusCode.CANCELLED:
            msg = "the daemon ended during the call"
            raise UnavailableError(msg, "Start it with: homing-node run") from error
        raise found from error
