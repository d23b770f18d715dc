"""What a small model leaves out of a call though the person said it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from homing_agent.completing import Completing, completed
from homing_agent.testing import FakeAlarms
from homing_agent.tools.builtin import builtin_tools
from homing_agent.tools.durations import find_duration
from homing_agent.tools.when import understood
from homing_core.testing import FakeClock
from hypothesis import given
from hypothesis import strategies as st

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 30, 16, 56, tzinfo=BERLIN)
TOOLS = {
    tool.spec.name: tool
    for tool in builtin_tools(Path(), FakeClock(NOW.timestamp()), FakeAlarms(), BERLIN)
}


def moment(words: str) -> bool:
    return understood(words, NOW)


def length(words: str) -> bool:
    return find_duration(words) is not None


@pytest.mark.parametrize(
    ("written", "request_text", "words"),
    [
        ("at 8", "a nudge tomorrow morning at 8 to call back", "tomorrow morning at 8"),
        ("friday 4 pm", "badge test a week from Friday at 4 pm!", "a week from Friday at 4 pm"),
        ("at noon", "remind me 2 water plnts at 8", "at 8"),
        ("", "Do I have to be anywhere this afternoon?", "this afternoon"),
        ("1st", "The society meets on the 1st at 18:30. Note it", "on the 1st at 18:30"),
        # what cannot repeat has to be asked about, so that part of it must not get lost
        ("at nine", "Remind me of it every Monday at nine", "every Monday at nine"),
        # of two moments the model's choice counts
        ("at six", "She lands at eight, so tell me at six", "at six"),
        # and where it chose neither, nothing is guessed
        ("at noon", "She lands at eight, so tell me at six", "at noon"),
        ("saturday", "Text 0049 89 123456 my order: two margheritas", "saturday"),
        ("in 20 minutes", "Bring the ringer down to 20 percent", "in 20 minutes"),
    ],
)
def test_moments(written: str, request_text: str, words: str) -> None:
    assert completed(written, request_text, moment) == words


@pytest.mark.parametrize(
    ("written", "request_text", "words"),
    [
        ("5 minutes", "Fifty minutes on the timer and then I'm allowed coffee", "Fifty minutes"),
        ("40", "start a 40 minute workout timer", "40 minute"),
        ("30 min", "start tymer 1 our 30 min for bred", "1 our 30 min"),
        ("10 minutes", "start the countdown", "10 minutes"),
    ],
)
def test_lengths(written: str, request_text: str, words: str) -> None:
    assert completed(written, request_text, length) == words


@given(st.text(max_size=20), st.text(max_size=80))
def test_words_come_from_the_model_or_the_person(written: str, request_text: str) -> None:
    found = completed(written, request_text, moment)
    assert found == written or found in request_text


def test_a_long_request_is_left_as_it_is() -> None:
    assert completed("x", "at 8 " * 100, moment) == "x"


def test_tools_complete_their_own_arguments_and_no_others() -> None:
    reminder = TOOLS["set_reminder"]
    assert isinstance(reminder, Completing)
    asked = "remind me tomorrow at 9 to call mom"
    assert reminder.complete({"text": "call mom", "when": "at 9"}, asked) == {
        "text": "call mom",
        "when": "tomorrow at 9",
    }
    events = TOOLS["list_events"]
    assert isinstance(events, Completing)
    assert events.complete({}, "what have I got on friday") == {"day": "on friday"}
    assert events.complete({}, "what have I got") == {}
    timer = TOOLS["set_timer"]
    assert isinstance(timer, Completing)
    assert timer.complete({"duration": 5}, "in 10 minutes") == {"duration": 5}
    assert not isinstance(TOOLS["save_note"], Completing)


@pytest.mark.parametrize(
    ("asked", "written", "stream"),
    [
        ("call volume 90", None, "call"),
        ("bring the ringer down to 20", "alarm", "ring"),
        ("the podcast is too loud", None, "music"),
        ("volume 30", None, None),
        ("volume 30", "music", "music"),
        ("call volume to 40 and the alarm to 100", "alarm", "alarm"),
    ],
)
def test_a_stream_that_is_named_is_the_one(
    asked: str, written: str | None, stream: str | None
) -> None:
    volume = TOOLS["set_volume"]
    assert isinstance(volume, Completing)
    given_stream = {} if written is None else {"stream": written}
    found = volume.complete({"percent": 40, **given_stream}, asked)
    assert found.get("stream") == stream
