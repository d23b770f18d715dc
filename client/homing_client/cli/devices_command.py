"""`homing devices`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from homing_agent.runtime.device_words import device_object
from homing_agent.runtime.limit_options import (
    Hours,
    Jobs,
    Models,
    Streams,
    TokensPerDay,
    Tools,
    Until,
    limit_change,
)

from homing_client.cli.devices_view import show_devices, show_limited, show_revoked
from homing_client.cli.options import ConfigFile, DataDir, Json, Setup
from homing_client.cli.recovery_prompt import ask_secret

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.limit_words import LimitChange


_EXAMPLES = """
[bold]Examples[/bold]

homing devices

homing devices limit 3f9a0c --tokens-per-day 20000 --hours 08:00-22:00

homing devices revoke 3f9a0c
"""
_REVOKE_EXAMPLES = """
[bold]Examples[/bold]

homing devices revoke 3f9a0c

homing devices revoke 77b1e2 --recovery      (another owner's phone; asks for the recovery secret)
"""
_devices = typer.Typer(rich_markup_mode="rich")

Node: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--node",
        metavar="NAME",
        help="Which node: its name, or the start of its id.",
        show_default="the home node",
    ),
]
DeviceId: TypeAlias = Annotated[
    str, typer.Argument(metavar="ID", help="Its name, or enough of the start of its id.")
]
Recovery: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--recovery",
        help="Give the node's recovery secret, which changes among owners need. It is asked for; "
        "a - behind it reads it from standard input.",
    ),
]
From: TypeAlias = Annotated[str | None, typer.Argument(metavar="-", hidden=True)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _devices,
        name="devices",
        help="Look after a node's devices, where this phone is an owner.",
        epilog=_EXAMPLES,
    )


@_devices.callback(invoke_without_command=True)
def devices(
    context: typer.Context,
    *,
    node: Node = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Look after a node's devices. Without a further word: list them."""
    context.obj = (Setup(data_dir, config), node)
    if context.invoked_subcommand is None:
        asyncio.run(_list(Setup(data_dir, config), node or "", as_json=as_json))


@_devices.command("list", epilog="Example: [bold]homing devices list --json[/bold]")
def list_devices(
    context: typer.Context,
    *,
    node: Node = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show the devices that a node knows, oldest first."""
    setup, name = _told(context, data_dir, config, node)
    asyncio.run(_list(setup, name, as_json=as_json))


@_devices.command("revoke", epilog=_REVOKE_EXAMPLES)
def revoke(  # noqa: PLR0913  # each is an option of its own
    context: typer.Context,
    device: DeviceId,
    secret_from: From = None,
    *,
    recovery: Recovery = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before the last owner goes.")
    ] = False,
    node: Node = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Shut a device out of a node at once. Any phone may name itself: it leaves the node."""
    setup, name = _told(context, data_dir, config, node)
    secret = ask_secret(secret_from, recovery=recovery)
    asyncio.run(_revoke(setup, name, device, secret, yes=yes, as_json=as_json))


@_devices.command(
    "limit",
    epilog="Example: [bold]homing devices limit 3f9a0c --tokens-per-day 20000 --until +30d[/bold]",
)
def limit(  # noqa: PLR0913  # each is an option of its own
    context: typer.Context,
    device: DeviceId,
    secret_from: From = None,
    *,
    tokens_per_day: TokensPerDay = None,
    streams: Streams = None,
    jobs: Jobs = None,
    models: Models = None,
    tools: Tools = None,
    hours: Hours = None,
    until: Until = None,
    recovery: Recovery = False,
    node: Node = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Limit what a device may do on a node. What is not named stays as it is."""
    from homing_core.errors import UsageError  # noqa: PLC0415  # keep help quick

    setup, name = _told(context, data_dir, config, node)
    change = limit_change(
        tokens_per_day=tokens_per_day,
        streams=streams,
        jobs=jobs,
        models=models,
        tools=tools,
        hours=hours,
        until=until,
    )
    if not change:
        msg = "nothing was said to be limited"
        raise UsageError(msg, "Say for example: --tokens-per-day 20000")
    secret = ask_secret(secret_from, recovery=recovery)
    asyncio.run(_limit(setup, name, device, change, secret, as_json=as_json))


def _told(
    context: typer.Context,
    data_dir: Path | None,
    config: Path | None,
    node: str | None,
) -> tuple[Setup, str]:
    """What was said here, or else at the command around this one."""
    outer, outer_node = context.obj
    setup = Setup(data_dir or outer.data_dir, config or outer.config)
    return setup, node or outer_node or ""


async def _list(setup: Setup, node: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_client.attach import attached_channel  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_devices import PhoneDevicesCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        found = await PhoneDevicesCalls(channel).devices(node)
    if as_json:
        for row in found.devices:
            print_json({**device_object(row), "this_phone": row.id == found.own_id})
    else:
        show_devices(found)


async def _revoke(  # noqa: PLR0913  # the words of the command
    setup: Setup, node: str, device: str, secret: str, *, yes: bool, as_json: bool
) -> None:
    from homing_client.attach import attached_channel  # noqa: PLC0415  # keep help quick
    from homing_client.cli.leaving import ask_before_last_owner_leaves  # noqa: PLC0415  # as above
    from homing_client.rpc.phone_devices import PhoneDevicesCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        calls = PhoneDevicesCalls(channel)
        if not yes:
            await ask_before_last_owner_leaves(calls, node, device, as_json=as_json)
        found = await calls.revoke(node, device, secret)
    show_revoked(found, as_json=as_json)


async def _limit(  # noqa: PLR0913  # the words of the command
    setup: Setup, node: str, device: str, change: LimitChange, secret: str, *, as_json: bool
) -> None:
    from homing_client.attach import attached_channel  # noqa: PLC0415  # keep help quick
    from homing_client.rpc.phone_devices import PhoneDevicesCalls  # noqa: PLC0415  # as above

    setup.load()
    async with attached_channel(setup) as channel:
        found = await PhoneDevicesCalls(channel).limit(node, device, change, secret)
    show_limited(found, as_json=as_json)
