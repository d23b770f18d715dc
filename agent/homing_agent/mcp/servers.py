"""How a server is reached, as the configuration says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.canonical import sha256_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from homing_core.canonical import JsonValue


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that is a child process.

    Attributes:
        command: a program, found on PATH unless it is a path.
        args: its arguments; never read by a shell.
        env: variables that it gets besides the few that every program needs.
        cwd: its working directory; None takes a private one.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server reached over streamable HTTP.

    Attributes:
        url: its endpoint.
        headers: sent with every request; they may hold secrets.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server of the file.

    Attributes:
        name: what the file calls it; letters, digits, `_` and `-`.
        where: how it is reached.
    """

    name: str
    where: StdioServer | HttpServer

    @property
    def identity(self) -> str:
        """SHA-256 (hex) of what the operator wrote to say which server this is.

        Secrets (environment, headers) are no part of it.
        """
        shown: dict[str, JsonValue]
        if isinstance(self.where, HttpServer):
            shown = {"url": self.where.url}
        else:
            shown = {
                "command": self.where.command,
                "args": list(self.where.args),
                "cwd": str(self.where.cwd or ""),
            }
        return sha256_json(shown)
