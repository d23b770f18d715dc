"""`homing-node pair`."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

if TYPE_CHECKING:
    from homing_node.cli.pair_json import JsonPairing
    from homing_node.cli.pair_screen import ScreenPairing
    from homing_node.values import CodeOffer

_EXAMPLES = """
[bold]Examples[/bold]

homing-node pair

homing-node pair --role guest --json

homing-node pair --yes

homing-node pair --role peer
"""


class Role(Enum):
    """What a device can be paired as."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"
    PEER = "peer"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("pair", epilog=_EXAMPLES)(pair)


def pair(  # noqa: PLR0913  # one for each option
    *,
    role: Annotated[
        Role | None,
        typer.Option(
            help="What the device is to this node: an owner also looks after the other devices, "
            "a guest only asks the model; a peer is another home, whose devices are then guests.",
            show_default="owner for the first device, then member",
        ),
    ] = None,
    seconds: Annotated[
        int, typer.Option(min=1, max=180, help="How long link and code are valid.")
    ] = 180,
    code: Annotated[
        bool | None,
        typer.Option(
            "--code/--no-code",
            help="Show a short code beside the link, and ask before a device that knows it comes "
            "in. Without a terminal the answer, y or n, is read from standard input.",
            show_default="on a terminal, if not --json",
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Show a code, and let the first device in that knows it, unasked."
        ),
    ] = False,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Let a new device in: shows a QR code, a link and a short code, and waits until one is used.

    The first device to use any of them closes all. The link lets its device in by itself; a device
    that knows the code is let in by you.
    """
    if role is Role.PEER:
        offer = _offer_peer(code, yes=yes)
    else:
        offer = _offer(code, yes=yes, as_json=as_json)
    asyncio.run(_pair(Setup(data_dir, config), role, seconds, offer, as_json=as_json))


def _offer(code: bool | None, *, yes: bool, as_json: bool) -> CodeOffer:  # noqa: FBT001  # Typer's value
    from homing_core.errors import UsageError  # noqa: PLC0415  # keep help quick

    from homing_node.cli.answers import somebody_is_there  # noqa: PLC0415  # as above
    from homing_node.values import CodeOffer  # noqa: PLC0415  # as above

    if yes and code is False:
        msg = "--yes is about the code, and --no-code shows none"
        raise UsageError(msg, "Leave out one of them.")
    if yes:
        return CodeOffer.ACCEPT
    wanted = code if code is not None else somebody_is_there() and not as_json
    return CodeOffer.ASK if wanted else CodeOffer.NONE


def _offer_peer(code: bool | None, *, yes: bool) -> CodeOffer:  # noqa: FBT001  # as above
    from homing_core.errors import UsageError  # noqa: PLC0415  # keep help quick

    from homing_node.values import CodeOffer  # noqa: PLC0415  # as above

    if yes or code:
        msg = "another home is paired by link alone"
        raise UsageError(msg, "Leave out --code and --yes.")
    return CodeOffer.NONE


async def _pair(
    setup: Setup, role: Role | None, seconds: int, offer: CodeOffer, *, as_json: bool
) -> None:
    from homing_core.access import DeviceRole  # noqa: PLC0415  # keep help quick
    from homing_core.errors import UnavailableError  # noqa: PLC0415  # as above

    from homing_node.cli.pair_json import JsonPairing  # noqa: PLC0415  # as above
    from homing_node.cli.pair_screen import ScreenPairing  # noqa: PLC0415  # as above
    from homing_node.cli.recovery_command import offer_secret  # noqa: PLC0415  # as above
    from homing_node.rpc.control_client import ControlClient  # noqa: PLC0415  # as above
    from homing_node.values import Closed  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with ControlClient.connect(setup.paths, setup.command("run")) as daemon:
        await offer_secret(setup, as_json=as_json)
        chosen, why = DeviceRole(role.value) if role else None, ""
        if chosen is None:
            first = not any(device.role is DeviceRole.OWNER for device in await daemon.devices())
            chosen = DeviceRole.OWNER if first else DeviceRole.MEMBER
            why = "this node has no owner yet" if first else "this node has an owner already"
        shown: JsonPairing | ScreenPairing = (
            JsonPairing(daemon, chosen) if as_json else ScreenPairing(daemon, chosen, why)
        )
        last = None
        async with shown.events(seconds, offer) as events:
            async for last in events:
                await shown.show(last)
    if isinstance(last, Closed):
        msg = f"nothing was paired: {last.reason}"
        raise UnavailableError(msg, f"Open it again with: {setup.command('pair')}")
