from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING

import pytest
from homing_discovery.boundaries import NetworkState
from homing_discovery.netlink import link_states
from homing_discovery.watcher import SystemNetworkWatcher
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterator

WAIT_S = 20.0
NEWLINK, DELLINK, NEWADDR = 16, 17, 20
RUNNING = 0x40


def message(kind: int, index: int = 2, flags: int = 0) -> bytes:
    """An rtnetlink message with nothing after its fixed part."""
    body = struct.pack("=BxHiII", 0, 1, index, flags, 0xFFFF_FFFF)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def address(index: int = 2) -> bytes:
    """The kernel's word on an address of a link."""
    return struct.pack("=IHHII", 24, NEWADDR, 0, 0, 0) + struct.pack("=BBBBI", 10, 64, 0, 0, index)


def state(*addresses: str) -> NetworkState:
    return NetworkState(frozenset(("eth0", address) for address in addresses))


class Machine:
    """A machine whose kernel and addresses a test plays."""

    def __init__(self) -> None:
        self.kernel, self.news = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.news.settimeout(0)
        self.now = state("192.168.1.2")
        self.broken = False

    def read(self) -> NetworkState:
        if self.broken:
            raise OSError
        return self.now

    def watcher(self) -> SystemNetworkWatcher:
        return SystemNetworkWatcher(
            open_news=lambda: self.news, read_state=self.read, settle_s=0.02, poll_s=0.02
        )


@pytest.fixture
def machine() -> Iterator[Machine]:
    one = Machine()
    yield one
    one.kernel.close()
    one.news.close()


async def test_a_new_address_is_noticed(machine: Machine) -> None:
    watcher = machine.watcher()
    await watcher.start()
    changes = watcher.changes()
    machine.now = state("10.0.0.7")
    machine.kernel.send(address())
    async with asyncio.timeout(WAIT_S):
        assert await anext(changes) == state("10.0.0.7")
    assert watcher.state() == state("10.0.0.7")
    await watcher.close()


async def test_a_link_that_goes_and_comes_is_noticed_at_the_same_address(machine: Machine) -> None:
    watcher = machine.watcher()
    await watcher.start()
    changes = watcher.changes()
    machine.kernel.send(message(NEWLINK, flags=0))
    async with asyncio.timeout(WAIT_S):
        assert await anext(changes) == machine.now
        machine.kernel.send(message(NEWLINK, flags=RUNNING))
        assert await anext(changes) == machine.now
        machine.kernel.send(message(DELLINK))
        assert await anext(changes) == machine.now
    await watcher.close()


async def test_news_without_a_change_is_not_told(machine: Machine) -> None:
    watcher = machine.watcher()
    await watcher.start()
    changes = watcher.changes()
    for _ in range(300):
        machine.kernel.send(address())
        machine.kernel.send(message(NEWLINK, flags=RUNNING))
        await asyncio.sleep(0)
    machine.now = state("10.0.0.8")
    machine.kernel.send(address())
    async with asyncio.timeout(WAIT_S):
        assert await anext(changes) == state("10.0.0.8")
    await watcher.close()
    assert [one async for one in changes] == []


async def test_a_passing_failure_to_look_is_no_change(machine: Machine) -> None:
    watcher = machine.watcher()
    await watcher.start()
    changes = watcher.changes()
    machine.broken = True
    machine.kernel.send(message(NEWLINK, flags=0))
    async with asyncio.timeout(WAIT_S):
        assert await anext(changes) == state("192.168.1.2")
    await watcher.close()


async def test_without_news_it_polls(machine: Machine) -> None:
    def forbidden() -> socket.socket:
        raise PermissionError(13, "Permission denied")

    watcher = SystemNetworkWatcher(open_news=forbidden, read_state=machine.read, poll_s=0.02)
    await watcher.start()
    changes = watcher.changes()
    machine.now = state("10.0.0.9")
    async with asyncio.timeout(WAIT_S):
        assert await anext(changes) == state("10.0.0.9")
    await watcher.close()


async def test_it_polls_after_the_news_break_off(machine: Machine) -> None:
    broken = machine.watcher()
    await broken.start()
    changes = broken.changes()
    machine.news.shutdown(socket.SHUT_RDWR)
    machine.now = state("10.0.0.10")
    async with asyncio.timeout(WAIT_S):
        assert await anext(changes) == state("10.0.0.10")
    await broken.close()


async def test_closing_unstarted_or_twice_is_harmless(machine: Machine) -> None:
    watcher = machine.watcher()
    await watcher.close()
    await watcher.close()
    assert [one async for one in watcher.changes()] == []


@settings(deadline=None)
@given(
    st.binary(max_size=200) | st.lists(st.binary(max_size=40)).map(lambda p: message(16).join(p))
)
def test_any_datagram_is_read(data: bytes) -> None:
    assert all(isinstance(running, bool) for running in link_states(data).values())


def test_links_are_read_between_other_messages() -> None:
    data = address(9) + message(NEWLINK, 4, RUNNING) + message(DELLINK, 5, RUNNING)
    assert link_states(data) == {4: True, 5: False}
    assert link_states(data[:-1]) == {4: True}
