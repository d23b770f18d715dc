"""Servers as their registries have them, unmodified."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homing_agent.mcp.config import parse_servers
from support.mcp_servers import npm
from support.mcp_servers.rig import QUICK, McpRig, a_context, running

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.canonical import JsonValue

PROGRAMS = Path(sys.executable).parent


@pytest.fixture(scope="session")
def filesystem_server() -> Path:
    return npm.installed(*npm.FILESYSTEM) / "mcp-server-filesystem"


async def called(rig: McpRig, server: str, name: str, arguments: Mapping[str, JsonValue]) -> str:
    tool = rig.host.find(server, name)
    assert tool is not None
    output = await tool.run(arguments, a_context())
    assert not output.is_error
    return output.content


@pytest.mark.timeout(300)
async def test_time_fetch_and_filesystem_work_as_they_come(
    tmp_path: Path, filesystem_server: Path
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "hello.txt").write_text("Good evening.\n")
    (tmp_path / "secret.txt").write_text("secret")
    text = json.dumps(
        {
            "mcpServers": {
                "time": {"command": str(PROGRAMS / "mcp-server-time")},
                "fetch": {"command": str(PROGRAMS / "mcp-server-fetch")},
                "files": {"command": str(filesystem_server), "args": [str(shared)]},
            }
        }
    )
    async with running(tmp_path, *parse_servers(text, "mcp.json"), timing=QUICK) as rig:
        await rig.ready("time", "fetch", "files")
        for name in ("time", "fetch", "files"):
            assert not rig.status(name).not_offered, name
        now = json.loads(await called(rig, "time", "get_current_time", {"timezone": "Asia/Tokyo"}))
        assert now["timezone"] == "Asia/Tokyo"
        assert now["datetime"].endswith("+09:00")
        assert "hello.txt" in await called(rig, "files", "list_directory", {"path": str(shared)})
        read = await called(
            rig, "files", "read_text_file", {"path": str(shared / "hello.txt"), "head": 1}
        )
        assert read == "Good evening."
        tool = rig.host.find("files", "read_text_file")
        assert tool is not None
        refused = await tool.run({"path": str(tmp_path / "secret.txt")}, a_context())
        assert refused.is_error
        assert "secret" not in refused.content.replace("secret.txt", "")
        assert rig.host.find("fetch", "fetch") is not None
