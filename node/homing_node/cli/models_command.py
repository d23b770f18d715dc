"""`homing-node models`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.runtime.models_cli import models_app

from homing_node.cli.options import PROGRAM, Setup, quiet

if TYPE_CHECKING:
    from pathlib import Path

    import typer


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(models_app(PROGRAM, "node", _check), name="models")


def _check(data_dir: Path | None, config: Path | None) -> None:
    quiet()
    Setup(data_dir, config).load()
