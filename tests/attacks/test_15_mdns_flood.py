"""Attack 15: a flood of announcements, and packets made to loop or choke a parser.

Expected: phone and node go on, bounded in memory and time, and a node that moved is found in the
middle of it, though only mDNS can tell where it is now.
"""

from __future__ import annotations

import secrets
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from homing_discovery.hints import SERVICE_TYPE
from support.dns_bombs import HOSTILE_LABELS, bombs
from support.mdns import Stranger

if TYPE_CHECKING:
    from support.household import Household
    from support.programs import Event

FLOOD = 3000
ROUND = 200
MOST_GROWTH_MIB = 64
QUICK_S = 30.0  # in peace about one; a machine under test is slow


def reachable(node: Event) -> bool:
    return bool(node["reachable"])


def resident_mib(pid: int) -> float:
    """Memory that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1])
    return pages * 4096 / (1 << 20)


def flood(stranger: Stranger, count: int) -> None:
    for n in range(count):
        stranger.announce(secrets.token_hex(8), hosts=[f"10.1.{n % 250}.{n % 199 + 1}"])


@pytest.mark.attack(15)
def test_a_node_that_moved_is_found_in_a_flood(tiny: Household) -> None:
    phone, node = tiny.phone.pid(), tiny.node.running.process.pid
    before = resident_mib(phone), resident_mib(node)
    assert tiny.node.end(signal.SIGTERM) == 0
    with Stranger() as stranger:
        flood(stranger, FLOOD)
        tiny.node.start(port=0)
        found = tiny.phone.nodes_until(reachable, lambda: flood(stranger, ROUND))
        assert found["address"] == tiny.node.address
        flood(stranger, FLOOD)
        began = time.monotonic()
        answer = tiny.phone.ask("--route", "home", "hello")[-1]
        took = time.monotonic() - began
    assert (answer["route"], answer["node"]) == ("home", "attic")
    assert took < QUICK_S
    assert tiny.phone.pid() == phone  # it is still the same process
    grown = resident_mib(phone) - before[0]
    assert grown < MOST_GROWTH_MIB
    assert resident_mib(tiny.node.running.process.pid) - before[1] < MOST_GROWTH_MIB


@pytest.mark.attack(15)
def test_loops_chains_and_hostile_names_stop_nobody(tiny: Household) -> None:
    phone, node = tiny.phone.pid(), tiny.node.running.process
    with Stranger() as stranger:

        def choke() -> None:
            for packet in bombs():
                stranger.send_raw(packet)
            for label in HOSTILE_LABELS:
                text = label.decode("utf-8", "replace").replace(".", "")
                stranger.announce(secrets.token_hex(8), name=f"{text[:15]}.{SERVICE_TYPE}")

        for _ in range(20):
            choke()
        assert tiny.node.end(signal.SIGTERM) == 0
        tiny.node.start(port=0)
        found = tiny.phone.nodes_until(reachable, choke)
    assert found["address"] == tiny.node.address
    assert tiny.phone.pid() == phone
    assert node.poll() is not None
    assert "\x1b" not in tiny.phone("nodes").out
