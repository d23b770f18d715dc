"""`homing-node keys protect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.runtime.keys_cli import add_protect_command

from homing_node.cli.options import PROGRAM, Setup
from homing_node.key_place import key_place

if TYPE_CHECKING:
    from pathlib import Path

    import typer
    from homing_agent.runtime.paths import ProgramPaths
    from homing_agent.runtime.unlock import KeyPlace


def register(group: typer.Typer) -> None:
    """Add the command to the group `keys`."""
    add_protect_command(group, PROGRAM, _find)


def _find(data_dir: Path | None, config: Path | None) -> tuple[ProgramPaths, KeyPlace]:
    setup = Setup(data_dir, config)
    setup.load()
    paths = setup.paths
    return paths, key_place(paths)
