"""`homing-node pair`."""

from __future__ import annotations

import asyncio
import contextlib
import io
import time
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from homing_node.cli.options import ConfigFile, DataDir, Json, Setup, quiet

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from homing_core.access import DeviceRole
    from rich.console import Console

    from homing_node.rpc.control_client import ControlClient
    from homing_node.values import Opened, PairingEvent

_EXAMPLES = """
[bold]Examples[/bold]

homing-node pair

homing-node pair --role guest --json
"""
_TICK_S = 1.0


class Role(Enum):
    """What a device can be paired as."""

    OWNER = "owner"
    MEMBER = "member"
    GUEST = "guest"
    PEER = "peer"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("pair", epilog=_EXAMPLES)(pair)


def pair(
    *,
    role: Annotated[
        Role | None,
        typer.Option(
            help="What the device is to this node: an owner also looks after the other devices, "
            "a guest only asks the model; a peer is another home, whose devices are then guests.",
            show_default="owner for the first device, then member",
        ),
    ] = None,
    seconds: Annotated[int, typer.Option(min=1, max=180, help="How long the link is valid.")] = 180,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Let a new device in: shows a QR code and a link, and waits until it is used."""
    asyncio.run(_pair(Setup(data_dir, config), role, seconds, as_json=as_json))


async def _pair(setup: Setup, role: Role | None, seconds: int, *, as_json: bool) -> None:
    from homing_core.access import DeviceRole  # noqa: PLC0415  # keep help quick
    from homing_core.errors import UnavailableError  # noqa: PLC0415  # as above

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
        show = _as_json if as_json else _on_screen
        last = await show(daemon, chosen, why, seconds)
    if isinstance(last, Closed):
        msg = f"nothing was paired: {last.reason}"
        raise UnavailableError(msg, f"Open it again with: {setup.command('pair')}")


async def _as_json(
    daemon: ControlClient, role: DeviceRole, why: str, seconds: int
) -> PairingEvent | None:
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # keep help quick

    from homing_node.cli.devices_command import device_object  # noqa: PLC0415  # as above
    from homing_node.values import Closed, Opened, Paired, WrongGuess  # noqa: PLC0415  # as above

    del why
    last: PairingEvent | None = None
    async with _events(daemon, role, seconds) as events:
        async for last in events:
            match last:
                case Opened():
                    print_json(
                        {
                            "event": "opened",
                            "link": last.link,
                            "role": role.value,
                            "expires_at": last.expires_at,
                        }
                    )
                case WrongGuess():
                    print_json({"event": "wrong_guess", "left": last.left})
                case Paired():
                    print_json({"event": "paired", "device": device_object(last.device)})
                case Closed():
                    print_json({"event": "closed", "reason": last.reason})
    return last


async def _on_screen(
    daemon: ControlClient, role: DeviceRole, why: str, seconds: int
) -> PairingEvent | None:
    from homing_node.cli.console import SHORT_ID, out, safe  # noqa: PLC0415  # keep help quick
    from homing_node.values import Closed, Opened, Paired, WrongGuess  # noqa: PLC0415  # as above

    last: PairingEvent | None = None
    async with _events(daemon, role, seconds) as events, contextlib.AsyncExitStack() as stack:
        async for last in events:
            match last:
                case Opened():
                    _show_link(out, last, role, why)
                    await stack.enter_async_context(_countdown(out, last))
                case WrongGuess():
                    out.print(f"A device did not know the secret. Guesses left: {last.left}")
                case Paired():
                    await stack.aclose()
                    device = last.device
                    out.print(
                        f"[green]Paired[/green] {safe(device.name)} as {device.role.value}, "
                        f"device {device.id[:SHORT_ID]}."
                    )
                case Closed():
                    await stack.aclose()
    return last


@contextlib.asynccontextmanager
async def _events(
    daemon: ControlClient, role: DeviceRole, seconds: int
) -> AsyncGenerator[AsyncIterator[PairingEvent]]:
    async with contextlib.aclosing(daemon.pair(role, seconds)) as events:
        yield events


def _show_link(out: Console, opened: Opened, role: DeviceRole, why: str) -> None:
    if role.value == Role.PEER.value:  # a home has no camera
        out.print("On the other home, whose devices will be guests here:\n")
        typer.echo(f"homing-node peers add '{opened.link}'\n")
        return
    picture = qr_lines(opened.link)
    fits = out.is_terminal and len(picture[0]) <= out.width
    where = "Scan this with the phone, or give it the link below" if fits else "Give the phone this"
    out.print(f"{where}:\n")
    if fits:
        for line in picture:
            # Said explicitly: on a light terminal the code would be inverted.
            out.print(f"  {line}", style="bright_white on black", soft_wrap=False)
        out.print()
    # Not through Rich, which would break the line: it is there to be copied.
    typer.echo(f"homing pair '{opened.link}'\n")
    reason = f" ({why}; choose with --role)" if why else ""
    out.print(f"It will be this node's [bold]{role.value}[/bold]{reason}.")


def qr_lines(text: str) -> list[str]:
    """The QR code in half blocks, light on dark, one text a line."""
    import segno  # noqa: PLC0415  # only here

    picture = io.StringIO()
    code = segno.make_qr(text, error="l", boost_error=False)
    code.terminal(picture, compact=True, border=2)
    return picture.getvalue().splitlines()


@contextlib.asynccontextmanager
async def _countdown(out: Console, opened: Opened) -> AsyncGenerator[None]:
    """The time that is left, on one line, while the block runs; nothing without a terminal."""
    if not out.is_terminal:
        yield
        return
    from rich.live import Live  # noqa: PLC0415  # keep help quick

    def left() -> str:
        rest = max(int(opened.expires_at - time.time()), 0)
        return f"Waiting for it, {rest // 60}:{rest % 60:02} left. Ctrl-C gives up."

    async def tick(live: Live) -> None:
        while True:
            live.update(left())
            await asyncio.sleep(_TICK_S)

    with Live(left(), console=out, transient=True, auto_refresh=False) as live:
        ticking = asyncio.create_task(tick(live))
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
