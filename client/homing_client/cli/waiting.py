"""Waiting for the phone's own model, with something to look at."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING

from homing_agent.request import RoutePreference
from rich.text import Text

from homing_client.cli.console import aside, err, printable

if TYPE_CHECKING:
    from homing_client.cli.options import Setup
    from homing_client.rpc.phone_calls import PhoneCalls, ResidentStatus

_LOOK_S = 0.2
"""How often the progress line is renewed while the model is fetched and loaded."""
_PATIENCE = 25
"""Looks after which a person is told of another way."""
_PERCENT = re.compile(r", \d+%$")


async def wait_until_ready(
    phone: PhoneCalls, setup: Setup, route: RoutePreference, *, quiet: bool
) -> ResidentStatus:
    """Wait for the phone's own model, showing what is being done; home needs no waiting.

    Returns:
        How the resident process is then.

    Raises:
        HomingError: the model cannot be had, and the phone or this very model was asked for, or
            there is no node that could answer instead.
    """
    status = await phone.status()
    if route is RoutePreference.HOME or status.ready:
        return status
    progress = _Progress(quiet=quiet)
    patience = _PATIENCE
    with progress:
        while not status.ready and status.error is None:
            progress.show(status.activity)
            await asyncio.sleep(_LOOK_S)
            status = await phone.status()
            patience -= 1
            if patience == 0 and not quiet and await phone.nodes(check=False):
                aside("Home could answer meanwhile: --route home")
    if status.error is None:
        return status
    wanted = route is RoutePreference.PHONE or setup.chooses_model
    if wanted or not await phone.nodes(check=False):
        raise status.error
    return status


class _Progress(contextlib.ExitStack):
    """A spinner on a terminal; elsewhere a line for each new step."""

    def __init__(self, *, quiet: bool) -> None:
        super().__init__()
        self._quiet = quiet
        self._spinner = err.status("") if not quiet and err.is_terminal else None
        self._step = ""
        if self._spinner is not None:
            self.enter_context(self._spinner)

    def show(self, activity: str) -> None:
        step = _PERCENT.sub("", activity)
        if self._spinner is not None:
            self._spinner.update(Text(printable(activity), style="dim"))
        elif not self._quiet and step != self._step:
            aside(f"The phone's model: {step} …")
        self._step = step
