"""Scenarios for a network namespace of their own; run as `python -m support.namespaced NAME`.

Each prints `ok` at its end. The namespace starts with a loopback interface that is down.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from homing_discovery.announcer import ZeroconfAnnouncer
from homing_discovery.browser import ZeroconfBrowser
from homing_discovery.follow import follow_network
from homing_discovery.hints import Announcement
from homing_discovery.watcher import SystemNetworkWatcher

WAIT_S = 30.0
TOKEN = "ab" * 8


async def ip(*words: str) -> None:
    """Run the `ip` tool."""
    process = await asyncio.create_subprocess_exec("ip", *words)
    assert await process.wait() == 0, words


async def kernel_news() -> None:
    """The kernel tells of addresses; polling would take an hour."""
    watcher = SystemNetworkWatcher(poll_s=3600)
    await watcher.start()
    changes = watcher.changes()
    await ip("link", "set", "lo", "up")
    async with asyncio.timeout(WAIT_S):
        while ("lo", "127.0.0.1") not in (await anext(changes)).addresses:
            pass
        await ip("address", "add", "10.9.8.7/24", "dev", "lo")
        while ("lo", "10.9.8.7") not in (await anext(changes)).addresses:
            pass
    await watcher.close()


async def moving() -> None:
    """A node and a phone start without a network, get one, and get another."""
    watcher = SystemNetworkWatcher(poll_s=3600)
    await watcher.start()
    phone = ZeroconfBrowser(wanted=[TOKEN])
    node = ZeroconfAnnouncer(Announcement(TOKEN, 4433))
    following = [
        asyncio.create_task(follow_network(phone, watcher)),
        asyncio.create_task(follow_network(node, watcher)),
    ]
    await ip("link", "add", "wlan0", "type", "veth", "peer", "name", "far0")
    await ip("link", "set", "far0", "up")
    await ip("link", "set", "wlan0", "up")
    await ip("address", "add", "192.168.50.2/24", "dev", "wlan0")
    await _seen(phone, "192.168.50.2")
    await ip("address", "del", "192.168.50.2/24", "dev", "wlan0")
    await ip("address", "add", "192.168.51.2/24", "dev", "wlan0")
    await _seen(phone, "192.168.51.2")
    # The same address again after the interface itself went away.
    await ip("link", "delete", "wlan0")
    await ip("link", "add", "wlan0", "type", "veth", "peer", "name", "far0")
    await ip("link", "set", "far0", "up")
    await ip("link", "set", "wlan0", "up")
    await ip("address", "add", "192.168.52.2/24", "dev", "wlan0")
    await _seen(phone, "192.168.52.2")
    assert node.active
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    await watcher.close()


async def link_local() -> None:
    """A network with nothing but link-local IPv6: the hint carries the zone.

    The address is not usable for its first second or two, and both must notice when it is.
    """
    watcher = SystemNetworkWatcher(poll_s=3600)
    await watcher.start()
    phone = ZeroconfBrowser(wanted=[TOKEN])
    node = ZeroconfAnnouncer(Announcement(TOKEN, 4433))
    following = [
        asyncio.create_task(follow_network(phone, watcher)),
        asyncio.create_task(follow_network(node, watcher)),
    ]
    await ip("link", "add", "wlan0", "type", "veth", "peer", "name", "far0")
    await ip("link", "set", "far0", "up")
    await ip("link", "set", "wlan0", "up")
    async with asyncio.timeout(WAIT_S):
        async for hint in phone.watch():
            host, percent, zone = hint.addresses[0].host.partition("%")
            assert host.startswith("fe80::"), host
            assert percent, host
            assert zone, host
            break
    for task in following:
        task.cancel()
    await asyncio.gather(*following, return_exceptions=True)
    await watcher.close()


async def _seen(phone: ZeroconfBrowser, host: str) -> None:
    async with asyncio.timeout(WAIT_S):
        async for hint in phone.watch():
            if hint.addresses[0].host == host:
                return


SCENARIOS = {"kernel_news": kernel_news, "moving": moving, "link_local": link_local}

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(SCENARIOS[sys.argv[1]]())
    print("ok")  # noqa: T201  # what the test waits for
