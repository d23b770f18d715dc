"""What is read of MCP servers: their list, their schemas, and what was allowed of them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import cast

from fuzz.target import Target, of_text
from homing_agent.mcp.config import parse_servers
from homing_agent.mcp.consent import ConsentBook
from homing_agent.mcp.definitions import define

_LIST = {
    "mcpServers": {
        "time": {"command": "uvx", "args": ["x"], "env": {"TZ": "${TZ:-UTC}"}, "cwd": "/"},
        "wiki": {"type": "http", "url": "https://wiki.example/mcp", "headers": {"A": "b"}},
    }
}
_SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
        "b": {"$ref": "#/$defs/b"},
        "c": {"type": "array", "items": {"enum": [1, "x"]}},
    },
    "required": ["a"],
    "$defs": {"b": {"type": "integer", "exclusiveMinimum": 0}},
}


def _define(data: bytes) -> object:
    try:
        schema: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(schema, dict):
        return None
    return define("a", "b", cast("dict[str, object]", schema), task=False)


def _load(data: bytes) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "allowed.json"
        path.write_bytes(data)
        book = ConsentBook(path)
        book.load({"time": "one"})
        return book.tools("time", "one")


def _books() -> list[bytes]:
    tools = [define("a.b", "Says.", _SCHEMA, task=True), define("c", "", {}, task=False)]
    return [ConsentBook(Path("unused")).allowing("time", "one", tools).text().encode()]


TARGETS = [
    of_text(
        "mcp.servers",
        lambda text: parse_servers(text, "mcp.json", {"TZ": "UTC"}),
        json.dumps(_LIST),
        covers=("homing_agent.mcp.config.parse_servers",),
    ),
    Target("mcp.schema", _define, seeds=lambda: [json.dumps(_SCHEMA).encode()]),
    Target("mcp.allowed", _load, seeds=_books, quick=100),
]
