"""`homing models`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.runtime.models_cli import models_app

from homing_client.cli.options import Setup

if TYPE_CHECKING:
    from pathlib import Path

    import typer


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(models_app("homing", "phone", _check), name="models")


def _check(data_dir: Path | None, config: Path | None) -> None:
    Setup(data_dir, config).load()
