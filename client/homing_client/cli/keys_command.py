"""`homing keys`."""

from __future__ import annotations

import typer

from homing_client.cli.options import ConfigFile, DataDir, Setup

keys = typer.Typer(
    help="Show, protect or replace this device's keys.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="Example: [bold]homing keys protect --with passphrase[/bold]",
)
"""Commands about keys; each module of them adds its own."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(keys, name="keys")


@keys.callback()
def group(context: typer.Context, *, data_dir: DataDir = None, config: ConfigFile = None) -> None:
    """Show, protect or replace this device's keys."""
    context.obj = Setup(data_dir, config)
