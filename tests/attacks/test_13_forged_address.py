"""Attack 13: somebody on the network says by mDNS that the home is elsewhere.

Expected: an announcement is a hint among others. The phone dials all that it knows at once and
keeps the one that proves the node's key; the computer at the forged address learns nothing, and is
never asked anything. With only lies to go by, the phone answers by itself and says why.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from homing_core.ids import DeviceId
from homing_discovery.hints import instance_token
from support.household import nothing
from support.mdns import Stranger
from support.programs import objects

if TYPE_CHECKING:
    from support.household import Household, Node
    from support.programs import Event

BLACK_HOLES = [f"10.66.66.{n}" for n in range(1, 16)]


def token_of(home: Household) -> str:
    (node,) = home.phone.nodes()
    return instance_token(DeviceId(node["node_id"]))


def reachable(node: Event) -> bool:
    return bool(node["reachable"])


def asked_home(home: Household) -> Event:
    return home.phone.ask("--route", "home", "hello")[-1]


def never_served(node: Node, home: Household) -> bool:
    """Nobody of this household got further than the handshake there."""
    shown = objects(node("audit", "show", "--json"))
    known = [entry for entry in shown if entry["kind"] not in {"started", "refused"}]
    return not known and home.phone.folder.name not in node("devices").out


@pytest.mark.attack(13)
def test_a_forged_address_beside_the_right_one(tiny: Household, other_node: Node) -> None:
    """The lie flushes the address that was there, as mDNS lets anyone do."""
    token = token_of(tiny)
    other_node.ensure_up()
    with Stranger() as stranger:
        tiny.phone.close()  # so that it has to dial anew

        def lie() -> None:
            stranger.announce(token, port=other_node.port)
            stranger.move(token, BLACK_HOLES[0])

        lie()
        found = tiny.phone.nodes_until(reachable, lie)
        assert found["address"] == tiny.node.address
        lie()
        answer = asked_home(tiny)
    assert (answer["route"], answer["node"], answer["exit_status"]) == ("home", "attic", 0)
    assert never_served(other_node, tiny)


@pytest.mark.attack(13)
def test_addresses_where_nobody_answers_cost_no_more_than_the_usual_time(tiny: Household) -> None:
    token = token_of(tiny)
    with Stranger() as stranger:
        tiny.phone.close()

        def lie() -> None:
            stranger.announce(token, hosts=BLACK_HOLES, port=tiny.node.port)

        lie()
        found = tiny.phone.nodes_until(reachable, lie)
        answer = asked_home(tiny)
    assert found["address"] == tiny.node.address
    assert (answer["route"], answer["node"]) == ("home", "attic")


@pytest.mark.attack(13)
def test_with_nothing_but_lies_the_phone_answers_by_itself(
    tiny: Household, other_node: Node
) -> None:
    token = token_of(tiny)
    other_node.ensure_up()
    port = tiny.node.port
    assert tiny.node.end(signal.SIGTERM) == 0
    with Stranger() as stranger:

        def lie() -> None:
            stranger.announce(token, port=other_node.port)

        fooled = tiny.phone.nodes_until(lambda seen: "another computer" in str(seen["error"]), lie)
        assert fooled["reachable"] is False
        lie()
        alone = tiny.phone.ask("--route", "home", "hello")
        assert alone[-1]["route"] == "phone"
        tiny.node.start(port=port)
        back = tiny.phone.nodes_until(reachable, nothing)
    assert back["address"] == tiny.node.address
    assert never_served(other_node, tiny)
