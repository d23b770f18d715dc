"""Attack 14: somebody says by mDNS that the home has left.

Expected: a connection that holds is not given up, and a node that moved is found all the same: what
was heard of a node that matters is not forgotten for a goodbye, and the phone asks anew.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from homing_core.ids import DeviceId
from homing_discovery.hints import instance_token
from support.mdns import Stranger

if TYPE_CHECKING:
    from support.household import Household
    from support.programs import Event

GOODBYES = 20


def token_of(home: Household) -> str:
    (node,) = home.phone.nodes()
    return instance_token(DeviceId(node["node_id"]))


def reachable(node: Event) -> bool:
    return bool(node["reachable"])


@pytest.mark.attack(14)
def test_a_goodbye_ends_no_connection_and_hides_no_node(tiny: Household) -> None:
    token = token_of(tiny)
    with Stranger() as stranger:

        def lie() -> None:
            for _ in range(GOODBYES):
                stranger.goodbye(token)

        lie()
        (node,) = tiny.phone.nodes()
        assert node["reachable"]
        answer = tiny.phone.ask("--route", "home", "hello")[-1]
        assert (answer["route"], answer["node"]) == ("home", "attic")

        # Then it really moves, so that only what mDNS says leads there.
        before = tiny.node.port
        assert tiny.node.end(signal.SIGTERM) == 0
        tiny.node.start(port=0)
        assert tiny.node.port != before
        found = tiny.phone.nodes_until(reachable, lie)
    assert found["address"] == tiny.node.address
