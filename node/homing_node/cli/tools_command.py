"""`homing-node tools`."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, Yes, quiet

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_node.rpc.tools_control import ToolsControl

_EXAMPLES = """
[bold]Examples[/bold]

homing-node tools

homing-node tools status

homing-node tools allow files

homing-node tools allow files.read_file

To leave tools out: off under \\[tools] of node.toml. For one device:
homing-node devices grant PHONE --tools 'builtin.*'
"""
_tools = typer.Typer(rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _tools,
        name="tools",
        help="What this node can do for phones, and the MCP servers behind it.",
        epilog=_EXAMPLES,
    )


@_tools.callback(invoke_without_command=True)
def tools(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Tools that this node offers, and why others are not. Alone: list."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_list(setup, as_json=as_json))


@_tools.command("list", epilog="Example: [bold]homing-node tools list --json[/bold]")
def list_tools(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """List every tool: where it is from, what it may do, and whether it is offered."""
    asyncio.run(_list(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


@_tools.command("status", epilog="Example: [bold]homing-node tools status --json[/bold]")
def status(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show how the MCP servers are, and what waits for your word."""
    asyncio.run(_status(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


@_tools.command("allow", epilog="Example: [bold]homing-node tools allow files.read_file[/bold]")
def allow(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    which: Annotated[
        str,
        typer.Argument(metavar="SERVER[.TOOL]", help="A server, or one of its tools that waits."),
    ],
    *,
    hashes: Annotated[
        list[str] | None,
        typer.Option(
            "--hash",
            metavar="HASH",
            help="Allow only what has this hash in tools --json, without a question. Repeatable.",
        ),
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Allow tools of an MCP server that are new or have changed. Shows them, and asks.

    What has changed again since it was shown is not allowed.
    """
    from homing_agent.runtime.agreeing import agree  # noqa: PLC0415  # keep help quick

    setup = Setup(data_dir, config).or_else(context.obj)
    shown = frozenset(hashes or ())
    if not shown:
        shown = asyncio.run(_waiting(setup, which, as_json=as_json))
        if shown:  # of nothing, the daemon says why
            agree("Allow exactly this", yes=yes, as_json=as_json)
    asyncio.run(_allow(setup, which, shown, as_json=as_json))


@_tools.command("retry", epilog="Example: [bold]homing-node tools retry files[/bold]")
def retry(
    context: typer.Context,
    server: Annotated[str, typer.Argument(metavar="SERVER", help="An MCP server that failed.")],
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Try an MCP server that failed again at once."""
    asyncio.run(_retry(Setup(data_dir, config).or_else(context.obj), server, as_json=as_json))


async def _list(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.tools_screen import show_tools, tool_object  # noqa: PLC0415  # as above

    async with _daemon(setup) as daemon:
        found = await daemon.overview()
    if as_json:
        for view in found.tools:
            print_json(tool_object(view))
    else:
        show_tools(found, setup.command("tools allow SERVER.TOOL"))


async def _status(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.tools_screen import (  # noqa: PLC0415  # as above
        server_object,
        show_servers,
        tool_object,
    )
    from homing_node.tools_views import Offer  # noqa: PLC0415  # as above

    async with _daemon(setup) as daemon:
        found = await daemon.overview()
    if as_json:
        for server in found.servers:
            print_json(server_object(server))
        for view in found.tools:
            if view.offer is Offer.WITHHELD:
                print_json(tool_object(view))
    else:
        show_servers(found, setup.command("tools allow SERVER.TOOL"))


async def _waiting(setup: Setup, which: str, *, as_json: bool) -> frozenset[str]:
    """Hashes of what waits, shown to whoever decides."""
    from homing_node.cli.console import err  # noqa: PLC0415  # keep help quick
    from homing_node.cli.tools_screen import show_waiting_tool  # noqa: PLC0415  # as above
    from homing_node.tools_views import Offer  # noqa: PLC0415  # as above

    server, _, tool = which.partition(".")
    async with _daemon(setup) as daemon:
        found = await daemon.overview()
    waiting = [
        view
        for view in found.tools
        if view.offer is Offer.WITHHELD and view.server == server and tool in {"", view.name}
    ]
    if not as_json:
        for view in waiting:
            show_waiting_tool(view, err)
    return frozenset(view.hash for view in waiting)


async def _allow(setup: Setup, which: str, shown: frozenset[str], *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above

    server, _, tool = which.partition(".")
    async with _daemon(setup) as daemon:
        names = await daemon.allow(server, tool, shown)
    if as_json:
        print_json({"event": "allowed", "server": server, "tools": list(names)})
        return
    out.print(f"[green]Allowed[/green] of {safe(server)}: {safe(', '.join(names))}")
    out.print("Phones ask their person again before they use what has changed.")


async def _retry(setup: Setup, server: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above

    async with _daemon(setup) as daemon:
        await daemon.retry(server)
    if as_json:
        print_json({"event": "retried", "server": server})
    else:
        out.print(f"{safe(server)} is started again; see: {safe(setup.command('tools status'))}")


@asynccontextmanager
async def _daemon(setup: Setup) -> AsyncGenerator[ToolsControl]:
    from homing_node.rpc.tools_control import ToolsControl  # noqa: PLC0415  # keep help quick

    quiet()
    setup.load()
    async with ToolsControl.connect(setup.paths, setup.command("run")) as daemon:
        yield daemon
