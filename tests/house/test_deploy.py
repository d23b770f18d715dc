"""The files that put a node on a machine agree with each other and with the commands."""

from __future__ import annotations

import plistlib
import re
import shlex

from support.commands import ROOT

DEPLOY = ROOT / "deploy"


def unit() -> dict[str, list[str]]:
    """The unit's settings; a name may occur more than once."""
    settings: dict[str, list[str]] = {}
    for line in (DEPLOY / "homing-node.service").read_text("utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            key, _, value = line.partition("=")
            settings.setdefault(key, []).append(value)
    return settings


def test_the_unit_runs_the_node_in_folders_that_it_may_write() -> None:
    settings = unit()
    (command,) = settings["ExecStart"]
    program, *words = shlex.split(command)
    assert program.endswith("/homing-node")
    assert words == [
        "run",
        "--data-dir",
        "/var/lib/homing-node",
        "--config",
        "/etc/homing/node.toml",
    ]
    assert settings["StateDirectory"] == ["homing-node"]
    assert settings["StateDirectoryMode"] == ["0700"]
    assert settings["ProtectSystem"] == ["strict"]


def test_a_wrong_configuration_is_not_tried_again() -> None:
    assert unit()["Restart"] == ["on-failure"]
    assert unit()["RestartPreventExitStatus"] == ["2"]


def test_the_unit_gives_no_privileges_and_only_the_sockets_that_are_needed() -> None:
    settings = unit()
    assert settings["NoNewPrivileges"] == ["yes"]
    assert settings["CapabilityBoundingSet"] == [""]
    assert settings["SystemCallFilter"] == ["@system-service", "~@privileged"]
    (families,) = settings["RestrictAddressFamilies"]
    assert families.split() == ["AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"]


def test_the_launch_agent_restarts_failures_and_runs_one_process() -> None:
    agent = plistlib.loads((DEPLOY / "homing-node.plist").read_bytes())
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    shell, flag, line = agent["ProgramArguments"]
    assert (shell, flag) == ("/bin/sh", "-c")
    words = shlex.split(line)
    assert words[words.index("exec") + 1].endswith("/homing-node")
    assert {"run", "--data-dir", "--config"} <= set(words)


def test_the_container_runs_unprivileged_with_its_data_in_a_volume() -> None:
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    last = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER homing$", last, re.MULTILINE)
    assert re.search(r"^VOLUME /data$", last, re.MULTILINE)
    assert re.search(r'^ENTRYPOINT \["homing-node"\]$', last, re.MULTILINE)
    assert re.search(r'^CMD \["run", "--data-dir", "/data", ', last, re.MULTILINE)


def test_the_container_gets_every_package() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    folders = {path.parent.parent.name for path in ROOT.glob("*/homing_*/__init__.py")}
    assert {f"!{folder}" for folder in folders} <= set(ignored)
    assert folders
