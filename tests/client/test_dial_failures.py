"""What a person reads when no address led to a node: its name, what it means, what to do."""

from __future__ import annotations

from homing_client.dial_failures import explain
from homing_core.errors import UnavailableError, UnpairedError
from homing_crypto.rpc_errors import BelowFloorError

AT = "127.0.0.1:1"


def test_a_node_that_forgot_this_phone_says_how_to_pair_again() -> None:
    error = explain("Attic", {AT: UnavailableError("closed")}, AT, knows_us_not=True)
    assert isinstance(error, UnpairedError)
    assert error.what == "Attic does not know this phone any more"
    assert "homing-node pair" in error.hint
    assert "homing pair LINK" in error.hint


def test_a_nodes_own_word_is_said_with_its_name() -> None:
    said = UnpairedError("this device's time on this node is over", "Ask its owner to extend it.")
    error = explain("Attic", {AT: said}, AT, knows_us_not=False)
    assert isinstance(error, UnpairedError)
    assert error.what == "Attic does not let this phone in: this device's time on this node is over"
    assert error.hint == said.hint


def test_what_is_too_old_to_connect_is_said_with_the_nodes_name() -> None:
    below = BelowFloorError("the computer that answered wants TLS 1.3", "Update Homing.")
    error = explain("Attic", {AT: below}, AT, knows_us_not=False)
    assert isinstance(error, BelowFloorError)
    assert error.what == "Attic was not reached: the computer that answered wants TLS 1.3"
