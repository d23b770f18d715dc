"""Noticing that nothing comes, and showing that something is still done."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text

from homing_client.cli.console import err, printable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rich.status import Status

EventT = TypeVar("EventT")


async def or_silence(
    events: AsyncGenerator[EventT, None], each_s: float
) -> AsyncGenerator[EventT | None, None]:
    """Events as they come, and None whenever nothing came for so many seconds."""
    coming: asyncio.Task[EventT] | None = None
    try:
        while True:
            coming = coming or asyncio.create_task(_next(events))
            done, _ = await asyncio.wait({coming}, timeout=each_s)
            if not done:
                yield None
                continue
            try:
                event, coming = coming.result(), None
            except _EndError:
                return
            yield event
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait({coming})
        await events.aclose()


class _EndError(Exception):
    """There are no more events; a task cannot end with `StopAsyncIteration`."""


async def _next(events: AsyncGenerator[EventT, None]) -> EventT:
    async for event in events:
        return event
    raise _EndError


class Spinner:
    """A sign of life on a terminal; elsewhere nothing."""

    def __init__(self) -> None:
        """Nothing is shown."""
        self._status: Status | None = None

    def show(self, text: str) -> None:
        """Turn beside this text."""
        line = Text(printable(text), style="dim")
        if self._status is not None:
            self._status.update(line)
        elif err.is_terminal:
            self._status = err.status(line)
            self._status.start()

    def hide(self) -> None:
        """Take it away, so that something else can be printed."""
        if self._status is not None:
            self._status.stop()
            self._status = None
