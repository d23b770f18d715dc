"""What a user gets from the package index: our packages and nothing beside them."""

from __future__ import annotations

import sys
import zipfile
from configparser import ConfigParser
from pathlib import PurePosixPath

import pytest
from support.commands import run_program

PACKAGES = {
    "homing_agent",
    "homing_client",
    "homing_core",
    "homing_crypto",
    "homing_discovery",
    "homing_inference",
    "homing_node",
    "homing_proto",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = run_program([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder])
    assert done.status == 0, done.err
    (built,) = folder.glob("*.whl")
    return zipfile.Path(built)


@pytest.fixture(scope="module")
def names(wheel: zipfile.Path) -> list[PurePosixPath]:
    return [PurePosixPath(name) for name in wheel.root.namelist() if not name.endswith("/")]


def test_it_holds_only_our_packages(names: list[PurePosixPath]) -> None:
    tops = {name.parts[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == PACKAGES
    assert len(tops) == len(PACKAGES) + 1


def test_every_package_says_that_it_is_typed(names: list[PurePosixPath]) -> None:
    assert {name.parts[0] for name in names if name.name == "py.typed"} == PACKAGES


def test_it_holds_no_tests_caches_or_stray_files(names: list[PurePosixPath]) -> None:
    ours = [name for name in names if name.parts[0] in PACKAGES]
    assert [name for name in ours if {"tests", "__pycache__"} & set(name.parts)] == []
    assert [name for name in ours if name.name.startswith(("test_", "conftest", "."))] == []
    # A new kind of file in a package is a decision: labelled requests, say, but never a model.
    assert {name.suffix for name in ours} <= {".py", ".pyi", ".proto", ".typed", ".jsonl", ".json"}


def test_it_installs_both_commands_and_the_licence(
    wheel: zipfile.Path, names: list[PurePosixPath]
) -> None:
    (entries,) = [name for name in names if name.name == "entry_points.txt"]
    parser = ConfigParser()
    parser.read_string((wheel / str(entries)).read_text("utf-8"))
    assert dict(parser["console_scripts"]) == {
        "homing": "homing_client.cli:main",
        "homing-node": "homing_node.cli:main",
    }
    assert [name for name in names if name.name == "LICENSE"]
