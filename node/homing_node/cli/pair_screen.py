"""A pairing as a person sees it: QR code, link, short code, and a question."""

from __future__ import annotations

import asyncio
import contextlib
import io
import time
from typing import TYPE_CHECKING

import typer
from homing_core.access import DeviceRole
from homing_crypto.pairing.code import show_code
from homing_crypto.pairing.link import parse_link

from homing_node.cli.answers import forget_typed_ahead
from homing_node.cli.console import SHORT_ID, out, safe
from homing_node.cli.pair_asking import ShownPairing
from homing_node.values import Asks, Closed, CodeOffer, Opened, Paired, WrongCodeTyped, WrongGuess

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.errors import ConflictError
    from rich.live import Live

    from homing_node.rpc.control_client import ControlClient
    from homing_node.values import PairingEvent

_TICK_S = 1.0
_INDENT = "  "


class ScreenPairing(ShownPairing):
    """See `ShownPairing`.

    Args:
        daemon: opens it.
        role: for the new device.
        why: why that role; empty if it was chosen.
    """

    def __init__(self, daemon: ControlClient, role: DeviceRole, why: str) -> None:
        """Nothing is shown yet."""
        super().__init__(daemon, role)
        self._why = why
        self._live = contextlib.AsyncExitStack()

    async def show(self, event: PairingEvent) -> None:
        """Print it."""
        match event:
            case Opened():
                self._show_opened(event)
                await self._live.enter_async_context(_countdown(event))
            case WrongGuess():
                out.print(f"A device did not know the secret. {_left(event.left, 'link')}")
            case WrongCodeTyped():
                out.print(f"A device gave another code. {_left(event.left, 'code')}")
            case Asks():
                await self.end()  # a countdown would write over what is typed
                forget_typed_ahead()
                # The id first: it cannot be chosen, and the name might pretend to be one.
                out.print(
                    f"\nDevice [bold]{safe(event.device_id[:SHORT_ID])}[/bold] knows the code. "
                    f"It calls itself “{safe(event.name)}”, and shows the same digits."
                )
                out.print(f"Let it in as {self._role.value}? \\[y/N] ", end="")
                self.ask(event)
            case Paired():
                await self.end()
                device = event.device
                out.print(
                    f"[green]Paired[/green] {safe(device.name)} as {device.role.value}, "
                    f"device {device.id[:SHORT_ID]}."
                )
            case Closed():
                await self.end()

    async def end(self) -> None:
        """Take the countdown down."""
        await self._live.aclose()

    def too_late(self, error: ConflictError) -> None:
        """Print it."""
        out.print(f"Too late: {safe(error.what)}.")

    def _show_opened(self, opened: Opened) -> None:
        if self._role is DeviceRole.PEER:  # a home has no camera
            out.print("On the other home, whose devices will be guests here:\n")
            typer.echo(f"homing-node peers add '{opened.link}'\n")
            return
        picture = qr_lines(opened.link)
        wide = len(_INDENT) + max(map(len, picture))
        fits = out.is_terminal and wide <= out.width
        said = (
            "Scan this with the phone, or give it the link below" if fits else "Give the phone this"
        )
        if out.is_terminal and not fits:
            out.print(f"A window of {wide} columns would show a code to scan; this is too narrow.")
        out.print(f"{said}:\n")
        if fits:
            for line in picture:
                # Said explicitly: on a light terminal the code would be inverted.
                out.print(f"{_INDENT}{line}", style="bright_white on black", soft_wrap=False)
            out.print()
        # Not through Rich, which would break the line: it is there to be copied.
        typer.echo(f"homing pair '{opened.link}'\n")
        if opened.code:
            code, (at, *_) = show_code(opened.code), parse_link(opened.link).addresses
            ask = "" if self._offer is CodeOffer.ACCEPT else ", and answer for it here"
            out.print(f"Or type this on the phone{ask}:\n")
            typer.echo(f"homing pair {code}")
            typer.echo(f"homing pair {code} --at {at}    (if it does not find this node)\n")
        reason = f" ({self._why}; choose with --role)" if self._why else ""
        out.print(f"It will be this node's [bold]{self._role.value}[/bold]{reason}.")


def qr_lines(text: str) -> list[str]:
    """The QR code in half blocks, light on dark, one text a line."""
    import segno  # noqa: PLC0415  # only here

    picture = io.StringIO()
    code = segno.make_qr(text, error="l", boost_error=False)
    code.terminal(picture, compact=True, border=2)
    return picture.getvalue().splitlines()


def _left(left: int, way: str) -> str:
    return f"Tries left: {left}" if left else f"The {way} is void now."


@contextlib.asynccontextmanager
async def _countdown(opened: Opened) -> AsyncGenerator[None]:
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
