"""`homing-node keys`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, Yes, quiet

if TYPE_CHECKING:
    from homing_core.keys import OwnKey

_EXAMPLES = """
[bold]Examples[/bold]

homing-node keys

homing-node keys rotate

homing-node keys protect --with passphrase
"""
keys = typer.Typer(rich_markup_mode="rich")
"""Commands about keys; each module of them adds its own."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(
        keys, name="keys", help="Show, replace or protect this node's keys.", epilog=_EXAMPLES
    )


@keys.callback(invoke_without_command=True)
def group(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show, replace or protect this node's keys. Without a further word: show."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_show(setup, as_json=as_json))


@keys.command("show", epilog="Example: [bold]homing-node keys show --json[/bold]")
def show(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the key that is in use, and old ones that still go on beside it."""
    asyncio.run(_show(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


@keys.command("rotate", epilog="Example: [bold]homing-node keys rotate --yes[/bold]")
def rotate(
    context: typer.Context,
    *,
    yes: Yes = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Make a new key while the node runs; nothing is interrupted.

    Phones learn the new key by themselves when they next connect. The old one goes on beside it for
    30 days (keys.overlap_days); a phone that stays away for longer has to be paired again.
    """
    from homing_agent.runtime.agreeing import agree  # noqa: PLC0415  # keep help quick

    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_runs(setup))
    question = "Make a new key? Phones that stay away until the old one ends must pair again"
    agree(question, yes=yes, as_json=as_json)
    asyncio.run(_rotate(setup, as_json=as_json))


async def _runs(setup: Setup) -> None:
    from homing_node.rpc.keys_control import list_keys  # noqa: PLC0415  # keep help quick

    quiet()
    setup.load()
    await list_keys(setup.paths, setup.command("run"))


async def _show(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.device_words import key_object  # noqa: PLC0415  # as above

    from homing_node.cli.console import out  # noqa: PLC0415  # as above
    from homing_node.rpc.keys_control import list_keys  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    found, protection = await list_keys(setup.paths, setup.command("run"))
    if as_json:
        print_json({"keys": [key_object(key) for key in found], "protection": protection.value})
        return
    _print_keys(found)
    out.print(f"On disk they are protected by: {protection.value}")


async def _rotate(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.device_words import key_object  # noqa: PLC0415  # as above

    from homing_node.cli.console import SHORT_ID, moment, out  # noqa: PLC0415  # as above
    from homing_node.rpc.keys_control import rotate_key  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    found = await rotate_key(setup.paths, setup.command("run"))
    if as_json:
        print_json({"event": "rotated", "keys": [key_object(key) for key in found]})
        return
    current, old = found[0], found[1]
    out.print(f"The new key is in use: {current.id[:SHORT_ID]}.")
    out.print(f"The old one, {old.id[:SHORT_ID]}, goes on beside it until {moment(old.ends_at)}.")
    out.print("Phones learn of it when they next connect.")


def _print_keys(found: tuple[OwnKey, ...]) -> None:
    from rich.table import Table  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import SHORT_ID, moment, out  # noqa: PLC0415  # as above

    table = Table(box=None, pad_edge=False)
    for title in ("Key", "Made", "State"):
        table.add_column(title, overflow="fold")
    for key in found:
        state = f"replaced; goes on until {moment(key.ends_at)}" if key.replaced_at else "in use"
        table.add_row(key.id[:SHORT_ID], moment(key.created_at), state)
    out.print(table)
