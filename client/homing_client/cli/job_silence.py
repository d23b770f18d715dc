"""Noticing that nothing comes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.jobs import JobEvent


async def or_silence(
    events: AsyncGenerator[JobEvent, None], each_s: float
) -> AsyncGenerator[JobEvent | None, None]:
    """Events as they come, and None whenever nothing came for so many seconds."""
    coming: asyncio.Task[JobEvent] | None = None
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


async def _next(events: AsyncGenerator[JobEvent, None]) -> JobEvent:
    async for event in events:
        return event
    raise _EndError
