"""The daemon as a process: signals, systemd, and when it ends."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Protocol

from homing_agent.runtime import sdnotify
from homing_agent.runtime.logs import get_logger
from homing_agent.runtime.model_host import Phase
from homing_agent.runtime.signals import stop_on_signals

from homing_node.assembly import NodeOptions, RunningNode, running_node

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_agent.runtime.model_host import ModelStatus

    from homing_node.models.slots import Slot

_log = get_logger(__name__)


class Spectator(Protocol):
    """Whoever watches the daemon start: a person's terminal, or nobody."""

    def up(self, node: RunningNode) -> None:
        """It answers; its model may not be there yet."""
        ...

    def model(self, status: ModelStatus) -> None:
        """The model has come further."""
        ...

    def stopping(self) -> None:
        """It was asked to end."""
        ...


async def run_daemon(options: NodeOptions, spectator: Spectator) -> None:
    """Run a node until a signal, a `StopDaemon`, or the failure of its model.

    Raises:
        HomingError: it could not start, or its model cannot be had.
    """
    stop = asyncio.Event()
    with stop_on_signals(stop):
        async with running_node(options, stop) as node:
            spectator.up(node)
            async with _watched_by_systemd():
                await _until_stopped(stop, node, spectator)
            spectator.stopping()
            sdnotify.notify(sdnotify.STOPPING)
    _log.info("node.stopped")


async def _until_stopped(stop: asyncio.Event, node: RunningNode, spectator: Spectator) -> None:
    stopping = asyncio.create_task(stop.wait())
    model = asyncio.create_task(_follow_model(node.models.slots[0], spectator))
    try:
        await asyncio.wait({stopping, model}, return_when=asyncio.FIRST_COMPLETED)
        if not stopping.done():
            await model  # raises what went wrong with it
            await stopping
    finally:
        for task in (stopping, model):
            task.cancel()
        await asyncio.gather(stopping, model, return_exceptions=True)


async def _follow_model(slot: Slot, spectator: Spectator) -> None:
    models, status = slot.host, slot.host.status
    while status.phase in {Phase.FETCHING, Phase.LOADING}:
        spectator.model(status)
        status = await models.after(status)
    spectator.model(status)
    while slot.resident:  # another server may be away for a while; it is asked again
        status = await models.after(status)
        spectator.model(status)
    if models.error is not None:
        raise models.error


@contextlib.asynccontextmanager
async def _watched_by_systemd() -> AsyncGenerator[None]:
    """READY now: the daemon answers, and says itself when its model is loaded."""
    sdnotify.notify(sdnotify.READY)
    seconds = sdnotify.watchdog_seconds()
    alive = asyncio.create_task(_say_alive(seconds)) if seconds is not None else None
    try:
        yield
    finally:
        if alive is not None:
            alive.cancel()
            await asyncio.gather(alive, return_exceptions=True)


async def _say_alive(seconds: float) -> None:
    while True:
        sdnotify.notify(sdnotify.WATCHDOG)
        await asyncio.sleep(seconds)
