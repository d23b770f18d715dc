"""`homing nodes`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    from homing_client.rpc.phone_calls import NodeRow

_EXAMPLES = """
[bold]Examples[/bold]

homing nodes

homing nodes --no-check --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("nodes", epilog=_EXAMPLES)(nodes)


def nodes(
    *,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Call each node to see whether it answers.")
    ] = True,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the nodes that this phone is paired with."""
    asyncio.run(_nodes(Setup(data_dir, config), check=check, as_json=as_json))


async def _nodes(setup: Setup, *, check: bool, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from rich.table import Table  # noqa: PLC0415  # as above

    from homing_client.attach import attached  # noqa: PLC0415  # as above
    from homing_client.cli.console import out, printable  # noqa: PLC0415  # as above

    setup.load()
    async with attached(setup) as phone:
        found = await phone.nodes(check=check)
    if as_json:
        for node in found:
            print_json(node_object(node))
        return
    if not found:
        out.print("No node yet. On the home computer: homing-node pair; then: homing pair LINK")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("Node", "Place", "Role", "State", "Address", "Models"):
        table.add_column(title)
    for node in found:
        table.add_row(
            *(
                printable(cell)
                for cell in (
                    node.name,
                    node.place.value,
                    node.role.value,
                    _state(node, checked=check),
                    node.address,
                    ", ".join(model.name for model in node.models),
                )
            )
        )
    out.print(table)


def _state(node: NodeRow, *, checked: bool) -> str:
    if node.reachable:
        return f"answers, {node.round_trip_ms:.0f} ms"
    last = (
        datetime.fromtimestamp(node.last_verified_at, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
        if node.last_verified_at
        else "never"
    )
    if not checked:
        return f"last verified {last}"
    why = f": {node.error.what}" if node.error else ""
    return f"no answer{why}; last verified {last}"


def node_object(node: NodeRow) -> dict[str, Any]:
    """The node as `--json` prints it."""
    return {
        "node_id": node.node_id,
        "name": node.name,
        "place": node.place.value,
        "role": node.role.value,
        "reachable": node.reachable,
        "address": node.address,
        "last_verified_at": node.last_verified_at or None,
        "round_trip_ms": round(node.round_trip_ms, 1) if node.reachable else None,
        "models": [
            {
                "name": model.name,
                "quantization": model.quantization,
                "stand_in": model.stand_in,
                "loaded": model.loaded,
            }
            for model in node.models
        ],
        "error": {"code": node.error.code.value, "what": node.error.what, "hint": node.error.hint}
        if node.error
        else None,
    }
