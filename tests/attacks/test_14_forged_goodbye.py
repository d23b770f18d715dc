"""Attack 14: somebody says by mDNS that the home has left, again and again.

Expected: a connection that holds is not given up, and a node that moved is found all the same: what
was heard of a node that matters is not forgotten for a goodbye.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

import pytest
from homing_core.ids import DeviceId
from homing_discovery.hints import instance_token
from support.mdns import Stranger

if TYPE_CHECKING:
    from collections.abc import Generator

    from support.household import Household

EVERY_S = 0.02
GOODBYES = 20
LOOKS = 2


def token_of(home: Household) -> str:
    (node,) = home.phone.nodes()
    return instance_token(DeviceId(node["node_id"]))


@contextlib.contextmanager
def goodbyes(token: str) -> Generator[None]:
    """They never cease, from before a block to its end."""
    enough, many = threading.Event(), threading.Event()

    def say() -> None:
        said = 0
        with Stranger() as stranger:
            while not enough.wait(EVERY_S):
                stranger.goodbye(token)
                said += 1
                if said == GOODBYES:
                    many.set()

    thread = threading.Thread(target=say)
    thread.start()
    try:
        assert many.wait(30)
        yield
    finally:
        enough.set()
        thread.join()


@pytest.mark.attack(14)
def test_a_goodbye_ends_no_connection(tiny: Household) -> None:
    with goodbyes(token_of(tiny)):
        (node,) = tiny.phone.nodes()
        assert node["reachable"]
        answer = tiny.phone.ask("--route", "home", "hello")[-1]
    assert (answer["route"], answer["node"]) == ("home", "attic")


@pytest.mark.attack(14)
def test_a_goodbye_hides_no_node_that_moved(tiny: Household) -> None:
    """Only what mDNS once said leads to it: the address that the phone remembers is an old one."""
    token = token_of(tiny)
    before = tiny.node.port
    assert tiny.node.end(signal.SIGTERM) == 0
    with goodbyes(token):
        tiny.node.start(port=0)  # it announces itself, and is up a moment later
        assert tiny.node.port != before
        looks = [tiny.phone.nodes()[0] for _ in range(LOOKS)]
    assert [look["address"] for look in looks if look["reachable"]] == [tiny.node.address] * LOOKS
