"""`python -m homing_inference.catalog`: fetch models ahead of time, or say which are here."""

from __future__ import annotations

import asyncio
from pathlib import Path  # Typer reads the annotation at run time
from typing import Annotated

import typer
from homing_core.errors import HomingError
from rich.console import Console
from rich.markup import escape

from homing_inference.catalog.console import FetchBar
from homing_inference.catalog.models import CATALOG, ModelRole
from homing_inference.catalog.resolve import ModelFile, Resolver
from homing_inference.catalog.store import Store

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__)

_ROLES: dict[str, ModelRole] = {"phone": "phone", "node": "node", "bf16": "node"}

Folder = Annotated[
    Path | None,
    typer.Option("--dir", help="Models folder; by default HOMING_MODELS_DIR or the user's cache."),
]


@app.command()
def fetch(
    models: Annotated[
        list[str],
        typer.Argument(help="phone, node (or bf16), a catalog name, or a path to a .gguf."),
    ],
    *,
    stand_in: Annotated[
        bool, typer.Option("--stand-in", help="Take the small stand-in models.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Use only what is here.")] = False,
    folder: Folder = None,
) -> None:
    """Make sure that models are on this machine, whole and verified."""
    console = Console(stderr=True, soft_wrap=True)
    resolver = Resolver(Store(folder), offline=offline)

    async def bring(word: str, bar: FetchBar) -> ModelFile:
        role = _ROLES.get(word.lower())
        return await resolver.ensure(
            None if role else word, allow_stand_in=stand_in, role=role or "phone", progress=bar
        )

    try:
        for word in models:
            with FetchBar(console) as bar:
                file = asyncio.run(bring(word, bar))
            typer.echo(f"{file.name}  {file.size:,} bytes  {file.path}")
    except HomingError as error:
        console.print(f"[red]{escape(str(error))}[/red]")
        raise typer.Exit(error.exit_status) from error
    except KeyboardInterrupt:
        console.print("Stopped; the next try continues here.")
        raise typer.Exit(130) from None


@app.command(name="list")
def list_models(folder: Folder = None) -> None:
    """Say what the catalog knows, and what of it is here."""
    here = {stored.entry.name: stored for stored in Store(folder).installed()}
    for entry in CATALOG:
        stored = here.get(entry.name)
        state = f"{stored.size:,} bytes" if stored else "not here"
        mark = " (stand-in)" if entry.stand_in else ""
        typer.echo(f"{entry.name:<24} {entry.title}{mark}, {entry.licence}: {state}")


if __name__ == "__main__":
    app(prog_name="python -m homing_inference.catalog")
