"""The phone's command line. Commands import what they need when they run, so help is quick."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from homing_agent.runtime.cli import run_app

from homing_client.cli import (
    approvals_command,
    ask_command,
    audit_command,
    calibrate_command,
    chat_command,
    devices_command,
    eval_command,
    feedback_command,
    forget_command,
    history_command,
    jobs_command,
    jobs_result,
    jobs_start,
    keys_command,
    models_command,
    nodes_command,
    pair_command,
    protect_command,
    serve_command,
    tools_command,
)

PROGRAM = "homing"

app = typer.Typer(
    name=PROGRAM,
    help="Ask your phone. What it can do itself it does; the rest goes home, end to end encrypted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Start with: [bold]homing ask "remind me to call mom tomorrow at 9"[/bold]',
)


def _version(value: bool) -> None:  # noqa: FBT001  # Typer calls it so
    if value:
        from importlib.metadata import version  # noqa: PLC0415  # only here

        typer.echo(f"homing {version('homing')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and leave.", callback=_version),
    ] = False,
) -> None:
    del version


ask_command.register(app)
chat_command.register(app)
pair_command.register(app)
forget_command.register(nodes_command.nodes)
nodes_command.register(app)
audit_command.register(app)
devices_command.register(app)
jobs_start.register(jobs_command.jobs)
jobs_result.register(jobs_command.jobs)
approvals_command.register(jobs_command.jobs)
jobs_command.register(app)
tools_command.register(app)
models_command.register(app)
history_command.register(app)
feedback_command.register(app)
calibrate_command.register(app)
eval_command.register(app)
protect_command.register(keys_command.keys)
keys_command.register(app)
serve_command.register(app)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; gives the exit status."""
    from homing_client.cli.console import tolerate_any_text  # noqa: PLC0415  # after the help

    tolerate_any_text()
    return run_app(app, PROGRAM, arguments)


def main() -> None:
    """The `homing` program."""
    sys.exit(run())
