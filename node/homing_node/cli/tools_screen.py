"""A node's tools as a person or a script reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rich.padding import Padding
from rich.table import Table

from homing_node.cli.console import out, safe
from homing_node.tools_views import Offer

if TYPE_CHECKING:
    from rich.console import Console

    from homing_node.tools_views import ServerView, ToolsOverview, ToolView

_COLOURS: Final = {
    Offer.OFFERED: "green",
    Offer.OFF: "dim",
    Offer.UNAVAILABLE: "yellow",
    Offer.WITHHELD: "bold yellow",
    Offer.UNUSABLE: "red",
}
_STATES: Final = {"ready": "green", "starting": "yellow", "waiting": "red"}
_SHORT: Final = 200
_ROOMY: Final = 72
"""Columns from which on a table is easier to read than lines."""


def show_tools(found: ToolsOverview, allow: str) -> None:
    """All tools, then servers that are starting, then what waits for a word."""
    if not found.tools:
        out.print("This node offers no tools. See docs/tools.md for what there is.")
        return
    rows = [_row(view) for view in found.tools]
    if out.width < _ROOMY:
        for name, source, effect, offer in rows:
            out.print(f"[bold]{name}[/bold] from {source}")
            out.print(Padding.indent(f"{effect}; {offer}", 2))
    else:
        table = Table(box=None, pad_edge=False)
        for title in ("Tool", "From", "May", "Offered"):
            table.add_column(title, overflow="fold")
        for cells in rows:
            table.add_row(*cells)
        out.print(table)
    for server in found.servers:
        if server.state == "starting":
            out.print(f"{safe(server.name)} is starting; what it offers comes once it is ready.")
    _show_waiting(found, allow)


def _row(view: ToolView) -> tuple[str, str, str, str]:
    colour = _COLOURS[view.offer]
    reason = f": {safe(view.reason)}" if view.reason else ""
    return (
        safe(view.name),
        safe(view.server),
        view.effect.value.replace("_", " ") if view.effect else "-",
        f"[{colour}]{view.offer.value}[/{colour}]{reason}",
    )


def show_servers(found: ToolsOverview, allow: str) -> None:
    """The MCP servers in a table, then what waits for a word."""
    if not found.servers:
        out.print("No MCP servers. List some in mcp.json; see docs/tools.md.")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("Server", "By", "State", "Tools", "Waiting", "Last error"):
        table.add_column(title, overflow="fold")
    for server in found.servers:
        colour = _STATES.get(server.state, "dim")
        table.add_row(
            safe(server.name),
            safe(server.kind),
            f"[{colour}]{safe(server.state)}[/{colour}]",
            str(server.tools),
            str(server.withheld or "-"),
            safe(server.last_error) or "-",
        )
    out.print(table)
    _show_waiting(found, allow)


def tool_object(view: ToolView) -> dict[str, Any]:
    """A tool for a script."""
    return {
        "event": "tool",
        "server": view.server,
        "name": view.name,
        "description": view.description,
        "effect": view.effect.value if view.effect else None,
        "idempotent": view.idempotent,
        "state": view.offer.value,
        "reason": view.reason or None,
        "changed": view.changed,
        "before": view.before or None,
        "parameters": view.parameters or None,
        "parameters_before": view.parameters_before or None,
        "hash": view.hash or None,
    }


def server_object(view: ServerView) -> dict[str, Any]:
    """A server for a script."""
    return {
        "event": "server",
        "name": view.name,
        "kind": view.kind,
        "state": view.state,
        "tools": view.tools,
        "withheld": view.withheld,
        "failures": view.failures,
        "last_error": view.last_error or None,
        "protocol": view.protocol or None,
    }


def show_waiting_tool(view: ToolView, console: Console) -> None:
    """All that a person has to see of a tool before it is allowed."""
    console.print(f"[bold]{safe(view.server)}.{safe(view.name)}[/bold]: {safe(view.reason)}")
    if view.before != view.description and view.changed:
        console.print(f"  said   {safe(view.before) or 'nothing'}")
    console.print(f"  says   {safe(view.description) or 'nothing'}")
    if view.parameters_before != view.parameters and view.changed:
        console.print(f"  took   {safe(view.parameters_before)}")
    console.print(f"  takes  {safe(view.parameters)}")
    console.print(f"  hash   {safe(view.hash)}")


def _show_waiting(found: ToolsOverview, allow: str) -> None:
    waiting = [view for view in found.tools if view.offer is Offer.WITHHELD]
    if not waiting:
        return
    out.print("\n[bold]These wait for your word[/bold]")
    for view in waiting:
        out.print(f"{safe(view.server)}.{safe(view.name)}: {safe(view.reason)}")
        if view.before:
            out.print(f"  said  {safe(view.before[:_SHORT])}")
        out.print(f"  says  {safe(view.description[:_SHORT]) or 'nothing'}")
    out.print(f"Allow one with: {safe(allow)}")
