"""`homing-node recovery`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, Yes, quiet

if TYPE_CHECKING:
    from homing_core.errors import HomingError

_EXAMPLES = """
[bold]Examples[/bold]

homing-node recovery

homing-node recovery new --yes
"""
_recovery = typer.Typer(rich_markup_mode="rich")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _recovery,
        name="recovery",
        help="The recovery secret: lets one owner's phone shut out or change another owner's.",
        epilog=_EXAMPLES,
    )


@_recovery.callback(invoke_without_command=True)
def recovery(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Say whether there is a recovery secret, or make a new one. Without a further word: status."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_status(setup, as_json=as_json))


@_recovery.command("status", epilog="Example: [bold]homing-node recovery status --json[/bold]")
def status(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Say whether there is a recovery secret, and when it was made. It is never shown again."""
    asyncio.run(_status(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


@_recovery.command("new", epilog="Example: [bold]homing-node recovery new[/bold]")
def new(
    context: typer.Context,
    *,
    yes: Yes = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Make a new recovery secret and show it, once. The old one is void from then on."""
    from homing_agent.runtime.agreeing import agree  # noqa: PLC0415  # keep help quick

    setup = Setup(data_dir, config).or_else(context.obj)
    if asyncio.run(_exists(setup)):
        agree("Make a new secret? The old one is void then", yes=yes, as_json=as_json)
    asyncio.run(_new(setup, as_json=as_json))


async def _status(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.localsocket import open_local_channel  # noqa: PLC0415  # as above

    from homing_node.cli.console import moment, out, safe  # noqa: PLC0415  # as above
    from homing_node.rpc.recovery_service import RecoveryClient  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with open_local_channel(setup.paths, setup.command("run")) as channel:
        state = await RecoveryClient(channel).state()
    if as_json:
        print_json({"event": "recovery", "made_at": state.made_at or None, "shown": state.shown})
        return
    make = safe(setup.command("recovery new"))
    if not state.made_at:
        out.print(f"There is no recovery secret. Make one with: {make}")
    elif not state.shown:
        out.print(f"The recovery secret was shown to nobody. Make a new one with: {make}")
    else:
        out.print(f"A recovery secret was made {moment(state.made_at)}. Lost it? {make}")


async def _exists(setup: Setup) -> bool:
    from homing_agent.runtime.localsocket import open_local_channel  # noqa: PLC0415  # keep quick
    from homing_core.errors import IntegrityError  # noqa: PLC0415  # as above

    from homing_node.rpc.recovery_service import RecoveryClient  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with open_local_channel(setup.paths, setup.command("run")) as channel:
        try:
            state = await RecoveryClient(channel).state()
        except IntegrityError:  # a damaged one opens nothing any more
            return False
    return bool(state.made_at and state.shown)


async def _new(setup: Setup, *, as_json: bool) -> None:
    quiet()
    setup.load()
    await show_new(setup, as_json=as_json)


async def offer_secret(setup: Setup, *, as_json: bool) -> None:
    """Make and show a secret where nobody has one yet; what goes wrong with it is only said."""
    from homing_core.errors import HomingError  # noqa: PLC0415  # keep help quick

    try:
        await show_new(setup, as_json=as_json, if_missing=True)
    except HomingError as error:
        _say_why(error)


async def show_new(setup: Setup, *, as_json: bool, if_missing: bool = False) -> None:
    """Make a secret and show it, this once.

    Args:
        setup: which node.
        as_json: for a script.
        if_missing: only if nobody has one.

    Raises:
        HomingError: it could not be made.
    """
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.localsocket import open_local_channel  # noqa: PLC0415  # as above

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above
    from homing_node.rpc.recovery_service import RecoveryClient  # noqa: PLC0415  # as above

    async with open_local_channel(setup.paths, setup.command("run")) as channel:
        daemon = RecoveryClient(channel)
        secret, made_at = await daemon.make(if_missing=if_missing)
        if not secret:
            return
        if as_json:
            print_json({"event": "recovery_secret", "secret": secret, "made_at": made_at})
        else:
            out.print("Write this down and keep it safe. It is shown this once:\n")
            out.print(f"    [bold]{safe(secret)}[/bold]\n")
            out.print(
                "It is this node's recovery secret: with it one owner's phone can shut out "
                "another owner's that was lost or stolen.\n"
            )
        # Only now: whoever was interrupted before has seen nothing, and gets another one.
        await daemon.confirm(made_at)


def _say_why(error: HomingError) -> None:
    from homing_node.cli.console import err, safe  # noqa: PLC0415  # keep help quick

    err.print(f"[yellow]There is no recovery secret yet:[/yellow] {safe(str(error))}")
