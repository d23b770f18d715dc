"""`homing-node peers`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_EXAMPLES = """
[bold]Examples[/bold]

homing-node peers

homing-node peers add 'homing://pair?…' --name Bo

homing-node peers share Bo --guests

homing-node peers remove Bo

To lend this node to another home: homing-node pair --role peer
"""
_peers = typer.Typer(rich_markup_mode="rich")

Peer = Annotated[
    str, typer.Argument(metavar="PEER", help="The peer's name here, or enough of its id's start.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(
        _peers,
        name="peers",
        help="Let peers answer this node's devices, and see whose devices this node answers.",
        epilog=_EXAMPLES,
    )


@_peers.callback(invoke_without_command=True)
def peers(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Peers that take this node's devices, and homes whose devices it takes. Alone: list."""
    setup = Setup(data_dir, config)
    context.obj = setup
    if context.invoked_subcommand is None:
        asyncio.run(_list(setup, as_json=as_json))


@_peers.command("list", epilog="Example: [bold]homing-node peers list --json[/bold]")
def list_peers(
    context: typer.Context,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Show both directions: who takes our devices, and whose devices we take."""
    asyncio.run(_list(Setup(data_dir, config).or_else(context.obj), as_json=as_json))


@_peers.command("add", epilog="Example: [bold]homing-node peers add 'homing://pair?…'[/bold]")
def add(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    link: Annotated[
        str, typer.Argument(help="The link that the peer shows: homing-node pair --role peer.")
    ],
    *,
    name: Annotated[str, typer.Option(help="What to call it here.", show_default="its own")] = "",
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Pair with a peer, and introduce this node's devices to it."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_add(setup, link, name, as_json=as_json))


@_peers.command("remove", epilog="Example: [bold]homing-node peers remove Bo[/bold]")
def remove(
    context: typer.Context,
    peer: Peer,
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Take all devices back there, then forget the peer."""
    asyncio.run(_remove(Setup(data_dir, config).or_else(context.obj), peer, as_json=as_json))


@_peers.command("share", epilog="Example: [bold]homing-node peers share Bo --no-guests[/bold]")
def share(  # noqa: PLR0913  # each is an option of the command
    context: typer.Context,
    peer: Peer,
    *,
    guests: Annotated[
        bool | None,
        typer.Option("--guests/--no-guests", help="Introduce the devices of guests too."),
    ] = None,
    device: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Introduce this device, whatever its role."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--not", metavar="ID", help="Do not introduce this device.")
    ] = None,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Choose whose devices a peer answers. Owners' and members' are introduced by default."""
    setup = Setup(data_dir, config).or_else(context.obj)
    asyncio.run(_share(setup, peer, guests, device or [], without or [], as_json=as_json))


async def _list(setup: Setup, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above
    from homing_node.cli.peers_screen import (  # noqa: PLC0415  # as above
        home_object,
        peer_object,
        show_homes,
        show_peer,
    )
    from homing_node.rpc.peers_control import PeersControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with PeersControl.connect(setup.paths, setup.command("run")) as daemon:
        with _asking(as_json=as_json):
            found, homes = await daemon.views()
    if as_json:
        for peer in found:
            print_json(peer_object(peer))
        for home in homes:
            print_json(home_object(home))
        return
    if found:
        out.print("[bold]Peers that take our devices[/bold]\n")
        for peer in found:
            show_peer(peer)
    if homes:
        out.print("[bold]Homes that we take devices from[/bold]\n")
        show_homes(homes)
    if not found and not homes:
        add_words = safe(setup.command("peers add LINK"))
        out.print(
            f"No peers. To let a friend's node answer your devices, ask for a link: {add_words}\n"
            f"To lend this node to a friend's home: {safe(setup.command('pair --role peer'))}"
        )


def _asking(*, as_json: bool) -> AbstractContextManager[object]:
    """Says that the peers are asked, while that goes on and a person watches."""
    from homing_node.cli.console import err  # noqa: PLC0415  # keep help quick

    if as_json or not err.is_terminal:
        return contextlib.nullcontext()
    return err.status("Asking the peers …")


async def _add(setup: Setup, link: str, name: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import as_usage, print_json  # noqa: PLC0415  # keep help quick
    from homing_crypto.pairing.link import parse_link  # noqa: PLC0415  # as above

    from homing_node.cli.console import out, safe  # noqa: PLC0415  # as above
    from homing_node.cli.peers_screen import (  # noqa: PLC0415  # as above
        peer_object,
        show_peer,
    )
    from homing_node.rpc.peers_control import PeersControl  # noqa: PLC0415  # as above

    quiet()
    with as_usage():  # what is damaged is told without asking anybody
        parse_link(link)
    setup.load()
    async with PeersControl.connect(setup.paths, setup.command("run")) as daemon:
        peer = await daemon.add(link, name)
    if as_json:
        print_json(peer_object(peer) | {"event": "added"})
        return
    out.print(f"[green]Paired[/green] with the peer {safe(peer.name)}.\n")
    show_peer(peer)


async def _remove(setup: Setup, peer: str, *, as_json: bool) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.console import moment, out, safe  # noqa: PLC0415  # as above
    from homing_node.cli.peers_screen import peer_object  # noqa: PLC0415  # as above
    from homing_node.rpc.peers_control import PeersControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with PeersControl.connect(setup.paths, setup.command("run")) as daemon:
        view, gone = await daemon.remove(peer)
    if as_json:
        print_json(peer_object(view) | {"event": "removed" if gone else "leaving"})
    elif gone:
        out.print(f"{safe(view.name)} lets in none of our devices any more, and is forgotten.")
    else:
        last = max((one.lease_expires_at for one in view.devices), default=0)
        out.print(
            f"{safe(view.name)} cannot be reached now. This node goes on trying; whatever happens, "
            f"our devices are let in there no longer than until {moment(last)}."
        )


async def _share(  # noqa: PLR0913  # as above
    setup: Setup,
    peer: str,
    guests: bool | None,  # noqa: FBT001  # three states: yes, no, as it is
    add_devices: list[str],
    drop: list[str],
    *,
    as_json: bool,
) -> None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.peers_screen import peer_object, show_peer  # noqa: PLC0415  # as above
    from homing_node.rpc.peers_control import PeersControl  # noqa: PLC0415  # as above

    quiet()
    setup.load()
    async with PeersControl.connect(setup.paths, setup.command("run")) as daemon:
        view = await daemon.share(peer, guests=guests, add=add_devices, drop=drop)
    if as_json:
        print_json(peer_object(view))
    else:
        show_peer(view)
