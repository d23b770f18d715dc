from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from homing_agent.runtime.configfile import load_config
from homing_agent.runtime.paths import program_paths
from homing_core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Listen:
    port: int = 7


@dataclass(frozen=True, slots=True)
class Config:
    listen: Listen = field(default_factory=Listen)


def test_absent_file_gives_defaults_unless_it_was_named(tmp_path: Path) -> None:
    paths = program_paths("p", "node", tmp_path, environ={})
    assert load_config(paths, Config, environ={}) == Config()
    named = program_paths("p", "node", tmp_path, tmp_path / "none.toml", environ={})
    with pytest.raises(ConfigError, match="does not exist"):
        load_config(named, Config, environ={})


def test_file_and_environment(tmp_path: Path) -> None:
    paths = program_paths("p", "node", tmp_path, environ={})
    paths.config_file.write_text("\ufeff[listen]\nport = 8\n", encoding="utf-8")
    assert load_config(paths, Config, environ={}).listen.port == 8
    env = {"HOMING_NODE_LISTEN_PORT": "9", "HOMING_LISTEN_PORT": "10"}
    assert load_config(paths, Config, "HOMING_NODE_", env).listen.port == 9


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\xff\xff", "not UTF-8"),
        (b"[listen\nport", "not valid TOML"),
        (b"[listen]\nport = 'x'", "port"),
        (b"#" * (1 << 20) + b"#", "larger than"),
    ],
)
def test_corrupt_file_names_the_file(tmp_path: Path, content: bytes, says: str) -> None:
    paths = program_paths("p", "node", tmp_path, environ={})
    paths.config_file.write_bytes(content)
    with pytest.raises(ConfigError, match=says) as caught:
        load_config(paths, Config, environ={})
    assert "node.toml" in str(caught.value)
    assert caught.value.exit_status == 2


def test_folder_in_place_of_the_file(tmp_path: Path) -> None:
    paths = program_paths("p", "node", tmp_path, environ={})
    paths.config_file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(paths, Config, environ={})
