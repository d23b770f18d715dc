"""`homing keys`."""

from __future__ import annotations

import typer

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
