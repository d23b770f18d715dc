"""`homing nodes`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from homing_core.errors import ErrorCode

from homing_client.cli.limits_left import limits_left, limits_object
from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.nodes import ServedModel

    from homing_client.rpc.phone_calls import NodeRow

_ROOMY = 100
"""Columns from which on a table is easier to read than lines."""
_EXAMPLES = """
[bold]Examples[/bold]

homing nodes

homing nodes --no-check --json

homing nodes forget attic
"""
nodes = typer.Typer(rich_markup_mode="rich")
"""Commands about nodes; each module of them adds its own."""


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(
        nodes,
        name="nodes",
        help="Show the nodes that this phone is paired with, or forget one.",
        epilog=_EXAMPLES,
    )


@nodes.callback(invoke_without_command=True)
def group(
    context: typer.Context,
    *,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Call each node to see whether it answers.")
    ] = True,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the nodes that this phone is paired with. Without a further word: list."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_nodes(setup, check=check, as_json=as_json))


@nodes.command("list", epilog="Example: [bold]homing nodes list --no-check[/bold]")
def list_nodes(
    context: typer.Context,
    *,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Call each node to see whether it answers.")
    ] = True,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the nodes, home before peers."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_nodes(setup, check=check, as_json=as_json))


async def _nodes(setup: Setup, *, check: bool, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached_channel  # noqa: PLC0415  # as above
    from homing_client.cli.console import out  # noqa: PLC0415  # as above
    from homing_client.rpc.audit_service import PhoneAuditCalls  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_calls import PhoneCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        found = await PhoneCalls(channel).nodes(check=check)
        records = {row.node_id: row for row in await PhoneAuditCalls(channel).records()}
    troubles = {node: row.trouble for node, row in records.items() if row.trouble}
    if as_json:
        for node in found:
            trouble = troubles.get(node.node_id)
            print_json({**node_object(node), "record_trouble": trouble})
    elif found:
        _show(found, checked=check)
        _warn(troubles.values())
    else:
        out.print(
            "No node yet. On the home computer: homing-node pair. Then here: homing pair LINK",
            soft_wrap=True,
            markup=False,
        )


def _show(found: tuple[NodeRow, ...], *, checked: bool) -> None:
    """A table where there is room for one; on a phone's narrow screen a few lines for each."""
    from rich.table import Table  # noqa: PLC0415  # keep help quick
    from rich.text import Text  # noqa: PLC0415  # as above

    from homing_client.cli.console import aside, out, printable  # noqa: PLC0415  # as above

    rows = [
        (
            printable(node.name),
            node.place.value,
            node.role.value,
            printable(_state(node, checked=checked) + _voucher(node) + limits_left(node.own)),
            printable(node.address),
            printable(", ".join(_model(model) for model in node.models)),
        )
        for node in found
    ]
    if out.width >= _ROOMY:
        table = Table(box=None, pad_edge=False)
        for title in ("Node", "Place", "Your role", "State", "Address", "Models"):
            table.add_column(title, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        out.print(table)
    else:
        for name, place, role, *rest in rows:
            out.print(Text(f"{name} ({place}; you are {role})", style="bold"))
            for line in filter(None, rest):
                out.print(Text(f"  {line}"))
    for node in found:
        if node.error is not None and node.error.hint:
            aside(f"{node.name}: {node.error.hint}")


def _warn(troubles: Iterable[str]) -> None:
    from homing_client.cli.console import err, printable  # noqa: PLC0415  # keep help quick

    for words in troubles:
        line = f"Warning: {printable(words)}. See: homing audit"
        err.print(line, style="bold red", markup=False, soft_wrap=True)


def _model(model: ServedModel) -> str:
    return f"{model.name} (stand-in)" if model.stand_in else model.name


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
    why = node.error.what if node.error else "no answer"
    return f"{why}; last verified {last}"


def _voucher(node: NodeRow) -> str:
    """Who vouches for this phone there, and until when as it stands; renewed while it does."""
    if not node.introduced_by:
        return ""
    if node.error is not None and node.error.code is ErrorCode.UNPAIRED:  # it says so itself
        return ""
    until = datetime.fromtimestamp(node.lease_expires_at, UTC).astimezone()
    today = datetime.now(UTC).astimezone().date() == until.date()
    moment = until.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
    return f"; vouched for by {node.introduced_by_name or 'a home'}, until {moment}"


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
        "introduced_by": node.introduced_by or None,
        "introduced_by_name": node.introduced_by_name or None,
        "lease_expires_at": node.lease_expires_at or None,
        "limits": limits_object(node.own) if node.own else None,
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
