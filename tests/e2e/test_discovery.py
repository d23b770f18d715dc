"""Finding the node again by real mDNS, on loopback; and not being fooled by it."""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

import pytest
from homing_core.ids import DeviceId
from homing_discovery.hints import instance_token
from support.household import LOOPBACK, nothing
from support.mdns import Stranger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.household import Household, Node
    from support.programs import Event


@pytest.fixture
def left(tiny: Household) -> Iterator[int]:
    """The node has left; its port, which nobody can take meanwhile and where nobody listens."""
    assert tiny.node.end(signal.SIGTERM) == 0
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind((LOOPBACK, tiny.node.port))
        yield tiny.node.port


def is_back(node: Event) -> bool:
    return bool(node["reachable"])


@pytest.mark.parametrize("phone_sleeps", [False, True], ids=["announced", "asked-for"])
def test_a_node_that_moved_is_found_again(
    tiny: Household, left: int, *, phone_sleeps: bool
) -> None:
    if phone_sleeps:  # it hears no announcement, so it has to ask when it starts
        tiny.phone.close()
    tiny.node.start(port=0)
    assert tiny.node.port != left
    found = tiny.phone.nodes_until(is_back, nothing)
    assert found["address"] == tiny.node.address
    answer = tiny.phone.ask("--route", "home", "hello")[-1]
    assert (answer["route"], answer["node"], answer["exit_status"]) == ("home", "attic", 0)


@pytest.mark.attack
def test_a_forged_announcement_leads_nowhere(tiny: Household, left: int, other_node: Node) -> None:
    """Somebody says that the node is at another's address: that one cannot prove the key."""
    (node,) = tiny.phone.nodes()
    token = instance_token(DeviceId(node["node_id"]))
    other_node.ensure_up()
    with Stranger() as stranger:

        def lie() -> None:
            stranger.announce(token, port=other_node.port)

        fooled = tiny.phone.nodes_until(lambda seen: "another computer" in str(seen["error"]), lie)
        assert fooled["reachable"] is False
        tiny.node.start(port=0)
        assert tiny.node.port != left
        found = tiny.phone.nodes_until(is_back, lie)
    assert found["address"] == tiny.node.address
    answer = tiny.phone.ask("--route", "home", "hello")[-1]
    assert (answer["route"], answer["node"]) == ("home", "attic")
    assert tiny.phone.folder.name not in other_node("devices").out
