from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

import pytest
from homing_core.config import parse_config
from homing_core.errors import ConfigError
from hypothesis import given
from hypothesis import strategies as st


@dataclass(frozen=True, slots=True)
class Listen:
    port: int = 7
    share: float = 0.5
    open: bool = True
    name: str = "n"
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.port < 0:
            msg = "listen.port is negative"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Config:
    listen: Listen = field(default_factory=Listen)


def test_nothing_gives_defaults() -> None:
    assert parse_config("", Config) == Config()
    assert parse_config("[listen]\nport = 8\nshare = 1\nhosts = ['a', 'b']\n", Config) == Config(
        Listen(8, 1.0, hosts=("a", "b"))
    )


def test_environment_overrides_single_keys() -> None:
    env = {
        "HOMING_LISTEN_PORT": "9",
        "HOMING_LISTEN_NAME": "plain text",
        "HOMING_LISTEN_HOSTS": '["c"]',
        "HOMING_LISTEN_OPEN": "false",
        "HOMING_OTHER": "1",
    }
    found = parse_config("[listen]\nport = 8\n", Config, environ=env)
    assert found == Config(Listen(9, open=False, name="plain text", hosts=("c",)))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[listen", "not valid TOML"),
        ("[listen]\nport = '8'", "expected a whole number, found text in quotes at listen.port"),
        ("[listen]\nport = true", "expected a whole number, found true or false at listen.port"),
        ("[listen]\nname = 3", "expected text in quotes, found a whole number at listen.name"),
        ("[listen]\nhosts = 'abc'", "expected a list of texts at listen.hosts"),
        ("[listen]\nhosts = [1]", "expected a list of texts at listen.hosts"),
        ("[listen]\nspeed = 1", "no such key: speed at listen"),
        ("[other]\nspeed = 1", "no such key: other"),
        ("[listen]\nport = -1", "listen.port is negative"),
        ("listen = 3", "expected a section at listen"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text, Config, "node.toml")
    assert says in caught.value.what
    assert caught.value.what.startswith("node.toml")
    assert caught.value.exit_status == 2


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(parse_config(text, Config), Config)


def test_a_wrong_variable_is_named_and_not_the_file() -> None:
    with pytest.raises(
        ConfigError, match=r"^HOMING_LISTEN_OPEN: expected true or false, found text in quotes"
    ):
        parse_config("", Config, "a file", {"HOMING_LISTEN_OPEN": "maybe"})
    with pytest.raises(ConfigError, match=r"^HOMING_LISTEN_PORT: listen.port is negative"):
        parse_config("", Config, "a file", {"HOMING_LISTEN_PORT": "-1"})
    with pytest.raises(ConfigError, match=r"^HOMING_LISTEN_PROT names no key .* port, share"):
        parse_config("", Config, "a file", {"HOMING_LISTEN_PROT": "1"})


def test_a_variable_of_no_section_is_said_where_the_prefix_is_ours_alone() -> None:
    env = {"HOMING_FOO_BAR": "1"}
    assert parse_config("", Config, "a file", env) == Config()
    with pytest.raises(ConfigError, match="HOMING_FOO_BAR names no section"):
        parse_config("", Config, "a file", env, others=())
    assert parse_config("", Config, "a file", env, others=("HOMING_FOO_BAR",)) == Config()
