"""`homing nodes forget`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup, Yes

_SHORT_ID = 12


def register(group: typer.Typer) -> None:
    """Add the command to the group `nodes`."""
    group.command("forget", epilog="Example: [bold]homing nodes forget attic[/bold]")(forget)


def forget(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="Its name, or enough of the start of its id.")
    ],
    *,
    yes: Yes = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Forget a node: nothing is sent there any more, and nothing from there is believed.

    Use it when a node was lost, stolen or given away. It is not told: on a node that still is
    yours, shut this phone out as well (homing-node devices revoke).
    """
    from homing_agent.runtime.agreeing import agree  # noqa: PLC0415  # keep help quick

    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_reached(setup))
    question = f"Forget {node}? To talk to it again this phone must be paired with it anew"
    agree(question, yes=yes, as_json=as_json)
    asyncio.run(_forget(setup, node, as_json=as_json))


async def _reached(setup: Setup) -> None:
    from homing_client.attach import attached_channel  # noqa: PLC0415  # keep help quick
    from homing_client.rpc.phone_calls import PhoneCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        await PhoneCalls(channel).nodes(check=False)


async def _forget(setup: Setup, node: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.attach import attached_channel  # noqa: PLC0415  # as above
    from homing_client.cli.console import out, printable  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_keys import PhoneKeysCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        node_id, name = await PhoneKeysCalls(channel).forget(node)
    if as_json:
        print_json({"event": "forgotten", "node_id": node_id, "name": name})
    else:
        out.print(Text(printable(f"Forgotten: {name}, {node_id[:_SHORT_ID]}.")), soft_wrap=True)
