"""The command line explains itself, quickly."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.commands import run_program

if TYPE_CHECKING:
    from support.commands import Finished

COMMANDS = ("ask", "chat", "pair", "nodes", "audit", "jobs", "tools", "models", "serve")
HEAVY = ("grpc", "google.protobuf", "llama_cpp", "cryptography", "zeroconf", "sqlite3")


def homing(*arguments: str) -> Finished:
    return run_program([sys.executable, "-m", "homing_client", *arguments])


def test_help_lists_every_command() -> None:
    done = homing("--help")
    assert done.status == 0
    assert all(f" {command} " in done.out for command in COMMANDS)
    assert "homing ask" in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example(command: str) -> None:
    done = homing(command, "-h")
    assert done.status == 0
    assert "Example" in done.out
    assert f"homing {command}" in done.out.split("Example")[1]


def test_nothing_typed_is_help() -> None:
    done = homing()
    assert done.status == 2
    assert "Commands" in done.out + done.err


def test_the_version_is_told() -> None:
    done = homing("--version")
    assert done.status == 0
    assert done.out.startswith("homing ")


@pytest.mark.parametrize("arguments", [["--help"], ["ask", "--help"], ["serve", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from homing_client.cli import run\n"
        f"assert run({arguments!r}) == 0\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run(  # noqa: S603  # our own interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_option_is_one_line_and_2(command: str) -> None:
    done = homing(command, "--frobnicate")
    assert done.status == 2
    (line,) = done.err.splitlines()
    assert line.startswith("homing: No such option: --frobnicate")
    assert line.endswith(f"See: homing {command} --help")
