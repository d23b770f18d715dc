"""`homing-node models`: the common commands, and what the daemon serves."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_agent.runtime.models_cli import models_app

from homing_node.cli.options import PROGRAM, ConfigFile, DataDir, Json, Setup, quiet

if TYPE_CHECKING:
    from pathlib import Path

    import typer
    from homing_core.nodes import NodeLoad, ServedModel


def register(app: typer.Typer) -> None:
    """Add the commands."""
    models = models_app(PROGRAM, "node", _check)
    models.command("served", epilog=f"Example: [bold]{PROGRAM} models served --json[/bold]")(served)
    app.add_typer(models, name="models")


def served(*, as_json: Json = False, data_dir: DataDir = None, config: ConfigFile = None) -> None:
    """Show what the running node serves, which of it is in memory, and how busy it is."""
    asyncio.run(_served(Setup(data_dir, config), as_json=as_json))


def _check(data_dir: Path | None, config: Path | None) -> None:
    quiet()
    Setup(data_dir, config).load()


async def _served(setup: Setup, *, as_json: bool) -> None:
    from homing_node.rpc.control_client import ControlClient  # noqa: PLC0415  # keep help quick

    quiet()
    async with ControlClient.connect(setup.paths, setup.command("run")) as control:
        daemon = await control.daemon()
    if as_json:
        _print_objects(daemon.models, daemon.load)
    else:
        _print_table(daemon.models, daemon.load)


def _print_objects(models: tuple[ServedModel, ...], load: NodeLoad) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    for model in models:
        print_json(
            {
                "event": "served",
                "name": model.name,
                "quantization": model.quantization or None,
                "loaded": model.loaded,
                "stand_in": model.stand_in,
                "context_tokens": model.context_tokens or None,
                "sha256": model.file_sha256 or None,
            }
        )
    print_json(
        {
            "event": "load",
            "running": load.running,
            "waiting": load.waiting,
            "max_sequences": load.max_sequences,
            "decode_tokens_per_second": load.decode_tokens_per_second or None,
            "prefill_tokens_per_second": load.prefill_tokens_per_second or None,
        }
    )


def _print_table(models: tuple[ServedModel, ...], load: NodeLoad) -> None:
    from rich.table import Table  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above

    table = Table(box=None, pad_edge=False)
    for title in ("Name", "Format", "Loaded", "Context"):
        table.add_column(title, overflow="fold")
    for model in models:
        name = f"{safe(model.name)} [yellow](stand-in)[/yellow]" if model.stand_in else None
        table.add_row(
            name or safe(model.name),
            safe(model.quantization) or "-",
            "yes" if model.loaded else "no",
            f"{model.context_tokens:,}" if model.context_tokens else "-",
        )
    out.print(table)
    line = f"{load.running} answering, {load.waiting} waiting, {load.max_sequences} at once"
    if load.decode_tokens_per_second:
        line += f", {load.decode_tokens_per_second:.0f} tokens/s"
    out.print(line)
