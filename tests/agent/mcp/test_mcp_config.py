"""The file of servers: what other clients write is read, and each mistake is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from homing_agent.mcp.config import HttpServer, StdioServer, parse_servers, read_servers
from homing_agent.mcp.environment import server_environment
from homing_agent.mcp.words import ServerWords
from homing_core.errors import ConfigError
from hypothesis import given
from hypothesis import strategies as st

READ_ME = {
    "globalShortcut": "Ctrl+Space",
    "mcpServers": {
        "time": {"command": "uvx", "args": ["mcp-server-time"], "env": {"TZ": "${TZ:-UTC}"}},
        "files": {"type": "stdio", "command": "npx", "args": ["-y", "x", "${HOME}"], "cwd": "/srv"},
        "off": {"command": "x", "disabled": True},
        "wiki": {"url": "https://wiki.example/mcp", "headers": {"Authorization": "Bearer ${T}"}},
        "near": {"type": "streamable-http", "url": "http://nas.local:8080/mcp"},
    },
}


def test_the_examples_of_servers_own_instructions_are_read() -> None:
    environ = {"HOME": "/home/me", "T": "abc"}
    time, files, wiki, near = parse_servers(json.dumps(READ_ME), "mcp.json", environ)
    assert (time.name, time.where) == (
        "time",
        StdioServer("uvx", ("mcp-server-time",), {"TZ": "UTC"}),
    )
    assert files.where == StdioServer("npx", ("-y", "x", "/home/me"), {}, Path("/srv"))
    assert wiki.where == HttpServer("https://wiki.example/mcp", {"Authorization": "Bearer abc"})
    assert near.where == HttpServer("http://nas.local:8080/mcp")
    assert "abc" not in repr(wiki)
    assert time.identity != files.identity


def one(**entry: object) -> str:
    return json.dumps({"mcpServers": {"s": entry}})


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "is not valid JSON (line 1)"),
        ("[]", "no object mcpServers"),
        ('{"servers": {}}', "no object mcpServers"),
        ('{"mcpServers": []}', "no object mcpServers"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "a stands there twice"),
        ('{"mcpServers": {"a b": {"command": "x"}}}', "mcpServers.a b is no name"),
        ('{"mcpServers": {"builtin": {"command": "x"}}}', "mcpServers.builtin is no name"),
        ('{"mcpServers": {"a": 5}}', "mcpServers.a is not an object"),
        (one(), "needs either command or url"),
        (one(command="x", url="https://x"), "needs either command or url"),
        (one(command=5), "mcpServers.s.command is not a text"),
        (one(command=" "), "mcpServers.s.command is empty"),
        (one(command="x", args="-y"), "mcpServers.s.args is not a list"),
        (one(command="x", args=["a", 1]), "mcpServers.s.args[1] is not a text"),
        (one(command="x", env={"A B": "1"}), "mcpServers.s.env.A B is no name"),
        (one(command="x", env={"A": 1}), "mcpServers.s.env.A is not a text"),
        (one(command="x", env={"HOMING_X": "1"}), "HOMING_X is Homing's own"),
        (one(command="x", env={"A": "${HOMING_X}"}), "asks for HOMING_X"),
        (one(command="x", env={"A": "${GONE}"}), "needs the variable GONE"),
        (one(command="x", cwd="here"), "mcpServers.s.cwd is not an absolute path"),
        (one(command="x", timeout=5), "mcpServers.s.timeout is not known"),
        (one(command="x", alwaysAllow=["a"]), "mcpServers.s.alwaysAllow is not known"),
        (one(command="x", disabled="no"), "mcpServers.s.disabled is not true or false"),
        (one(command="x\0"), "zero byte"),
        (one(command="x", type="http"), "mcpServers.s.type does not fit"),
        (one(url="https://x", type="sse"), "is sse, which MCP has replaced"),
        (one(url="https://x", args=[]), "mcpServers.s.args is not known"),
        (one(url="ftp://x"), "is not an http or https URL"),
        (one(url="https://x:port"), "is not a URL"),
        (one(url="https://a:b@x"), "holds a password"),
        (one(url="http://x.example"), "plain http to another network"),
        (one(url="https://x", headers={"A": "b\nc"}), "characters no header may have"),
        (one(url="https://x", headers={"A:": "b"}), "is no name"),
        ("[" * 100_000, "is not valid JSON"),
    ],
)
def test_each_mistake_is_named(text: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_servers(text, "mcp.json")
    assert named in caught.value.what
    assert caught.value.what.startswith("mcp.json")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["command", "url", "env", "args", "headers"]) | st.text(), inner
            )
        ),
    )
)
def test_anything_else_is_a_clear_error(entry: object) -> None:
    text = json.dumps({"mcpServers": {"s": entry}})
    try:
        servers = parse_servers(text, "mcp.json")
    except ConfigError:
        servers = ()
    assert all(server.name == "s" for server in servers)


def test_no_file_is_no_servers_and_a_folder_is_an_error(tmp_path: Path) -> None:
    assert read_servers(tmp_path / "mcp.json", {}) == ()
    (tmp_path / "mcp.json").write_text(json.dumps(READ_ME))
    assert len(read_servers(tmp_path / "mcp.json", {"HOME": "/", "T": "x"})) == 4
    with pytest.raises(ConfigError, match="cannot be read"):
        read_servers(tmp_path, {})
    (tmp_path / "odd.json").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_servers(tmp_path / "odd.json", {})


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"effects": {"*": "harmless"}}, "'*' is none of read"),
        ({"timeout_seconds": 0}, "a time is not between"),
        ({"output_kib": -1}, "a size is not between"),
        ({"environment": ("HOMING_KEY",)}, "HOMING_KEY is Homing's own"),
    ],
)
def test_the_operators_words_are_checked(words: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=r"\{here\}") as caught:
        ServerWords(**words)
    assert named in str(caught.value)


def test_no_function_of_a_shell_is_passed_on() -> None:
    ours = {"PATH": "/bin", "LANG": "() { :; }; rm", "X": "1", "HOMING_DATA_DIR": "/"}
    seen = server_environment(ours, ("X", "HOMING_DATA_DIR", "GONE"), {"PATH": "/own"})
    assert seen == {"PATH": "/own", "X": "1"}
