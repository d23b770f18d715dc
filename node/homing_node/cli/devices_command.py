"""`homing-node devices`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from homing_node.cli import devices_grant, devices_usage
from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

_EXAMPLES = """
[bold]Examples[/bold]

homing-node devices

homing-node devices grant 3f9a0c --tokens-per-day 20000 --hours 08:00-22:00

homing-node devices usage

homing-node devices revoke 3f9a0c
"""
_devices = typer.Typer(rich_markup_mode="rich")
devices_grant.register(_devices)
devices_usage.register(_devices)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _devices,
        name="devices",
        help="Show the paired devices and what they use, change what they may do, shut one out.",
        epilog=_EXAMPLES,
    )


@_devices.callback(invoke_without_command=True)
def devices(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the paired devices, limit them or shut one out. Without a further word: list."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_list(setup, as_json=as_json))


@_devices.command("list", epilog="Example: [bold]homing-node devices list --json[/bold]")
def list_devices(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the paired devices, oldest first."""
    asyncio.run(_list(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


@_devices.command("revoke", epilog="Example: [bold]homing-node devices revoke 3f9a0c[/bold]")
def revoke(
    context: typer.Context,
    device: Annotated[
        str, typer.Argument(metavar="ID", help="Its name, or enough of the start of its id.")
    ],
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Shut a device out at once: what it has running here ends."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_revoke(setup, device, as_json=as_json))


async def _list(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.device_words import device_object, limits_text  # noqa: PLC0415  # as above
    from homing_core.devices import state_words  # noqa: PLC0415  # as above
    from rich.table import Table  # noqa: PLC0415  # as above

    from homing_node.cli.console import SHORT_ID, moment, out, safe  # noqa: PLC0415  # as above
    from homing_node.rpc.control_client import ControlClient  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with ControlClient.connect(setup.paths, setup.command("run")) as daemon:
        found = await daemon.devices()
    if as_json:
        for device in found:
            print_json(device_object(device))
        return
    if not found:
        out.print(f"No device yet. Pair one with: {safe(setup.command('pair'))}")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("Device", "Name", "Role", "May use", "State", "Paired", "Last seen"):
        table.add_column(title, overflow="fold")
    for device in found:
        table.add_row(
            device.id[:SHORT_ID],
            safe(device.name),
            device.role.value,
            ", ".join(sorted(scope.value for scope in device.scopes)),
            state_words(device),
            moment(device.paired_at),
            moment(device.last_seen_at),
        )
    out.print(table)
    for device in found:
        if words := limits_text(device.limits):
            out.print(f"{safe(device.name)} ({device.id[:SHORT_ID]}) is limited: {safe(words)}")


async def _revoke(setup: Setup, device: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.device_words import device_object  # noqa: PLC0415  # as above

    from homing_node.cli.console import SHORT_ID, out, safe  # noqa: PLC0415  # as above
    from homing_node.rpc.control_client import ControlClient  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with ControlClient.connect(setup.paths, setup.command("run")) as daemon:
        revoked = await daemon.revoke(device)
    if as_json:
        print_json({"event": "revoked", "device": device_object(revoked)})
    else:
        out.print(f"Shut out: {safe(revoked.name)}, {revoked.id[:SHORT_ID]}.")
