"""`homing-node devices usage`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

if TYPE_CHECKING:
    from homing_node.values import DayView, UseView

_EXAMPLES = """
[bold]Examples[/bold]

homing-node devices usage

homing-node devices usage 3f9a0c --days 30 --json
"""
_MOST_DAYS = 3660


def register(devices: typer.Typer) -> None:
    """Add the command."""
    devices.command("usage", epilog=_EXAMPLES)(usage)


def usage(  # noqa: PLR0913  # options of the command line
    context: typer.Context,
    device: Annotated[
        str,
        typer.Argument(
            metavar="[ID]", help="Its name, or enough of the start of its id; all if none."
        ),
    ] = "",
    *,
    days: Annotated[
        int, typer.Option(min=1, max=_MOST_DAYS, help="How many days back, today included.")
    ] = 1,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show what devices use of this node: tokens that count now, and answers and tokens by day."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_usage(setup, device, days, as_json=as_json))


async def _usage(setup: Setup, device: str, days: int, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.localsocket import open_local_channel  # noqa: PLC0415  # as above

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above
    from homing_node.rpc.device_control import DeviceControlClient  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with open_local_channel(setup.paths, setup.command("run")) as channel:
        found = await DeviceControlClient(channel).usage(device, days)
    if as_json:
        for one in found:
            print_json(use_object(one))
    elif found:
        _show(found, days)
    else:
        out.print(f"No device yet. Pair one with: {safe(setup.command('pair'))}")


def _show(found: tuple[UseView, ...], days: int) -> None:
    from rich.table import Table  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import SHORT_ID, out, safe  # noqa: PLC0415  # as above

    table = Table(box=None, pad_edge=False)
    table.add_column("Device", no_wrap=True)
    table.add_column("Name", overflow="fold")
    span = "today" if days == 1 else f"{days} days"
    for title in ("Tokens in 24 h", f"Answers, {span}", "In", "Out", "Refused", "Jobs"):
        table.add_column(title, overflow="fold", justify="right")
    for one in found:
        most = f" of {one.tokens_per_day:,}" if one.tokens_per_day else ""
        table.add_row(
            one.account[:SHORT_ID],
            safe(one.name) or "(not known any more)",
            f"{one.tokens_24h:,}{most}",
            f"{sum(day.generations for day in one.days):,}",
            f"{sum(day.prompt_tokens for day in one.days):,}",
            f"{sum(day.completion_tokens for day in one.days):,}",
            f"{sum(day.refusals for day in one.days):,}",
            f"{one.jobs:,}",
        )
    out.print(table)


def use_object(one: UseView) -> dict[str, Any]:
    """What a device used as `--json` prints it."""
    return {
        "id": one.account,
        "name": one.name or None,
        "role": one.role.value if one.role else None,
        "introduced_by": one.introduced_by or None,
        "tokens_24h": one.tokens_24h,
        "tokens_per_day": one.tokens_per_day or None,
        "running": one.running,
        "jobs": one.jobs,
        "days": [_day_object(day) for day in one.days],
    }


def _day_object(day: DayView) -> dict[str, Any]:
    return {
        "day": day.day,
        "generations": day.generations,
        "prompt_tokens": day.prompt_tokens,
        "cached_tokens": day.cached_tokens,
        "completion_tokens": day.completion_tokens,
        "refusals": day.refusals,
    }
