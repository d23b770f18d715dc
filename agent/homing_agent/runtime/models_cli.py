"""`models` of both command lines: show, fetch and remove model files."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol, TypeAlias

import typer

if TYPE_CHECKING:
    from homing_inference.catalog.models import ModelEntry, ModelRole
    from homing_inference.catalog.store import StoredModel

DataDir: TypeAlias = Annotated[
    Path | None, typer.Option("--data-dir", metavar="DIR", help="The program's data directory.")
]
ConfigFile: TypeAlias = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Configuration (TOML).")
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON for scripts, one object a line.")
]


class CheckSetup(Protocol):
    """Reads the configuration, so that a broken one is told here too."""

    def __call__(self, data_dir: Path | None, config: Path | None) -> object:
        """Raises `ConfigError`."""
        ...


def models_app(program: str, role: ModelRole, check: CheckSetup) -> typer.Typer:
    """The `models` commands of a program.

    Args:
        program: what it is called, for the examples.
        role: chooses the default model.
        check: reads the program's configuration.
    """
    examples = f"""
[bold]Examples[/bold]

{program} models

{program} models fetch botpsy-0.8b:q8_0

{program} models fetch --stand-in
"""
    app = typer.Typer(
        help="Show, fetch and remove models.", epilog=examples, rich_markup_mode="rich"
    )

    @app.callback(invoke_without_command=True)
    def models(
        context: typer.Context,
        *,
        as_json: Json = False,
        data_dir: DataDir = None,
        config: ConfigFile = None,
    ) -> None:
        """Show, fetch and remove models. Without a further word: list."""
        check(data_dir, config)
        if context.invoked_subcommand is None:
            _list(as_json=as_json)

    @app.command("list", epilog=f"Example: [bold]{program} models list --json[/bold]")
    def list_models(
        *,
        as_json: Json = False,
        data_dir: DataDir = None,
        config: ConfigFile = None,
    ) -> None:
        """Show the models that the catalog knows, and which of them are here."""
        check(data_dir, config)
        _list(as_json=as_json)

    @app.command("fetch", epilog=f"Example: [bold]{program} models fetch botpsy-0.8b:q8_0[/bold]")
    def fetch(
        name: Annotated[
            str | None,
            typer.Argument(
                metavar="NAME",
                help="Catalog name, or path of a GGUF file to check.",
                show_default="the program's own model",
            ),
        ] = None,
        *,
        stand_in: Annotated[
            bool,
            typer.Option(
                "--stand-in", help="Take a small stand-in instead of the product's own model."
            ),
        ] = False,
        as_json: Json = False,
        data_dir: DataDir = None,
        config: ConfigFile = None,
    ) -> None:
        """Make sure that a model is here, whole and verified; goes on where it stopped."""
        check(data_dir, config)
        asyncio.run(_fetch(name, role, stand_in=stand_in, as_json=as_json))

    @app.command("remove", epilog=f"Example: [bold]{program} models remove botpsy-0.8b:q8_0[/bold]")
    def remove(
        name: Annotated[str, typer.Argument(metavar="NAME", help="Catalog name.")],
        *,
        as_json: Json = False,
        data_dir: DataDir = None,
        config: ConfigFile = None,
    ) -> None:
        """Delete a model's file. A running process keeps what it has loaded."""
        check(data_dir, config)
        _remove(name, role, as_json=as_json)

    # Typer keeps them; the checkers cannot see that.
    del models, list_models, fetch, remove
    return app


def _remove(name: str, role: ModelRole, *, as_json: bool) -> None:
    from homing_inference.catalog.models import find_model  # noqa: PLC0415  # keep help quick
    from homing_inference.catalog.store import Store  # noqa: PLC0415  # as above

    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above

    entry = find_model(name, role)
    freed = Store().remove(entry)
    if as_json:
        print_json({"event": "removed", "name": entry.name, "freed_bytes": freed})
    elif freed:
        typer.echo(f"Removed {entry.name}, {freed:,} bytes freed.")
    else:
        typer.echo(f"{entry.name} was not here.")


def _list(*, as_json: bool) -> None:
    from homing_inference.catalog.models import CATALOG  # noqa: PLC0415  # keep help quick
    from homing_inference.catalog.store import Store  # noqa: PLC0415  # as above

    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above

    store = Store()
    here = {stored.entry.name: stored for stored in store.installed()}
    if as_json:
        for entry in CATALOG:
            print_json(_model_object(entry, here.get(entry.name)))
        return
    from rich.console import Console  # noqa: PLC0415  # keep help quick
    from rich.filesize import decimal  # noqa: PLC0415  # as above
    from rich.markup import escape  # noqa: PLC0415  # as above
    from rich.table import Table  # noqa: PLC0415  # as above

    table = Table(box=None, pad_edge=False)
    for title in ("Name", "Model", "Licence", "Here"):
        table.add_column(title, overflow="fold")
    for entry in CATALOG:
        stored = here.get(entry.name)
        title = f"{entry.title} (stand-in)" if entry.stand_in else entry.title
        table.add_row(entry.name, title, entry.licence, decimal(stored.size) if stored else "-")
    out = Console(highlight=False)
    out.print(table)
    out.print(f"\nModels folder: {escape(str(store.root))}", soft_wrap=True)


async def _fetch(name: str | None, role: ModelRole, *, stand_in: bool, as_json: bool) -> None:
    from homing_inference.catalog.console import FetchBar  # noqa: PLC0415  # keep help quick
    from homing_inference.catalog.resolve import ensure  # noqa: PLC0415  # as above
    from homing_inference.catalog.store import Store  # noqa: PLC0415  # as above
    from rich.console import Console  # noqa: PLC0415  # as above

    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above

    with FetchBar(Console(stderr=True)) as bar:
        file = await ensure(name, store=Store(), allow_stand_in=stand_in, role=role, progress=bar)
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


def _model_object(entry: ModelEntry, stored: StoredModel | None) -> dict[str, object]:
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
