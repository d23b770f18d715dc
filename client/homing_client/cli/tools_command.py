"""`homing tools`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.tools import ToolSpec

    from homing_client.jobs.ports import NodeTools

_ROOMY = 100
"""Columns from which on a table is easier to read than lines."""
_HERE = "this phone"
_EXAMPLES = """
[bold]Examples[/bold]

homing tools

homing tools summarise_folder

homing tools --no-check --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tools", epilog=_EXAMPLES)(tools)


def tools(
    name: Annotated[
        str | None,
        typer.Argument(metavar="TOOL", help="Show what this one takes.", show_default="all, short"),
    ] = None,
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
    asyncio.run(_tools(Setup(data_dir, config), name, check=check, as_json=as_json))


async def _tools(setup: Setup, name: str | None, *, check: bool, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached_channel  # noqa: PLC0415  # as above
    from homing_client.cli.job_tool import all_offered  # noqa: PLC0415  # as above
    from homing_client.cli.tool_words import show_tool, tool_object  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_calls import PhoneCalls  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_jobs_calls import PhoneJobsCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        offered, unavailable = await PhoneCalls(channel).tools()
        home = await PhoneJobsCalls(channel).tools() if check else ()
    if name is not None:
        one = _named(name, offered, unavailable, home)
        if as_json:
            print_json(tool_object(*one))
        else:
            show_tool(*one)
        return
    if not as_json:
        _show(offered, unavailable, home)
        return
    for spec in offered:
        print_json(tool_object(spec))
    for called, reason in unavailable:
        print_json({"name": called, "available": False, "where": "phone", "reason": reason})
    for spec, node in all_offered(home):
        print_json(tool_object(spec, node))


def _named(
    name: str,
    here: Sequence[ToolSpec],
    unavailable: Sequence[tuple[str, str]],
    home: Sequence[NodeTools],
) -> tuple[ToolSpec, str]:
    """The tool of this name, the phone's own before those of nodes.

    Raises:
        HomingError: there is none, or it cannot act here.
    """
    from homing_core.errors import UnavailableError  # noqa: PLC0415  # keep help quick

    from homing_client.cli.job_tool import choose_tool  # noqa: PLC0415  # as above

    for spec in here:
        if spec.name == name:
            return spec, ""
    for called, reason in unavailable:
        if called == name:
            msg = f"{called} is not here: {reason}"
            raise UnavailableError(msg, "See what is: homing tools")
    return choose_tool(home, name, "")


def _show(
    offered: Sequence[ToolSpec],
    unavailable: Sequence[tuple[str, str]],
    home: Sequence[NodeTools],
) -> None:
    """A table where there is room for one; on a phone's narrow screen two lines for each."""
    from rich.padding import Padding  # noqa: PLC0415  # keep help quick
    from rich.table import Table  # noqa: PLC0415  # as above
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.cli.console import aside, out, printable  # noqa: PLC0415  # as above
    from homing_client.cli.job_tool import all_offered, closed_to_us  # noqa: PLC0415  # as above

    rows = [
        *(_row(spec, _HERE) for spec in offered),
        *((name, _HERE, "-", "-", f"not here: {reason}") for name, reason in unavailable),
        *(_row(spec, node) for spec, node in all_offered(home)),
    ]
    without = [printable(str(closed_to_us(node))) for node in home if not node.tools]
    if out.width >= _ROOMY:
        table = Table(box=None, pad_edge=False)
        for title in ("Tool", "At", "Effect", "Asks you", "What it does"):
            table.add_column(title)
        for cells in rows:
            table.add_row(*map(Text, cells))
        out.print(table)
    for name, where, effect, asks, does in rows if out.width < _ROOMY else ():
        out.print(Text(f"{name} {'on' if where == _HERE else 'at'} {where}", style="bold"))
        facts = "" if effect == "-" else f"{effect}, asks you: " if asks == "yes" else f"{effect}: "
        out.print(Padding.indent(Text(f"{facts}{does}"), 2))
    for line in without:
        aside(line)


def _row(spec: ToolSpec, where: str) -> tuple[str, str, str, str, str]:
    from homing_client.cli.console import printable  # noqa: PLC0415  # keep help quick
    from homing_client.cli.tool_words import effect_text, needs_consent  # noqa: PLC0415  # as above

    asks = "yes" if needs_consent(spec) else "no"
    does = " ".join(printable(spec.description).split())
    return printable(spec.name), printable(where), effect_text(spec), asks, does
