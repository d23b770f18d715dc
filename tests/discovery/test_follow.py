from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from homing_discovery.follow import follow_network
from homing_discovery.hints import Announcement
from homing_discovery.testing import FakeAnnouncer, FakeBrowser, FakeLan, FakeNetworkWatcher

if TYPE_CHECKING:
    import pytest

TOKEN = "a" * 16


async def test_a_node_announces_again_when_the_network_changes() -> None:
    lan, watcher = FakeLan(), FakeNetworkWatcher()
    announcer = FakeAnnouncer(lan, Announcement(TOKEN, 4433))
    phone = FakeBrowser(lan, wanted=[TOKEN])
    await phone.start()
    following = asyncio.create_task(follow_network(announcer, watcher))
    assert (await phone.find(TOKEN, 5)) is not None
    announcer.hosts = ("192.168.7.9",)
    watcher.change()
    async with asyncio.timeout(5):
        async for hint in phone.watch():
            if hint.addresses[0].host == "192.168.7.9":
                break
    await watcher.close()
    async with asyncio.timeout(5):
        await following
    assert not announcer.active


async def test_a_node_goes_on_without_mdns_and_tries_again_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lan, watcher = FakeLan(), FakeNetworkWatcher()
    lan.possible = False
    phone = FakeBrowser(lan)
    announcer = FakeAnnouncer(lan, Announcement(TOKEN, 4433))
    with caplog.at_level(logging.WARNING):
        following = asyncio.create_task(follow_network(announcer, watcher))
        while not caplog.messages:  # noqa: ASYNC110  # one turn of the loop, not a wait
            await asyncio.sleep(0)
    assert "mDNS is off" in caplog.text
    lan.possible = True
    await phone.start()
    watcher.change()
    assert (await phone.find(TOKEN, 5)) is not None
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    assert following.cancelled()
    assert not announcer.active


async def test_every_reader_of_changes_hears_them_and_a_slow_one_hears_the_last() -> None:
    watcher = FakeNetworkWatcher()
    one, other = watcher.changes(), watcher.changes()
    watcher.change()
    watcher.change()
    assert await anext(one) == watcher.state()
    assert await anext(other) == watcher.state()
    await watcher.close()
    assert [state async for state in one] == []
