"""`homing keys`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    from homing_core.keys import NodeKnows, OwnKey

_SHORT_ID = 12
_EXAMPLES = """
[bold]Examples[/bold]

homing keys

homing keys rotate

homing keys protect --with passphrase
"""
keys = typer.Typer(rich_markup_mode="rich")
"""Commands about keys; each module of them adds its own."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(
        keys, name="keys", help="Show, replace or protect this phone's keys.", epilog=_EXAMPLES
    )


@keys.callback(invoke_without_command=True)
def group(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show, replace or protect this phone's keys. Without a further word: show."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_show(setup, as_json=as_json))


@keys.command("show", epilog="Example: [bold]homing keys show --json[/bold]")
def show(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the key that is in use, older ones, and which node knows which."""
    asyncio.run(_show(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


@keys.command("rotate", epilog="Example: [bold]homing keys rotate[/bold]")
def rotate(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Make a new key and tell every node that answers; nothing has to be paired again.

    A node that is away is told by itself when it is called next. After 90 days without that it has
    to be paired with again.
    """
    asyncio.run(_rotate(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


async def _show(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached_channel  # noqa: PLC0415  # as above
    from homing_client.cli.console import out  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_keys import PhoneKeysCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        own, nodes, protection = await PhoneKeysCalls(channel).show()
    if as_json:
        print_json({**_object(own, nodes), "protection": protection.value})
        return
    _print(own, nodes)
    out.print(f"On disk the keys are protected by: {protection.value}", markup=False)


async def _rotate(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached_channel  # noqa: PLC0415  # as above
    from homing_client.cli.console import aside  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_keys import PhoneKeysCalls  # noqa: PLC0415  # as above

    setup.load()
    if not as_json:
        aside("Making a new key and calling every node …")
    async with attached_channel(setup) as channel:
        own, nodes = await PhoneKeysCalls(channel).rotate()
    if as_json:
        print_json({"event": "rotated", **_object(own, nodes)})
        return
    _print(own, nodes)
    if any(node.known_as != own[0].id for node in nodes):
        aside(
            "Nodes that know only an older key get the new one when this phone next reaches them."
        )


def _print(own: tuple[OwnKey, ...], nodes: tuple[NodeKnows, ...]) -> None:
    from rich.text import Text  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import out, printable  # noqa: PLC0415  # as above

    for key in own:
        state = f"replaced; kept until {_day(key.ends_at)} at most" if key.replaced_at else "in use"
        out.print(f"{key.id[:_SHORT_ID]}  made {_day(key.created_at)}  {state}", markup=False)
    for node in nodes:
        if not node.known_as:
            knows = "knows a key that is gone: pair again"
        elif node.known_as == own[0].id:
            knows = "knows the key in use"
        else:
            why = f" ({node.problem})" if node.problem else ""
            knows = f"still knows {node.known_as[:_SHORT_ID]}{why}"
        out.print(Text(printable(f"{node.name}: {knows}")), soft_wrap=True)


def _object(own: tuple[OwnKey, ...], nodes: tuple[NodeKnows, ...]) -> dict[str, Any]:
    from homing_agent.runtime.device_words import key_object  # noqa: PLC0415  # keep help quick

    return {
        "keys": [key_object(key) for key in own],
        "nodes": [
            {
                "node_id": node.node,
                "name": node.name,
                "known_as": node.known_as or None,
                "problem": node.problem or None,
            }
            for node in nodes
        ],
    }


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d")
