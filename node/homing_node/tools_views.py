"""What the daemon tells its own command line about its tools, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from homing_core.canonical import canonical_json
from homing_core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Collection

    from homing_core.canonical import JsonObject
    from homing_core.tools import EffectClass

    from homing_node.tools import HomeTools


_MOST_SCHEMA: Final = 7_000
"""Characters of a tool's parameters that its operator is shown."""


class Offer(Enum):
    """Whether a tool is offered."""

    OFFERED = "offered"
    OFF = "off"
    """The configuration leaves it out."""
    UNAVAILABLE = "unavailable"
    """It cannot run now."""
    WITHHELD = "withheld"
    """It is new or has changed, and waits for the operator's word."""
    UNUSABLE = "unusable"
    """It cannot be offered at all."""


@dataclass(frozen=True, slots=True)
class ToolView:
    """A tool.

    Attributes:
        server: MCP server or built-in group.
        name: as a model sees it; of one that never was offered, the server's own name.
        description: what a model is told, cleaned by whoever shows it.
        effect: what it may do; None if nobody has said so of a tool that is not offered.
        idempotent: whether running it twice equals once.
        offer: whether it is offered.
        reason: why not; empty if it is.
        changed: whether it was allowed in another form.
        before: what it said of itself then.
        parameters: its arguments' JSON schema as text; empty but for one that waits for a word.
        parameters_before: the same, then.
        hash: of exactly how it is described now, hex; empty but for one that waits for a word.
    """

    server: str
    name: str
    description: str
    effect: EffectClass | None
    idempotent: bool
    offer: Offer
    reason: str = ""
    changed: bool = False
    before: str = ""
    parameters: str = ""
    parameters_before: str = ""
    hash: str = ""


@dataclass(frozen=True, slots=True)
class ServerView:
    """An MCP server.

    Attributes:
        name: as the configuration calls it.
        kind: `stdio` or `http`.
        state: `starting`, `ready`, `waiting` or `stopped`.
        tools: how many of its tools are offered.
        withheld: how many wait for the operator's word.
        failures: in a row, up to now.
        last_error: why it last failed; empty if it never did.
        protocol: version of MCP; empty if none was agreed on.
    """

    name: str
    kind: str
    state: str
    tools: int
    withheld: int
    failures: int
    last_error: str
    protocol: str


@dataclass(frozen=True, slots=True)
class ToolsOverview:
    """Everything.

    Attributes:
        tools: offered ones in the order in which models see them, then the others.
        servers: in the configuration's order.
    """

    tools: tuple[ToolView, ...] = ()
    servers: tuple[ServerView, ...] = ()


@runtime_checkable
class ToolsConsole(Protocol):
    """What the person at the node's own console may do. Methods raise `HomingError`."""

    def overview(self) -> ToolsOverview:
        """How it stands."""
        ...

    async def allow(self, server: str, tool: str, shown: Collection[str]) -> tuple[str, ...]:
        """Allow what waits for the operator's word; the names of what is allowed now.

        Args:
            server: whose tools.
            tool: one of them; empty for all that wait.
            shown: hashes of what the operator has seen; what is another now is not allowed.
        """
        ...

    def retry(self, server: str) -> None:
        """Try a server that failed again at once."""
        ...


class PlainConsole:
    """The console of tools that nobody configured.

    Args:
        tools: what there is.
    """

    def __init__(self, tools: HomeTools) -> None:
        """Keep them."""
        self._tools = tools

    def overview(self) -> ToolsOverview:
        """As in `ToolsConsole`."""
        return ToolsOverview(
            tuple(
                ToolView(
                    spec.server,
                    spec.name,
                    spec.description,
                    spec.effect,
                    spec.idempotent,
                    Offer.OFFERED,
                )
                for spec in self._tools.specs()
            )
        )

    async def allow(self, server: str, tool: str, shown: Collection[str]) -> tuple[str, ...]:
        """As in `ToolsConsole`: nothing waits."""
        del server, tool, shown
        msg = "no tool of this node waits for your word"
        raise NotFoundError(msg)

    def retry(self, server: str) -> None:
        """As in `ToolsConsole`: there is no server."""
        del server
        msg = "this node has no MCP servers"
        raise NotFoundError(msg, "List some in mcp.json; see docs/tools.md.")


def schema_text(schema: JsonObject) -> str:
    """A tool's parameters as its operator sees them."""
    text = canonical_json(schema).decode()
    return text if len(text) <= _MOST_SCHEMA else f"{text[:_MOST_SCHEMA]} … and more"


def console_of(tools: HomeTools) -> ToolsConsole:
    """The console of a node's tools; those that have none of their own get a plain one."""
    return tools if isinstance(tools, ToolsConsole) else PlainConsole(tools)
