"""The set-up behind every make target, run in a pretended checkout with a pretended Python."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from support.commands import ROOT, Finished, run_program

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = ["bash", "dirname", "cksum", "sed", "cat", "mkdir", "rm", "tee", "awk", "tail", "flock"]

PYTHON = """#!/bin/bash
echo "$*" >>"$LOG"
last=${@: -1}
case "$*" in
  *version_info*) exit "${OLD:-0}" ;;
  *ensurepip*) exit "${NO_VENV:-0}" ;;
  *find_spec*) [ -f "$0.installed" ] ;;
  --version) echo "Python 3.13.0" ;;
  *"-m venv"*) mkdir -p "$last/bin"; cat "$0" >"$last/bin/python"; chmod +x "$last/bin/python" ;;
  *"-m pip install"*)
    echo "Building wheel for llama"; echo "pip said why"; : >"$0.installed"
    exit "${PIP_STATUS:-0}" ;;
esac
"""


class Checkout:
    """A folder with the script, and a machine that has only what is put on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "my checkout"
        self.bin = folder / "bin"
        self.log = folder / "log"
        (self.folder / "scripts").mkdir(parents=True)
        self.bin.mkdir()
        self.log.touch()
        shutil.copy(ROOT / "scripts" / "setup.sh", self.folder / "scripts")
        self.declare("first")
        for tool in (*TOOLS, "chmod"):
            found = shutil.which(tool)
            if found:
                (self.bin / tool).symlink_to(found)
        self.provide("python3", PYTHON)

    def declare(self, content: str) -> None:
        (self.folder / "pyproject.toml").write_text(content, "utf-8")

    def provide(self, name: str, text: str = "#!/bin/bash\n") -> None:
        program = self.bin / name
        program.write_text(text, "utf-8")
        program.chmod(0o755)

    def set_up(self, extra: str = "dev", **env: str) -> Finished:
        return run_program(
            ["bash", self.folder / "scripts" / "setup.sh", extra],
            cwd=self.folder.parent,
            env={"PATH": str(self.bin), "LOG": str(self.log), **env},
        )

    def installs(self) -> list[str]:
        """The pip runs so far that install Homing."""
        lines = self.log.read_text("utf-8").splitlines()
        return [line for line in lines if "-m pip install" in line and "--editable" in line]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_the_first_time_it_says_how_long_it_takes_and_installs(checkout: Checkout) -> None:
    done = checkout.set_up()
    assert done.status == 0, done.err
    assert "about five minutes" in done.out
    assert [line.split()[-1] for line in checkout.installs()] == [".[dev]"]


def test_cases_for_evaluation_come_with_the_development_environment_alone(
    checkout: Checkout,
) -> None:
    checkout.set_up("node")
    assert "bfcl-eval" not in checkout.log.read_text("utf-8")
    checkout.set_up("dev")
    assert "--no-deps bfcl-eval" in checkout.log.read_text("utf-8")


def test_the_second_time_it_does_nothing_and_says_nothing(checkout: Checkout) -> None:
    checkout.set_up()
    done = checkout.set_up()
    assert (done.status, done.out, done.err) == (0, "", "")
    assert len(checkout.installs()) == 1


def test_a_changed_project_file_installs_again(checkout: Checkout) -> None:
    checkout.set_up()
    checkout.declare("second")
    done = checkout.set_up()
    assert done.status == 0, done.err
    assert "what changed in pyproject.toml" in done.out
    assert len(checkout.installs()) == 2


def test_the_development_environment_serves_the_demo_too(checkout: Checkout) -> None:
    checkout.set_up("dev")
    checkout.set_up("node")
    assert len(checkout.installs()) == 1


def test_the_demos_environment_is_completed_for_development(checkout: Checkout) -> None:
    checkout.set_up("node")
    checkout.set_up("dev")
    assert [line.split()[-1] for line in checkout.installs()] == [".[node]", ".[dev]"]


def test_a_moved_checkout_makes_its_environment_anew(checkout: Checkout) -> None:
    checkout.set_up()
    moved = checkout.folder.with_name("moved")
    checkout.folder.rename(moved)
    checkout.folder = moved
    (moved / ".venv" / "left-over").touch()
    assert checkout.set_up().status == 0
    assert not (moved / ".venv" / "left-over").exists()
    assert len(checkout.installs()) == 2


def test_a_failed_installation_shows_why_and_is_tried_again(checkout: Checkout) -> None:
    checkout.provide("c++")
    checkout.provide("cmake")
    failed = checkout.set_up(PIP_STATUS="1")
    assert failed.status == 1
    assert "pip said why" in failed.err
    assert "run it again" in failed.err
    assert checkout.set_up().status == 0
    assert len(checkout.installs()) == 2


def test_without_a_compiler_it_says_which_package_has_one(checkout: Checkout) -> None:
    checkout.provide("apt-get")
    done = checkout.set_up(PIP_STATUS="1")
    assert done.status == 1
    assert "apt-get install build-essential cmake" in done.err


def test_in_termux_it_names_termux_packages(checkout: Checkout) -> None:
    done = checkout.set_up(PIP_STATUS="1", TERMUX_VERSION="0.119")
    assert "pkg install clang cmake ninja" in done.err


def test_an_old_python_is_named_as_the_reason(checkout: Checkout) -> None:
    checkout.provide("apt-get")
    done = checkout.set_up(OLD="1")
    assert done.status == 1
    assert "Python 3.11 or newer was not found" in done.err
    assert "apt-get install python3" in done.err
    assert checkout.installs() == []


def test_a_python_without_venv_is_named_as_the_reason(checkout: Checkout) -> None:
    checkout.provide("apt-get")
    done = checkout.set_up(NO_VENV="1")
    assert done.status == 1
    assert "apt-get install python3-venv" in done.err
    assert not (checkout.folder / ".venv").exists()
