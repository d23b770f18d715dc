"""What goes on by itself while a node runs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_agent.runtime.model_host import Phase
from homing_discovery.follow import follow_network
from homing_discovery.watcher import SystemNetworkWatcher

if TYPE_CHECKING:
    from homing_discovery.boundaries import Announcer

    from homing_node.generations.runner import Generations
    from homing_node.models.pool import ModelPool
    from homing_node.rpc.health import Health

_SWEEP_S = 30.0

_log = get_logger(__name__)


async def sweep(generations: Generations) -> None:
    """Forget answers that nobody fetched."""
    while True:
        await asyncio.sleep(_SWEEP_S)
        generations.sweep()


async def tell_health(models: ModelPool, health: Health) -> None:
    """Whether the default can answer: at once, or after it was loaded once more."""
    default = models.default
    status = default.status
    while True:
        known = default.info is not None
        await health.set(serving=known and status.phase is not Phase.FAILED)
        status = await default.after(status)


async def announce(announcer: Announcer) -> None:
    """Be found on the local network, wherever this machine is."""
    watcher = SystemNetworkWatcher()
    await watcher.start()
    try:
        await follow_network(announcer, watcher)
    finally:
        await watcher.close()


async def end(task: asyncio.Task[None]) -> None:
    """End one of these; a fault of its own is logged."""
    task.cancel()
    results = await asyncio.gather(task, return_exceptions=True)
    for result in results:
        if isinstance(result, Exception):
            _log.error("node.background_failed", exc_info=result)
