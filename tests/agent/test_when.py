from __future__ import annotations

from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from homing_agent.tool import AskPersonError
from homing_agent.tools.durations import find_duration, parse_duration, say_duration
from homing_agent.tools.when import LocalTime, parse_future, parse_when, say_moment
from homing_core.errors import HomingError, InvalidDataError
from homing_core.testing import FakeClock
from hypothesis import given
from hypothesis import strategies as st

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 30, 16, 56, tzinfo=BERLIN)  # a Monday
NINE = time(9)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # lengths
        ("in 20 minutes", "2026-11-30 17:16"),
        ("20 minutes from now", "2026-11-30 17:16"),
        ("2 weeks from today at 9", "2026-12-14 09:00"),
        ("a week from today", "2026-12-07 09:00"),
        ("in two hours", "2026-11-30 18:56"),
        ("in half an hour", "2026-11-30 17:26"),
        ("in an hour and a half", "2026-11-30 18:26"),
        ("1h30m", "2026-11-30 18:26"),
        ("in 3 days at 5pm", "2026-12-03 17:00"),
        # a time of day alone: the next one
        ("at 9", "2026-11-30 21:00"),
        ("9am", "2026-12-01 09:00"),
        ("at 5pm", "2026-11-30 17:00"),
        ("17:30", "2026-11-30 17:30"),
        ("at 4", "2026-12-01 04:00"),
        ("half past 9", "2026-11-30 21:30"),
        ("quarter to 6", "2026-11-30 17:45"),
        ("10 past 6 pm", "2026-11-30 18:10"),
        ("5 o'clock", "2026-11-30 17:00"),
        ("5 o\u2019clock", "2026-11-30 17:00"),
        ("noon", "2026-12-01 12:00"),
        ("12:30", "2026-12-01 12:30"),
        ("midnight", "2026-12-01 00:00"),
        ("tonight", "2026-11-30 20:00"),
        ("tonight at 8", "2026-11-30 20:00"),
        ("this evening", "2026-11-30 19:00"),
        ("at 7 in the morning", "2026-12-01 07:00"),
        # a day and a time
        ("tomorrow at 9", "2026-12-01 09:00"),
        ("Tomorrow at nine.", "2026-12-01 09:00"),
        ("tomorrow 9", "2026-12-01 09:00"),
        ("9 a.m. tomorrow", "2026-12-01 09:00"),
        ("tomorrow at 5", "2026-12-01 17:00"),
        ("tomorrow at 05:00", "2026-12-01 05:00"),
        ("tomorrow morning", "2026-12-01 09:00"),
        ("tomorrow night at 11", "2026-12-01 23:00"),
        ("today at 8pm", "2026-11-30 20:00"),
        ("today at 5", "2026-11-30 17:00"),
        ("next friday 5pm", "2026-12-04 17:00"),
        ("friday at 17:00", "2026-12-04 17:00"),
        ("5pm on friday", "2026-12-04 17:00"),
        ("monday at 10am", "2026-12-07 10:00"),
        ("the day after tomorrow at 10", "2026-12-02 10:00"),
        ("on the 5th at 10am", "2026-12-05 10:00"),
        ("Dec 24 at 3pm", "2026-12-24 15:00"),
        ("Friday, December 4, 2026 at 5pm", "2026-12-04 17:00"),
        ("24/12/2026 at 15:00", "2026-12-24 15:00"),
        ("2026-12-24 15:00", "2026-12-24 15:00"),
        ("2026-12-24T15:00:00Z", "2026-12-24 16:00"),
        ("a week from friday at 4 pm", "2026-12-11 16:00"),
        ("2 weeks from tomorrow at 9", "2026-12-15 09:00"),
        ("Wednesday the 9th, 14:00", "2026-12-09 14:00"),
        ("tomorrow, eight in the evening", "2026-12-01 20:00"),
        ("3 June, 9 in the morning", "2027-06-03 09:00"),
        ("tuesday 5.30 pm", "2026-12-01 17:30"),
        # slips of the keyboard, and days in words
        ("tomorow at 5 pm", "2026-12-01 17:00"),
        ("teusday mornin at 9", "2026-12-01 09:00"),
        ("on the first of april at nine", "2027-04-01 09:00"),
        ("the twenty-third at noon", "2026-12-23 12:00"),
        ("friday at 9 30", "2026-12-04 09:30"),
        ("in 20 mintues", "2026-11-30 17:16"),
        ("in haf an hour", "2026-11-30 17:26"),
        ("munday at 10", "2026-12-07 10:00"),
        # a day alone: the usual time
        ("tomorrow", "2026-12-01 09:00"),
        ("friday", "2026-12-04 09:00"),
        ("24 december", "2026-12-24 09:00"),
        ("5 november", "2027-11-05 09:00"),
        ("in 2 days", "2026-12-02 09:00"),
        ("in a week", "2026-12-07 09:00"),
        ("the 31st", "2026-12-31 09:00"),
        ("2026-12-24", "2026-12-24 09:00"),
    ],
)
def test_words_become_the_moment_people_mean(words: str, expected: str) -> None:
    found = parse_future(words, NOW, NINE)
    assert f"{found:%Y-%m-%d %H:%M}" == expected
    assert found.tzinfo is BERLIN


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("today at 9am", "Monday 30 November 2026, 09:00 has passed"),
        ("yesterday", "has passed"),
        ("2025-01-01 10:00", "has passed"),
        ("3/4/2027", "could be two days"),
        ("Saturday 4 December 2026 at 5pm", "is a Friday"),
        ("every day at 9", "cannot repeat"),
    ],
)
def test_what_only_the_person_can_settle_is_asked(words: str, says: str) -> None:
    with pytest.raises(AskPersonError, match=says) as caught:
        parse_future(words, NOW, NINE)
    assert caught.value.hint


@pytest.mark.parametrize(
    "words",
    [
        "",
        "   ",
        "blah",
        "soon",
        "next week",
        "next month",
        "december",
        "2027",
        "christmas",
        "friday 9",
        "tomorrow at nineish",
        "tomorrow 9 10",
        "friday 3pm to 5pm",
        "from 3 to 5",
        "2pm 3pm",
        "31 february",
        "at 25",
        "13pm",
        "10:75",
        "9.30",
        "2 hours ago",
        "a week from friday 9",
        "9999999 weeks from friday",
        "2026-13-45",
        "2026-12-24T99:00",
        "x" * 500,
        "in 99999999999999 weeks",
        "tomorrow morning evening",
        "a light at 5",
    ],
)
def test_what_is_not_understood_is_an_error_and_never_a_guess(words: str) -> None:
    with pytest.raises(InvalidDataError) as caught:
        parse_future(words, NOW, NINE)
    assert caught.value.hint


def test_the_hour_that_summer_time_skips_becomes_the_next_one() -> None:
    before = datetime(2027, 3, 27, 12, 0, tzinfo=BERLIN)
    assert f"{parse_future('tomorrow at 2:30am', before, NINE):%d %H:%M %Z}" == "28 03:30 CEST"


def test_a_length_counts_real_time_over_the_change_of_clocks() -> None:
    before = datetime(2027, 3, 28, 1, 30, tzinfo=BERLIN)
    assert f"{parse_future('in 1 hour', before, NINE):%H:%M}" == "03:30"


def test_local_time_follows_the_clock() -> None:
    local = LocalTime(FakeClock(NOW.timestamp()), BERLIN)
    assert local.now() == NOW
    assert say_moment(local.now()) == "Monday 30 November 2026, 16:56"


@given(st.text(max_size=100))
def test_any_text_is_a_moment_or_an_error_for_people(words: str) -> None:
    try:
        found = parse_when(words, NOW)
    except HomingError as error:
        assert str(error)  # noqa: PT017  # either outcome is right; which one is not the point
    else:
        assert found.at.tzinfo is not None


WORDS = """at in on next last this the tomorrow today friday monday december 24 5 31 17:30 9 9am pm
noon half past quarter to minutes hours days week 2026 24/12 5th a an and from now"""
pieces = st.sampled_from(WORDS.split())


@given(st.lists(pieces, min_size=1, max_size=6))
def test_any_order_of_time_words_is_a_moment_or_an_error(words: list[str]) -> None:
    try:
        found = parse_when(" ".join(words), NOW)
    except HomingError as error:
        assert error.hint  # noqa: PT017  # as above
    else:
        assert abs(found.at.year - NOW.year) <= 2100


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("10 minutes", 600),
        ("90 s", 90),
        ("1h30m", 5400),
        ("1 hour 30 minutes", 5400),
        ("1 hour and 30 minutes", 5400),
        ("an hour and a half", 5400),
        ("half an hour", 1800),
        ("twenty-five minutes", 1500),
        ("1.5 hours", 5400),
        ("two weeks", 1_209_600),
        ("two and a half hours", 9000),
        ("1h45", 6300),
        ("1 hour 45", 6300),
        ("25-minute", 1500),
        ("three quarters of an hour", 2700),
        ("a quarter of an hour", 900),
        ("thirty-second", 30),
    ],
)
def test_lengths(words: str, seconds: int) -> None:
    assert find_duration(words) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "words", ["", "5", "soon", "and", "10 minutes or so", "minutes", "-5 minutes", "1 hour and 45"]
)
def test_what_is_no_length(words: str) -> None:
    assert find_duration(words) is None
    with pytest.raises(InvalidDataError):
        parse_duration(words, timedelta(days=1))


@pytest.mark.parametrize("words", ["0 minutes", "2 days", "9" * 40 + " weeks"])
def test_lengths_out_of_range(words: str) -> None:
    with pytest.raises(InvalidDataError):
        parse_duration(words, timedelta(days=1))


@given(st.integers(1, 7 * 86_400))
def test_a_length_that_is_said_is_understood_again(seconds: int) -> None:
    length = timedelta(seconds=seconds)
    assert find_duration(say_duration(length)) == length
