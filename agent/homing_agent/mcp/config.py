"""The `mcpServers` JSON that other MCP clients use.

    {"mcpServers": {
        "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "${TZ:-UTC}"}},
        "wiki": {"type": "http", "url": "https://wiki.example/mcp",
                 "headers": {"Authorization": "Bearer ${WIKI_TOKEN}"}}}}

`${NAME}` and `${NAME:-default}` are filled in from the environment, so that no secret need stand in
the file. A key that is not known is refused by name, because what other clients mean by it (such as
never asking again) is not what Homing would do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import ConfigError

from homing_agent.mcp.reading import Reader
from homing_agent.mcp.servers import HttpServer, ServerConfig, StdioServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["HttpServer", "ServerConfig", "StdioServer", "parse_servers", "read_servers"]

_MOST_BYTES: Final = 1 << 20


def read_servers(path: Path, environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """The servers of a file; none if there is no file.

    Raises:
        ConfigError: it cannot be read, or holds something wrong; the text names the key.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        return ()
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror or 'the system refused it'}"
        raise ConfigError(msg, "Check the file's owner and mode.") from error
    if len(data) > _MOST_BYTES:
        msg = f"{path} is larger than {_MOST_BYTES} bytes"
        raise ConfigError(msg, "Name the file that lists MCP servers.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path} is not UTF-8 text"
        raise ConfigError(msg, "Save it as UTF-8.") from error
    return parse_servers(text, str(path), environ)


def parse_servers(
    text: str, source: str, environ: Mapping[str, str] | None = None
) -> tuple[ServerConfig, ...]:
    """The servers of a file's text, in its order, without the disabled ones.

    Args:
        text: JSON.
        source: what to call the file in an error.
        environ: where `${NAME}` is looked up.

    Raises:
        ConfigError: something is wrong; the text names the key.
    """
    return Reader(source, environ or {}).servers(text)
