"""`homing-node models`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, StandIn, quiet

if TYPE_CHECKING:
    from homing_inference.catalog.models import ModelEntry
    from homing_inference.catalog.store import StoredModel

_EXAMPLES = """
[bold]Examples[/bold]

homing-node models

homing-node models fetch botpsy-0.8b:q8_0
"""
_models = typer.Typer(rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _models,
        name="models",
        help="Show, fetch and remove models.",
        epilog=_EXAMPLES,
    )


@_models.callback(invoke_without_command=True)
def models(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show, fetch and remove models. Without a further word: list."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        _list(setup, as_json=as_json)


@_models.command("list", epilog="Example: [bold]homing-node models list --json[/bold]")
def list_models(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the models that the catalog knows, and which of them are here."""
    _list(Setup(data_dir, config).or_else(context.obj), as_json=as_json)


@_models.command("fetch", epilog="Example: [bold]homing-node models fetch botpsy-0.8b:q8_0[/bold]")
def fetch(  # noqa: PLR0913  # options of the command line
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Catalog name, or path of a GGUF file to check.",
            show_default="the node's own model",
        ),
    ] = None,
    *,
    stand_in: StandIn = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Make sure that a model is here, whole and verified; goes on where it stopped."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_fetch(setup, name, stand_in=stand_in, as_json=as_json))


@_models.command(
    "remove", epilog="Example: [bold]homing-node models remove botpsy-0.8b:q8_0[/bold]"
)
def remove(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Catalog name.")],
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Delete a model's file. A running daemon keeps what it has loaded."""
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_inference.catalog.models import find_model  # noqa: PLC0415  # as above
    from homing_inference.catalog.store import Store  # noqa: PLC0415  # as above

    quiet()
    Setup(data_dir, config).or_else(context.obj).load()
    entry = find_model(name, "node")
    freed = Store().remove(entry)
    if as_json:
        print_json({"event": "removed", "name": entry.name, "freed_bytes": freed})
    elif freed:
        typer.echo(f"Removed {entry.name}, {freed:,} bytes freed.")
    else:
        typer.echo(f"{entry.name} was not here.")


def _list(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_inference.catalog.models import CATALOG  # noqa: PLC0415  # as above
    from homing_inference.catalog.store import Store  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    store = Store()
    here = {stored.entry.name: stored for stored in store.installed()}
    if as_json:
        for entry in CATALOG:
            print_json(model_object(entry, here.get(entry.name)))
        return
    from rich.filesize import decimal  # noqa: PLC0415  # keep help quick
    from rich.table import Table  # noqa: PLC0415  # as above

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above

    table = Table(box=None, pad_edge=False)
    for title in ("Name", "Model", "Licence", "Here"):
        table.add_column(title, overflow="fold")
    for entry in CATALOG:
        stored = here.get(entry.name)
        title = f"{entry.title} (stand-in)" if entry.stand_in else entry.title
        table.add_row(entry.name, title, entry.licence, decimal(stored.size) if stored else "-")
    out.print(table)
    out.print(f"\nModels folder: {safe(str(store.root))}")


async def _fetch(setup: Setup, name: str | None, *, stand_in: bool, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_inference.catalog.console import FetchBar  # noqa: PLC0415  # as above
    from homing_inference.catalog.resolve import ensure  # noqa: PLC0415  # as above
    from homing_inference.catalog.store import Store  # noqa: PLC0415  # as above

    from homing_node.cli.console import err  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    with FetchBar(err) as bar:
        file = await ensure(name, store=Store(), allow_stand_in=stand_in, role="node", progress=bar)
    if as_json:
        print_json(
            {
                "event": "fetched",
                "name": file.name,
                "quantization": file.quantization,
                "stand_in": file.stand_in,
                "bytes": file.size,
                "sha256": file.sha256,
                "path": str(file.path),
            }
        )
    else:
        typer.echo(f"{file.name} is here: {file.size:,} bytes, {file.path}")


def model_object(entry: ModelEntry, stored: StoredModel | None) -> dict[str, object]:
    """The model as `--json` prints it."""
    return {
        "name": entry.name,
        "title": entry.title,
        "quantization": entry.quantization,
        "licence": entry.licence,
        "stand_in": entry.stand_in,
        "here": stored is not None,
        "bytes": stored.size if stored else None,
        "sha256": stored.sha256 if stored else None,
        "path": str(stored.path) if stored else None,
    }
