"""The main job, as its user sees it: pair, ask, act on the phone, think at home."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from icalendar import Calendar
from support.commands import ROOT
from support.programs import Event, objects, one_line

if TYPE_CHECKING:
    from support.commands import Finished
    from support.household import Household

TOOL = "set_reminder"
CALL = {"id", "name", "arguments", "where", "approved_by", "result", "is_error"}


def test_a_phone_that_paired_sees_its_node(home: Household) -> None:
    (node,) = home.phone.nodes()
    assert (node["name"], node["place"], node["role"]) == ("den", "home", "owner")
    assert (node["reachable"], node["address"]) == (True, home.node.address)
    (model,) = node["models"]
    assert (model["quantization"], model["stand_in"], model["loaded"]) == ("BF16", True, True)
    (device,) = objects(home.node("devices", "--json"))
    assert (device["name"], device["role"]) == ("phone", "owner")
    shown = home.phone("nodes")
    assert shown.status == 0
    assert "den" in shown.out
    assert "answers" in shown.out


def test_a_reminder_is_in_the_calendar_file(home: Household) -> None:
    before = datetime.now(UTC).date()
    done = home.phone("ask", "--json", "--allow", TOOL, "Remind me to call mom tomorrow at 9am")
    after = datetime.now(UTC).date()
    assert done.status == 0
    assert done.err == ""
    *events, answer = objects(done)
    assert (answer["route"], answer["node"], answer["stand_in"]) == ("phone", "", True)
    (call,) = answer["tool_calls"]
    assert (call["name"], call["where"], call["approved_by"]) == (TOOL, "phone", "--allow")
    ran = [event for event in events if event["event"] == "tool"]
    assert ["result" in event for event in ran] == [False, True]
    assert "call mom" in answer["text"].lower()

    todos = Calendar.from_ical(home.phone.reminders).subcomponents
    (todo,) = [todo for todo in todos if "call mom" in str(todo["SUMMARY"]).lower()]
    assert todo.name == "VTODO"
    due = todo.decoded("DUE")
    assert due.astimezone(UTC).hour == 9
    assert due.date() in {before + timedelta(1), after + timedelta(1)}


def test_a_plain_question_is_answered_on_the_phone(home: Household) -> None:
    *events, answer = home.phone.ask("What is the capital of France?")
    assert "Paris" in answer["text"]
    assert (answer["route"], answer["stand_in"], answer["exit_status"]) == ("phone", True, 0)
    assert answer["tool_calls"] == []
    assert words(events) == answer["text"]


def test_a_person_reads_the_answer_where_it_was_made_and_why(home: Household) -> None:
    done = home.phone("ask", "What is the capital of France?")
    assert done.status == 0
    assert "Paris" in done.out
    assert len(done.out.splitlines()) == 1
    assert "phone" in done.err
    assert "(stand-in)" in done.err


def test_home_streams_its_answer(home: Household) -> None:
    with home.phone.asking("--route", "home", "Name three colours.") as asking:
        route = asking.event("route")
        assert (route["route"], route["node"]) == ("home", "den")
        # The first words are shown while the rest is being written.
        asking.event("text")
        assert asking.process.poll() is None
        answer = asking.event("answer")
        assert asking.end() == 0
    assert (answer["route"], answer["node"]) == ("home", "den")
    assert (answer["model"], answer["stand_in"]) == ("stand-in-0.5b:bf16", True)
    assert sum(event["event"] == "text" for event in asking.seen) > 1
    assert words(asking.seen) == answer["text"]


def test_what_nobody_allowed_does_not_happen(home: Household) -> None:
    before = home.phone.reminders
    done = home.phone("ask", "--json", "Remind me at 6pm to take the bins out")
    assert done.status == 3
    said = one_line(done)
    assert "was not allowed" in said
    assert f"--allow {TOOL}" in said
    answer = objects(done)[-1]
    assert (answer["exit_status"], answer["error"]["code"]) == (3, "refused")
    (call,) = answer["tool_calls"]
    assert (call["name"], call["approved_by"], call["is_error"]) == (TOOL, "refused", True)
    assert "bins" in call["arguments"]["text"]
    assert home.phone.reminders == before


def test_the_answer_is_what_the_readme_says(home: Household) -> None:
    documented = readme_fields()
    reminder = home.phone("ask", "--json", "--allow", TOOL, "Remind me to feed the cat at 8pm")
    for done in (
        reminder,
        home.phone("ask", "--json", "Remind me to feed the cat at 8pm"),
        home.phone("ask", "--json", "--route", "home", "Say yes."),
    ):
        answer = last(done)
        assert set(answer) == documented
        check_types(answer)
        assert answer["exit_status"] == done.status
    assert last(reminder)["tool_calls"]


def readme_fields() -> set[str]:
    """The fields of the answer that the table in README names."""
    table = (ROOT / "README.md").read_text("utf-8").partition("| Field | Meaning |")[2]
    names = [row.split("|")[1] for row in table.partition("\n\n")[0].splitlines() if row]
    return {name for cell in names for name in re.findall(r"`(\w+)`", cell)} | {"event"}


def check_types(answer: Event) -> None:
    assert answer["event"] == "answer"
    assert answer["route"] in {"phone", "home", "peer"}
    for name in ("node", "reason", "model", "text", "request_id", "conversation_id"):
        assert isinstance(answer[name], str), name
    assert isinstance(answer["stand_in"], bool)
    assert type(answer["exit_status"]) is int
    for name in ("confidence", "ttft_ms", "total_ms"):
        assert isinstance(answer[name], int | float), name
    assert answer["confidence"] <= 1
    assert 0 <= answer["ttft_ms"] <= answer["total_ms"]
    assert all(isinstance(value, int | float) for value in answer["features"].values())
    for call in answer["tool_calls"]:
        assert call["where"] in {"phone", "home", "peer"}
        assert set(call) == CALL
        assert isinstance(call["name"], str)
        assert isinstance(call["arguments"], dict)
        assert call["approved_by"] in {"rule", "person", "--allow", "refused", ""}
    error = answer["error"]
    assert (error is None) == (answer["exit_status"] == 0)
    if error is not None:
        assert set(error) == {"code", "what", "hint"}
        assert all(isinstance(value, str) for value in error.values())


def last(done: Finished) -> Event:
    return objects(done)[-1]


def words(events: list[Event]) -> str:
    return "".join(event["text"] for event in events if event["event"] == "text")
