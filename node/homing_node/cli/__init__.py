"""The node's command line. Commands import what they need when they run, so help is quick."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from homing_agent.runtime.cli import run_app

from homing_node.cli import (
    audit_command,
    devices_command,
    jobs_command,
    keys_command,
    models_command,
    pair_command,
    peers_command,
    protect_command,
    recovery_command,
    run_command,
    tools_command,
)
from homing_node.cli.options import PROGRAM

app = typer.Typer(
    name=PROGRAM,
    help="A home for your phone's harder requests: answers paired devices, end to end encrypted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: [bold]homing-node run[/bold], then [bold]homing-node pair[/bold]",
)


def _version(value: bool) -> None:  # noqa: FBT001  # Typer calls it so
    if value:
        from importlib.metadata import version  # noqa: PLC0415  # only here

        typer.echo(f"{PROGRAM} {version('homing')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and leave.",
            callback=_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    del version


run_command.register(app)
pair_command.register(app)
devices_command.register(app)
recovery_command.register(app)
models_command.register(app)
audit_command.register(app)
protect_command.register(keys_command.keys)
keys_command.register(app)
peers_command.register(app)
tools_command.register(app)
jobs_command.register(app)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; gives the exit status."""
    return run_app(app, PROGRAM, arguments)


def main() -> None:
    """The `homing-node` program."""
    sys.exit(run())
