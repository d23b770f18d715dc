"""The part of the node's configuration about tools that run here."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from homing_agent.mcp.words import ServerWords
from homing_agent.web.addresses import Allowed
from homing_core.config import HERE
from homing_core.errors import UsageError

_MOST_PORT: Final = 65535
_MOST_BYTES: Final = 256 << 20
_MOST_CHARS: Final = 1_000_000
_MOST_SECONDS: Final = 600.0
_MOST_TURNS: Final = 200
_MOST_MINUTES: Final = 24 * 60.0


def _ports() -> list[int]:
    return [80, 443]


@dataclass(frozen=True, slots=True)
class ToolsSection:
    """`[tools]`: which of this node's tools are left out.

    Attributes:
        off: patterns for `server.name`, such as `builtin.fetch_page` or `time.*`.
    """

    off: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the patterns."""
        if not all(pattern.strip() for pattern in self.off):
            msg = f"{HERE}.off holds an empty pattern"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class DocumentsSection:
    """`[documents]`: folders that tools may read.

    Attributes:
        folders: with all that lies in them; none means that there are no tools for documents.
    """

    folders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that they are places, and not just names."""
        for folder in self.folders:
            if not Path(folder).expanduser().is_absolute():
                msg = f"{HERE}.folders: {folder!r} is not an absolute path"
                raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class FetchSection:
    """`[fetch]`: reading pages of the web.

    Attributes:
        enabled: have the tool at all.
        allow_private: host names, addresses and networks of the home that may be asked, too.
        ports: TCP ports that may be asked.
        max_bytes: of a page.
        max_characters: of text that one call gives.
        seconds: for a page, redirects included.
    """

    enabled: bool = True
    allow_private: tuple[str, ...] = ()
    ports: list[int] = field(default_factory=_ports)
    max_bytes: int = 5_000_000
    max_characters: int = 20_000
    seconds: float = 30.0

    def __post_init__(self) -> None:
        """Check the addresses and ranges."""
        try:
            Allowed.parse(self.allow_private)
        except UsageError as error:
            msg = f"{HERE}.allow_private: {error.what} ({error.hint.rstrip('.')})"
            raise ValueError(msg) from error
        if not self.ports or not all(1 <= port <= _MOST_PORT for port in self.ports):
            msg = f"{HERE}.ports holds no port, or one that is not between 1 and {_MOST_PORT}"
            raise ValueError(msg)
        for key, most in (("max_bytes", _MOST_BYTES), ("max_characters", _MOST_CHARS)):
            if not 1 <= getattr(self, key) <= most:
                msg = f"{HERE}.{key} is not between 1 and {most:,}"
                raise ValueError(msg)
        if not 0 < self.seconds <= _MOST_SECONDS:
            msg = f"{HERE}.seconds is not above 0 and at most {_MOST_SECONDS:g}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class AgentTaskSection:
    """`[agent_task]`: goals that this node works on by itself.

    Attributes:
        enabled: have the tool at all.
        turns: of the model for one goal.
        minutes: for one goal, without the time that persons take to answer.
    """

    enabled: bool = True
    turns: int = 24
    minutes: float = 60.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 1 <= self.turns <= _MOST_TURNS:
            msg = f"{HERE}.turns is not between 1 and {_MOST_TURNS}"
            raise ValueError(msg)
        if not 0 < self.minutes <= _MOST_MINUTES:
            msg = f"{HERE}.minutes is not above 0 and at most {_MOST_MINUTES:g}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class McpSection:
    """`[mcp]`: tools of MCP servers.

    Attributes:
        file: JSON with `mcpServers`, as other clients use it; empty is `mcp.json` beside the
            configuration or in the data directory, if there is one.
        servers: what the operator says of each, by its name in that file.
    """

    file: str = ""
    servers: dict[str, ServerWords] = field(default_factory=dict[str, ServerWords])
