"""`homing tools`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.tools import ToolSpec

_ROOMY = 100
"""Columns from which on a table is easier to read than lines."""
_HERE = "this phone"
_EXAMPLES = """
[bold]Examples[/bold]

homing tools

homing tools --no-check --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tools", epilog=_EXAMPLES)(tools)


def tools(
    *,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Ask the nodes for their tools, too.")
    ] = True,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show what the model may call on this phone and at home, and what it cannot and why.

    A home tool can also be started by hand: homing jobs start.
    """
    asyncio.run(_tools(Setup(data_dir, config), check=check, as_json=as_json))


async def _tools(setup: Setup, *, check: bool, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached_channel  # noqa: PLC0415  # as above
    from homing_client.cli.tool_words import tool_object  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_calls import PhoneCalls  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        offered, unavailable = await PhoneCalls(channel).tools()
        home = await PhoneJobsCalls(channel).tools() if check else ()
    if not as_json:
        _show(offered, unavailable, home)
        return
    for spec in offered:
        print_json(tool_object(spec))
    for name, reason in unavailable:
        print_json({"name": name, "available": False, "where": "phone", "reason": reason})
    for spec, node in home:
        print_json(tool_object(spec, node))


def _show(
    offered: Sequence[ToolSpec],
    unavailable: Sequence[tuple[str, str]],
    home: Sequence[tuple[ToolSpec, str]],
) -> None:
    """A table where there is room for one; on a phone's narrow screen two lines for each."""
    from rich.padding import Padding  # noqa: PLC0415  # keep help quick
    from rich.table import Table  # noqa: PLC0415  # as above
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.cli.console import out  # noqa: PLC0415  # as above

    rows = [
        *(_row(spec, _HERE) for spec in offered),
        *((name, _HERE, "-", "-", f"not here: {reason}") for name, reason in unavailable),
        *(_row(spec, node) for spec, node in home),
    ]
    if out.width >= _ROOMY:
        table = Table(box=None, pad_edge=False)
        for title in ("Tool", "At", "Effect", "Asks you", "What it does"):
            table.add_column(title)
        for cells in rows:
            table.add_row(*map(Text, cells))
        out.print(table)
        return
    for name, where, effect, asks, does in rows:
        out.print(Text(f"{name} {'on' if where == _HERE else 'at'} {where}", style="bold"))
        facts = "" if effect == "-" else f"{effect}, asks you: " if asks == "yes" else f"{effect}: "
        out.print(Padding.indent(Text(f"{facts}{does}"), 2))


def _row(spec: ToolSpec, where: str) -> tuple[str, str, str, str, str]:
    from homing_client.cli.console import printable  # noqa: PLC0415  # keep help quick
    from homing_client.cli.tool_words import effect_text, needs_consent  # noqa: PLC0415  # as above

    asks = "yes" if needs_consent(spec) else "no"
    does = " ".join(printable(spec.description).split())
    return printable(spec.name), printable(where), effect_text(spec), asks, does
