"""What breaks in the middle: nothing is lost, nothing is said or done twice, and it is told."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest
from homing_core.ids import new_request_id
from support.programs import objects

if TYPE_CHECKING:
    from support.household import Household
    from support.programs import Event, Program

LONG = "Explain how a heat pump works, in detail."
LONG_ON_THE_PHONE = "Explain how public key cryptography works"
EASY = "What is the capital of France?"


def words(events: list[Event]) -> str:
    return "".join(event["text"] for event in events if event["event"] == "text")


def notes(events: list[Event]) -> str:
    return "\n".join(event["text"] for event in events if event["event"] == "note")


def some_words(asking: Program) -> str:
    """The answer as far as it was written after a few pieces."""
    for _ in range(5):
        asking.event("text")
    return words(asking.seen)


def check_told_before_answered(events: list[Event], reason: str) -> None:
    """The phone says first that home is away, then answers; `reason` is a pattern."""
    names = [event["event"] for event in events]
    assert names.index("note") < names.index("text")
    assert re.search(reason, notes(events))
    answer = events[-1]
    assert (answer["route"], answer["node"], answer["exit_status"]) == ("phone", "", 0)
    assert "Paris" in answer["text"]
    assert "home cannot be reached" in answer["reason"]


def check_home_answers(home: Household) -> None:
    answer = home.phone.ask("--route", "home", EASY)[-1]
    assert (answer["route"], answer["node"]) == ("home", "den")
    assert "Paris" in answer["text"]


def test_a_node_that_is_stopped(home: Household) -> None:
    assert home.node.end(signal.SIGTERM) == 0
    check_told_before_answered(home.phone.ask("--route", "home", EASY), "den does not answer")
    home.node.start()
    check_home_answers(home)


def test_a_node_that_sleeps(home: Household) -> None:
    """It takes connections, for the system does, and says nothing."""
    process = home.node.running.process
    process.send_signal(signal.SIGSTOP)
    try:
        events = home.phone.ask("--route", "home", EASY)
    finally:
        process.send_signal(signal.SIGCONT)
    check_told_before_answered(events, "home cannot be reached")
    check_home_answers(home)


def test_a_node_that_is_killed_in_the_middle_of_an_answer(home: Household) -> None:
    with home.phone.asking("--route", "home", LONG) as asking:
        begun = some_words(asking)
        home.node.end(signal.SIGKILL)
        home.node.start(ready=False)  # it is back, and has forgotten
        answer = asking.event("answer")
        assert asking.end() == 0
    assert words(asking.seen) == answer["text"]
    assert answer["text"].startswith(begun)
    assert answer["text"].count(begun) == 1
    assert len(answer["text"]) > len(begun)
    assert (answer["route"], answer["model"]) == ("phone", "stand-in-0.5b:q4_k_m")
    assert "the phone goes on from here" in notes(asking.seen)
    home.node.running.event("model", state="ready")
    check_home_answers(home)  # and nobody had to pair again


def test_a_phone_that_is_killed_while_home_writes(home: Household) -> None:
    """The answer went on at home meanwhile; the next process fetches all of it."""
    resident = home.phone.pid()
    with home.phone.asking("--route", "home", LONG) as asking:
        begun = some_words(asking)
        os.kill(resident, signal.SIGKILL)
        asking.event("restart")
        told_before = len(asking.seen)
        answer = asking.event("answer")
        assert asking.end() == 0
    assert (answer["route"], answer["node"]) == ("home", "den")
    assert words(asking.seen[told_before:]) == answer["text"]
    assert answer["text"].startswith(begun)


@pytest.mark.parametrize("killed", ["phone", "command"])
def test_killed_in_the_middle_of_its_own_answer(home: Household, killed: str) -> None:
    request = ("--request-id", new_request_id(), "--route", "phone", LONG_ON_THE_PHONE)
    resident = home.phone.pid()
    with home.phone.asking(*request) as asking:
        asking.event("text")
        if killed == "phone":
            os.kill(resident, signal.SIGKILL)
            asking.event("restart")
            assert asking.event("answer")["exit_status"] == 0
        else:
            asking.end(signal.SIGKILL)
    again, once_more = home.phone.ask(*request), home.phone.ask(*request)
    answer = again[-1]
    assert (answer["route"], answer["exit_status"]) == ("phone", 0)
    assert answer["text"]
    assert words(again) in {answer["text"], ""}  # as it is written, or all at once
    assert once_more[-1] == answer
    if killed == "phone":
        assert asking.seen[-1] == answer
    assert home.phone.pid() == resident or killed == "phone"


def test_a_side_effect_happens_once(home: Household) -> None:
    """Killed at the moment at which the tool runs, it is asked for again and again."""
    request = (
        *("--request-id", new_request_id(), "--allow", "set_reminder"),
        "Remind me to water the orchids tomorrow at 7am",
    )
    resident = home.phone.pid()
    with home.phone.asking(*request) as asking:
        asking.event("tool", name="set_reminder")
        os.kill(resident, signal.SIGKILL)
        asking.end()
        first = asking.seen[-1]
    done = home.phone("ask", "--json", *request)
    again = objects(done)[-1]
    assert again == first
    assert (again["event"], again["exit_status"]) == ("answer", done.status)
    written = home.phone.reminders.lower().count("summary:water the orchids")
    if done.status:  # it was killed between the two records: nobody can know
        assert done.status == 1
        assert "not known whether it happened" in again["error"]["what"]
        assert "Check" in again["error"]["hint"]
        assert written <= 1
    else:
        assert written == 1


@pytest.mark.attack
def test_a_phone_that_is_shut_out(home: Household) -> None:
    (device,) = objects(home.node("devices", "--json"))
    with home.phone.asking("--route", "home", LONG) as asking:
        begun = some_words(asking)
        assert home.node("devices", "revoke", device["id"]).status == 0
        answer = asking.event("answer")
        assert asking.end() == 0
    assert answer["route"] == "phone"
    assert words(asking.seen) == answer["text"]
    assert answer["text"].startswith(begun)
    assert "pairing was revoked; the phone goes on from here" in notes(asking.seen)

    # Whether its old connection still tells it, or a new one is not let in, the phone knows.
    told = "pairing was revoked|does not know this phone any more"
    check_told_before_answered(home.phone.ask("--route", "home", EASY), told)
    (node,) = home.phone.nodes()
    assert (node["reachable"], node["error"]["code"]) == (False, "unpaired")
    assert "does not know this phone any more" in node["error"]["what"]
    assert "pair again" in node["error"]["hint"]

    home.phone.pair(home.node)
    check_home_answers(home)
