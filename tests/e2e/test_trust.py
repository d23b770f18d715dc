"""Who gets in and who is believed: each refusal is one line that says what to try."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import socket
from typing import TYPE_CHECKING

import pytest
from homing_crypto.node_book import NODE_BOOK_FILE, SqliteNodeBook
from homing_crypto.pairing.link import parse_link
from support.household import LOOPBACK
from support.programs import objects, one_line

if TYPE_CHECKING:
    from support.household import Household, Node, Phone
    from support.programs import Event

SILENT = 100
"""More than a household's phones, fewer than the node takes at once."""


@pytest.mark.attack
def test_a_phone_that_only_knows_about_the_node_is_not_let_in(
    tiny: Household, stranger: Phone
) -> None:
    """It has the address and the certificate, everything but a pairing."""
    mine, theirs = known_nodes(tiny.phone), known_nodes(stranger)
    (node,) = mine.nodes()
    theirs.add(node)
    mine.close()
    theirs.close()
    (seen,) = stranger.nodes()
    assert (seen["reachable"], seen["error"]["code"]) == (False, "unpaired")
    assert "homing-node pair" in seen["error"]["hint"]
    events = stranger.ask("--route", "home", "hello")
    assert "does not know this phone" in notes(events)
    assert events[-1]["route"] == "phone"
    (device,) = objects(tiny.node("devices", "--json"))
    assert device["name"] == tiny.phone.folder.name


@pytest.mark.attack
def test_a_wrong_pairing_secret(tiny: Household, stranger: Phone) -> None:
    shown, link = tiny.node.opened()
    with shown:
        wrong = dataclasses.replace(parse_link(link), secret=bytes(16)).to_text()
        refused = stranger("pair", wrong)
        assert refused.status == 3
        assert "Scan the code again" in one_line(refused)
        assert shown.event("wrong_guess")["left"] == 2
        assert stranger.nodes() == []
        assert stranger("pair", link).status == 0  # whoever has the right one is not locked out
        assert shown.event("paired")["device"]["role"] == "member"
        assert shown.end() == 0
    show_out(tiny, stranger)


@pytest.mark.attack
def test_a_replayed_link(tiny: Household, stranger: Phone) -> None:
    shown, link = tiny.node.opened("--role", "owner")
    with shown:
        assert tiny.phone("pair", link).status == 0
        shown.event("paired")
        assert shown.end() == 0
    before = objects(tiny.node("devices", "--json"))
    replayed = stranger("pair", link)
    assert replayed.status == 1
    assert "homing-node pair" in one_line(replayed)
    assert stranger.nodes() == []
    assert objects(tiny.node("devices", "--json")) == before


@pytest.mark.attack
def test_a_link_that_leads_to_somebody_else(
    tiny: Household, other_node: Node, stranger: Phone
) -> None:
    other_node.ensure_up()
    (mine, link), (theirs, other) = tiny.node.opened(), other_node.opened()
    with mine, theirs:
        there = parse_link(other).addresses
        done = stranger("pair", dataclasses.replace(parse_link(link), addresses=there).to_text())
        assert done.status == 1
        assert "wrong server key" in one_line(done)
        assert "Ask for a new link" in one_line(done)
        assert stranger.nodes() == []
        assert stranger("pair", other).status == 0  # it was no guess that counts


@pytest.mark.attack
def test_somebody_else_at_the_nodes_address(
    tiny: Household, other_node: Node, stranger: Phone
) -> None:
    stranger.pair(tiny.node)
    assert tiny.node.end(signal.SIGTERM) == 0
    other_node.start(port=tiny.node.port)
    (seen,) = stranger.nodes()
    assert (seen["reachable"], seen["error"]["code"]) == (False, "integrity")
    events = stranger.ask("--route", "home", "hello")
    assert seen["error"]["what"] in notes(events)
    assert events[-1]["route"] == "phone"

    other_node.end(signal.SIGTERM)
    tiny.node.start()
    for phone in (stranger, tiny.phone):  # nobody had to pair again
        assert phone.ask("--route", "home", "hello")[-1]["route"] == "home"
    show_out(tiny, stranger)


@pytest.mark.attack
def test_sockets_that_say_nothing_keep_no_phone_out(tiny: Household) -> None:
    """They are held by the node until a handshake's time is over, and cost nobody else's turn."""
    tiny.phone.close()  # so that it has to dial anew
    with contextlib.ExitStack() as held:
        for _ in range(SILENT):
            held.enter_context(socket.create_connection((LOOPBACK, tiny.node.port), timeout=30))
        (node,) = tiny.phone.nodes()
    assert node["reachable"]


def known_nodes(phone: Phone) -> SqliteNodeBook:
    return SqliteNodeBook(phone.folder / NODE_BOOK_FILE)


def notes(events: list[Event]) -> str:
    return "\n".join(event["text"] for event in events if event["event"] == "note")


def show_out(home: Household, visitor: Phone) -> None:
    """Leave the node as it was."""
    (device,) = [
        device
        for device in objects(home.node("devices", "--json"))
        if device["name"] == visitor.folder.name
    ]
    assert home.node("devices", "revoke", device["id"]).status == 0
