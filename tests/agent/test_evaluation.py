"""Labelled requests and their judge."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from homing_agent.evaluation.cases import Answers, Calls, Kind, decode_case
from homing_agent.evaluation.judge import Asked, Called, HandedOver, Said, right
from homing_agent.tools.durations import parse_duration
from homing_agent.tools.when import parse_when
from homing_core.errors import InvalidDataError
from hypothesis import given
from hypothesis import strategies as st
from support.commands import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_agent.evaluation.cases import Case
    from homing_agent.evaluation.judge import Did
    from homing_core.canonical import JsonValue

DATA = ROOT / "tests" / "data" / "phone_actions"
PARTS = ("fit", "threshold", "test")
NOW = datetime(2026, 3, 18, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))
TOOLS = {
    "set_reminder": ({"text", "when"}, {"text", "when"}),
    "list_reminders": (set[str](), set[str]()),
    "set_timer": ({"duration"}, {"duration", "label"}),
    "list_timers": (set[str](), set[str]()),
    "add_event": ({"title", "when"}, {"title", "when", "duration"}),
    "list_events": (set[str](), {"day"}),
    "save_note": ({"text"}, {"text", "title"}),
    "search_notes": (set[str](), {"query"}),
    "add_contact": ({"name"}, {"name", "phone", "email"}),
    "find_contact": ({"name"}, {"name"}),
    "current_time": (set[str](), set[str]()),
    "battery_level": (set[str](), set[str]()),
    "send_message": ({"number", "text"}, {"number", "text"}),
    "set_torch": ({"state"}, {"state"}),
    "set_wifi": ({"state"}, {"state"}),
    "set_volume": ({"percent"}, {"percent", "stream"}),
    "search_documents": ({"query"}, {"query", "folder", "most"}),
    "summarise_folder": ({"folder"}, {"folder", "question"}),
    "index_documents": (set[str](), {"folder"}),
    "fetch_page": ({"url"}, {"url", "start"}),
    "agent_task": ({"goal"}, {"goal"}),
}
"""Of each tool, the arguments that it needs, and all that it takes."""


def lines(part: str) -> list[str]:
    return (DATA / f"{part}.jsonl").read_text("utf-8").splitlines()


def constraints(line: str) -> Iterator[dict[str, Any]]:
    for action in json.loads(line)["accept"]:
        yield from action.get("arguments", {}).values()


ALL = {part: [decode_case(line) for line in lines(part)] for part in PARTS}


def test_every_kind_is_in_every_part_and_no_request_is_in_two() -> None:
    cases = [case for part in PARTS for case in ALL[part]]
    assert len(cases) >= 800
    assert max(Counter(case.request.casefold() for case in cases).values()) == 1
    assert max(Counter(case.id for case in cases).values()) == 1
    for part in PARTS:
        assert {case.kind for case in ALL[part]} == set(Kind)


@pytest.mark.parametrize("part", PARTS)
def test_labels_name_tools_and_arguments_that_there_are(part: str) -> None:
    for case in ALL[part]:
        assert set(case.then) <= TOOLS.keys(), case.id
        for action in case.accepted:
            if isinstance(action, Calls):
                needed, known = TOOLS[action.tool]
                must = {name for name, one in action.arguments.items() if not one.optional}
                assert needed <= must <= action.arguments.keys() <= known, case.id


@pytest.mark.parametrize("part", PARTS)
def test_the_phones_own_tools_understand_how_times_are_said(part: str) -> None:
    beyond = 0
    for line in lines(part):
        for one in constraints(line):
            if one.get("parser") is False:
                beyond += 1
                continue
            wanted = one.get("moment", one.get("day", ()))
            said = one.get("words", "")
            if wanted:
                form = "%Y-%m-%dT%H:%M" if "moment" in one else "%Y-%m-%d"
                meant = parse_when(said, NOW).at.strftime(form)
                assert meant in ([wanted] if isinstance(wanted, str) else wanted), line
            if "seconds" in one:
                assert parse_duration(said, timedelta(days=400)).total_seconds() == one["seconds"]
    assert beyond <= 0.05 * len(lines(part))


def case(*accept: object, **fields: object) -> Case:
    made = {"id": "x-1", "request": "Do it", "kind": "plain", "lang": "en", "accept": accept}
    return decode_case(json.dumps(made | fields))


REMINDER = {
    "call": "set_reminder",
    "arguments": {
        "text": {"has": ["plants", ["water", "pour"]], "lacks": ["tomorrow"]},
        "when": {"moment": "2026-03-18T18:00", "words": "at 6 pm"},
    },
}
VOLUME = {
    "call": "set_volume",
    "arguments": {"percent": {"is": 40}, "stream": {"in": ["music", "ring"], "optional": True}},
}
EVENTS = {"call": "list_events", "arguments": {"day": {"day": "2026-03-20", "words": "friday"}}}
TIMER = {
    "call": "set_timer",
    "arguments": {"duration": {"seconds": 600}, "label": {"free": True, "optional": True}},
}
SMS = {
    "call": "send_message",
    "arguments": {"number": {"has": ["2345678"]}, "text": {"has": ["late"]}},
}


@pytest.mark.parametrize(
    ("action", "did", "fits"),
    [
        (REMINDER, Called("set_reminder", {"text": "Water the plants", "when": "6pm"}), True),
        (REMINDER, Called("set_reminder", {"text": "pour plants", "when": "18:00 today"}), True),
        (REMINDER, Called("set_reminder", {"text": "water plants", "when": "7pm"}), False),
        (REMINDER, Called("set_reminder", {"text": "water plants", "when": "whenever"}), False),
        (REMINDER, Called("set_reminder", {"text": "water plants", "when": "today"}), False),
        (REMINDER, Called("set_reminder", {"text": "water plants tomorrow", "when": "6pm"}), False),
        (REMINDER, Called("set_reminder", {"text": "feed the cat", "when": "6pm"}), False),
        (REMINDER, Called("set_reminder", {"text": "water plants"}), False),
        (REMINDER, Called("add_event", {"title": "water plants", "when": "6pm"}), False),
        (REMINDER, Said("I will remind you to water the plants at 6 pm."), False),
        (VOLUME, Called("set_volume", {"percent": 40}), True),
        (VOLUME, Called("set_volume", {"percent": 40, "stream": "Ring "}), True),
        (VOLUME, Called("set_volume", {"percent": 40, "stream": "alarm"}), False),
        (VOLUME, Called("set_volume", {"percent": True}), False),
        (VOLUME, Called("set_volume", {"percent": 40, "loud": "yes"}), False),
        (EVENTS, Called("list_events", {"day": "next friday"}), True),
        (EVENTS, Called("list_events", {"day": "thursday"}), False),
        (TIMER, Called("set_timer", {"duration": "ten minutes", "label": "tea"}), True),
        (TIMER, Called("set_timer", {"duration": "11 minutes"}), False),
        (TIMER, Called("set_timer", {"duration": "a while"}), False),
        (SMS, Called("send_message", {"number": "0151 234-5678", "text": "Late!"}), True),
        (SMS, Called("send_message", {"number": "0151 234-5679", "text": "Late!"}), False),
        ({"ask": ["when", "text"]}, Asked(frozenset({"when"})), True),
        ({"ask": ["when"]}, Asked(frozenset({"title"})), False),
        ({"ask": ["when"]}, Asked(), True),
        ({"ask": ["when"]}, Said("When shall I remind you?"), True),
        ({"ask": ["when"]}, Said("Done."), False),
        ({"answer": {"has": [["4", "four"]]}}, Said("That is 4."), True),
        ({"answer": {"has": ["4"]}}, Said("That is 42."), False),
        ({"answer": {"has": ["4"]}}, Said("That is 4.5."), False),
        ({"answer": {"has": ["paris"], "lacks": ["rome"]}}, Said("Paris,\nnot Rome"), False),
        ({"answer": {}}, Said(" "), False),
        ({"answer": {}}, Said("Hello!"), True),
        ({"decline": True}, Said("I cannot do that."), True),
        ({"decline": True}, HandedOver(), False),
        ({"home": True}, HandedOver(), True),
        ({"home": True}, Said("An essay: …"), False),
    ],
)
def test_what_is_right(action: object, did: Did, *, fits: bool) -> None:
    assert right(case(action), did, NOW) is fits


def test_one_accepted_action_is_enough() -> None:
    both = case({"ask": ["when"]}, {"answer": {"has": ["hello"]}})
    assert isinstance(both.accepted[1], Answers)
    assert right(both, Said("hello"), NOW)
    assert right(both, Asked(), NOW)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "odd"}, "there is no such kind"),
        ({"accept": []}, "nothing is accepted"),
        ({"accept": [{"decline": False}]}, "an action is none"),
        ({"accept": [{"decline": True, "home": True}]}, "an action is none"),
        ({"accept": [{"call": "x"}]}, "an action is none"),
        ({"accept": [{"call": "x", "arguments": {"y": {"like": 1}}}]}, "a constraint is none"),
        ({"accept": [{"call": "x", "arguments": {"y": {"seconds": -1}}}]}, "no number of seconds"),
        ({"accept": "all"}, "is no list"),
        ({"request": ""}, "its request is no text"),
        ({"request": "x" * 5000}, "longer than"),
        ({"extra": 1}, "there is no 'extra'"),
    ],
)
def test_a_case_without_its_form_is_refused_by_its_id(
    change: dict[str, JsonValue], says: str
) -> None:
    with pytest.raises(InvalidDataError, match=f"case x-1: .*{says}"):
        case({"decline": True}, **change)


@given(st.text())
def test_what_is_no_case_is_refused(text: str) -> None:
    with pytest.raises(InvalidDataError):
        decode_case(text)


@given(
    st.sampled_from([one for part in PARTS for one in ALL[part]]),
    st.dictionaries(st.sampled_from(["when", "text", "duration", "day"]), st.text()),
)
def test_no_arguments_of_a_model_break_the_judge(one: Case, arguments: dict[str, str]) -> None:
    for action in one.accepted:
        if isinstance(action, Calls):
            assert right(one, Called(action.tool, arguments), NOW) in {True, False}
