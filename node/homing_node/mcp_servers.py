"""The MCP servers that a node's configuration names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from homing_agent.mcp.config import read_servers
from homing_agent.mcp.host import McpHost
from homing_core.errors import ConfigError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from homing_agent.runtime.paths import ProgramPaths
    from homing_agent.tool import Tool

    from homing_node.config import NodeConfig

MCP_FILE: Final = "mcp.json"
_OWN_GROUPS: Final = frozenset({"builtin", "documents", "home", "recipe"})
"""Names that no MCP server may have: a grant for `recipe.backup` must mean the recipe."""


def mcp_host(
    config: NodeConfig, paths: ProgramPaths, environ: Mapping[str, str], own: Sequence[Tool]
) -> McpHost | None:
    """What runs the servers; None where there are none.

    Args:
        config: how the node is set.
        paths: where it keeps its things.
        environ: from which the list is filled in.
        own: tools whose names no server may take.

    Raises:
        ConfigError: the list cannot be read, or what is said of its servers does not fit it.
    """
    file = _file(config, paths)
    if file is None:
        if config.mcp.servers:
            msg = "mcp.servers speaks of servers, but there is no list of them"
            raise ConfigError(msg, f"Write {paths.data_dir / MCP_FILE}, or name one in mcp.file.")
        return None
    servers = read_servers(file, environ)
    names = {server.name for server in servers}
    for name in sorted(names & _OWN_GROUPS):
        msg = f"{file}: mcpServers.{name} has a name that Homing's own tools go by"
        raise ConfigError(msg, "Call the server something else.")
    for name in sorted(set(config.mcp.servers) - names):
        msg = f"mcp.servers.{clean_label(name)} speaks of a server that {file} does not list"
        raise ConfigError(msg, "Correct the name, or remove the section.")
    reserved = [tool.spec.name for tool in own]
    return McpHost(servers, config.mcp.servers, paths.data_dir / "mcp", reserved=reserved)


def _file(config: NodeConfig, paths: ProgramPaths) -> Path | None:
    if config.mcp.file:
        file = paths.config_file.parent / Path(config.mcp.file).expanduser()
        if not file.is_file():
            msg = f"mcp.file: there is no {file}"
            raise ConfigError(msg, "Write it, or leave the key out.")
        return file
    places = (paths.config_file.parent / MCP_FILE, paths.data_dir / MCP_FILE)
    return next((place for place in places if place.is_file()), None)
