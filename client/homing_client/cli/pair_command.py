"""`homing pair`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from homing_core.labels import clean_label

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

_EXAMPLES = """
[bold]Example[/bold]

On the home computer: homing-node pair

On the phone: homing pair 'homing://pair?v=1&a=…'
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("pair", epilog=_EXAMPLES)(pair)


def pair(
    *,
    link: Annotated[
        str,
        typer.Argument(metavar="LINK", help="What homing-node pair shows; in quotes. - reads it."),
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="What this phone calls itself."),
    ] = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Pair this phone with a node, once."""
    from homing_crypto.pairing.link import parse_link  # noqa: PLC0415  # keep help quick

    from homing_client.cli.typed import read_text  # noqa: PLC0415  # as above

    # A link given as an argument is seen by every user of the machine; - keeps it private.
    text = read_text([link], "link")
    parse_link(text)  # a damaged one is told without starting anything
    asyncio.run(_pair(Setup(data_dir, config), text, name, as_json=as_json))


async def _pair(setup: Setup, link: str, name: str | None, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached  # noqa: PLC0415  # as above
    from homing_client.cli.console import aside, out  # noqa: PLC0415  # as above
    from homing_client.cli.nodes_command import node_object  # noqa: PLC0415  # as above

    setup.load()
    async with attached(setup) as phone:
        node = await phone.pair(link, clean_label(name, fallback="") if name else "")
    if as_json:
        print_json({"event": "paired", **node_object(node)})
        return
    out.print(f"Paired with {node.name} as {node.role.value}.", markup=False)
    if node.error is None:
        served = ", ".join(model.name for model in node.models)
        aside(f"It answers at {node.address}" + (f" and serves {served}." if served else "."))
        aside('Try it: homing ask --route home "why is the sky blue?"')
    else:
        aside(f"It does not answer on its main port yet: {node.error}")
        aside("See later: homing nodes")
