"""`homing tools`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup

if TYPE_CHECKING:
    import typer

_EXAMPLES = """
[bold]Example[/bold]

homing tools --json
"""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tools", epilog=_EXAMPLES)(tools)


def tools(*, as_json: Json = False, data_dir: DataDir = None, config: ConfigFile = None) -> None:
    """Show what the model may call on this phone, and what it cannot and why."""
    asyncio.run(_tools(Setup(data_dir, config), as_json=as_json))


async def _tools(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from rich.table import Table  # noqa: PLC0415  # as above

    from homing_client.attach import attached  # noqa: PLC0415  # as above
    from homing_client.cli.console import out  # noqa: PLC0415  # as above

    setup.load()
    async with attached(setup) as phone:
        offered, unavailable = await phone.tools()
    if as_json:
        for spec in offered:
            print_json(
                {
                    "name": spec.name,
                    "available": True,
                    "effect": spec.effect.value,
                    "topics": sorted(topic.value for topic in spec.topics),
                    "description": spec.description,
                    "parameters": spec.parameters,
                    "schema_hash": spec.schema_hash,
                }
            )
        for name, reason in unavailable:
            print_json({"name": name, "available": False, "reason": reason})
        return
    table = Table(box=None, pad_edge=False)
    for title in ("Tool", "Effect", "What it does"):
        table.add_column(title)
    for spec in offered:
        table.add_row(spec.name, spec.effect.value, spec.description)
    for name, reason in unavailable:
        table.add_row(name, "-", f"not here: {reason}", style="dim")
    out.print(table)
