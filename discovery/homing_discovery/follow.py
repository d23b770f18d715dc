"""Keeps something on the network while the network changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from homing_core.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_discovery.boundaries import NetworkWatcher, OnNetwork

_log = logging.getLogger(__name__)


async def follow_network(service: OnNetwork, watcher: NetworkWatcher) -> None:
    """Run an announcer or a browser until cancelled, or until the watcher is closed.

    Where mDNS is not possible this says so in the log and tries again after the next change: the
    program goes on without it. The service is closed at the end; the watcher is not.

    Args:
        service: not yet started.
        watcher: already started.
    """
    changes = watcher.changes()
    try:
        await _attempt(service.start)
        async for _ in changes:
            await _attempt(service.refresh)
    finally:
        await changes.aclose()
        await service.close()


async def _attempt(step: Callable[[], Awaitable[None]]) -> None:
    try:
        await step()
    except UnavailableError as error:
        _log.warning("%s", error)
