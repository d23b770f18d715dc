"""The node is announced under each of its keys: a phone may know any of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_discovery.hints import instance_token

from homing_node.background import announce, end

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_discovery.boundaries import Announcer

    from homing_node.keys import NodeKeys


async def announce_keys(keys: NodeKeys, announcer: Callable[[str], Announcer]) -> None:
    """Be found on the local network under every key that works; goes on until it is cancelled.

    Args:
        keys: the node's own.
        announcer: makes what announces an instance token.
    """
    news = asyncio.Event()
    keys.subscribe(news.set)
    running: dict[str, asyncio.Task[None]] = {}
    try:
        while True:
            news.clear()
            wanted = [instance_token(identity.device_id) for identity in keys.identities()]
            for token in [token for token in running if token not in wanted]:
                await end(running.pop(token))
            for token in wanted:
                if token not in running:
                    running[token] = asyncio.create_task(announce(announcer(token)))
            await news.wait()
    finally:
        for task in running.values():
            await end(task)
