"""`homing-node devices grant`."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer
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

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_core.access import Scope

    from homing_node.devices.changes import DeviceChange
    from homing_node.tools_views import ToolsOverview
    from homing_node.values import ChangedView

_EXAMPLES = """
[bold]Examples[/bold]

homing-node devices grant 3f9a0c --tokens-per-day 20000 --hours 08:00-22:00

homing-node devices grant 3f9a0c --role guest --until +7d

homing-node devices grant 3f9a0c --models 'botpsy-*' --tools 'notes.*,clock.now'

homing-node devices grant 3f9a0c --reset
"""


class GrantedRole(Enum):
    """Roles that the console may give."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"
    PEER = "peer"


def register(devices: typer.Typer) -> None:
    """Add the command."""
    devices.command("grant", epilog=_EXAMPLES)(grant)


def grant(  # noqa: PLR0913  # options of the command line
    context: typer.Context,
    device: Annotated[
        str, typer.Argument(metavar="ID", help="Its name, or enough of the start of its id.")
    ],
    *,
    role: Annotated[
        GrantedRole | None,
        typer.Option(help="What it is from now on, with that role's scopes."),
    ] = None,
    scopes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="What it may do: inference, tools, jobs, devices, relay, introduce; or none.",
        ),
    ] = None,
    models: Models = None,
    tools: Tools = None,
    tokens_per_day: TokensPerDay = None,
    streams: Streams = None,
    jobs: Jobs = None,
    hours: Hours = None,
    until: Until = None,
    reset: Annotated[
        bool, typer.Option("--reset", help="Begin with the role's scopes and no limits.")
    ] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Change what a device may do; what is not named stays. What it may do no more ends at once."""
    from homing_core.access import DeviceRole  # noqa: PLC0415  # keep help quick

    from homing_node.devices.changes import DeviceChange  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config).or_else(context.obj)
    change = DeviceChange(
        role=DeviceRole(role.value) if role else None,
        scopes=_scopes(scopes),
        limits=limit_change(
            tokens_per_day=tokens_per_day,
            streams=streams,
            jobs=jobs,
            models=models,
            tools=tools,
            hours=hours,
            until=until,
        ),
        reset=reset,
    )
    asyncio.run(_grant(setup, device, change, as_json=as_json))


def _scopes(text: str | None) -> frozenset[Scope] | None:
    from homing_core.access import Scope  # noqa: PLC0415  # keep help quick
    from homing_core.errors import UsageError  # noqa: PLC0415  # as above

    if text is None:
        return None
    if text.strip() == "none":
        return frozenset()
    known = {scope.value: scope for scope in Scope}
    said = [part.strip() for part in text.split(",")]
    if not all(part in known for part in said):
        msg = "that is no list of scopes"
        raise UsageError(msg, f"There are: {', '.join(known)}; or none.")
    return frozenset(known[part] for part in said)


async def _grant(setup: Setup, device: str, change: DeviceChange, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.device_words import device_object, limit_object  # noqa: PLC0415  # as above
    from homing_agent.runtime.localsocket import open_local_channel  # noqa: PLC0415  # as above

    from homing_node.cli.console import err, safe  # noqa: PLC0415  # as above
    from homing_node.rpc.device_control import DeviceControlClient  # noqa: PLC0415  # as above
    from homing_node.rpc.tools_control import ToolsControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with open_local_channel(setup.paths, setup.command("run")) as channel:
        changed = await DeviceControlClient(channel).change(device, change)
        tools = await ToolsControl(channel).overview() if change_of_tools(change) else None
    if as_json:
        print_json(
            {
                "event": "granted",
                "device": device_object(changed.device),
                "effective": limit_object(changed.effective),
                "tighter": dict(changed.tighter),
            }
        )
    else:
        _show(changed)
    if tools is not None:
        for pattern in without_effect(change_of_tools(change), tools):
            hint = f"See: {setup.command('tools')}"
            err.print(f"No tool of this node is called like {safe(pattern)} now. {safe(hint)}")


def change_of_tools(change: DeviceChange) -> tuple[str, ...]:
    """The patterns for tools that a change names."""
    return change.limits.tools or ()


def without_effect(patterns: Iterable[str], found: ToolsOverview) -> tuple[str, ...]:
    """Those that fit no tool, which is perhaps a slip of the hand. Pure."""
    from homing_core.limits import NOTHING, matches  # noqa: PLC0415  # keep help quick

    names = [f"{view.server}.{view.name}" if view.server else view.name for view in found.tools]
    return tuple(one for one in patterns if one != NOTHING and not matches((one,), names))


def _show(changed: ChangedView) -> None:
    from homing_agent.runtime.device_words import limit_lines  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import SHORT_ID, out, safe  # noqa: PLC0415  # as above

    device = changed.device
    scopes = ", ".join(sorted(scope.value for scope in device.scopes)) or "nothing"
    out.print(
        f"[bold]{safe(device.name)}[/bold] ({device.id[:SHORT_ID]}) is "
        f"{device.role.value}, and may use: {scopes}."
    )
    sources = dict(changed.tighter)
    lines = limit_lines(changed.effective)
    for kind, words in lines:
        source = f"  (from {safe(sources[kind])})" if kind in sources else ""
        out.print(f"  {safe(words)}{source}")
    if not lines:
        out.print("  without limits of its own")
