"""Hours of use: what a text means, on a wall clock in a time zone with summer time."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from homing_core.errors import UsageError
from homing_core.hours import ALWAYS, Hours, open_at, opens_in, parse_hours
from hypothesis import given
from hypothesis import strategies as st

ZURICH = ZoneInfo("Europe/Zurich")


def at(text: str, zone: ZoneInfo = ZURICH) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("08:00-22:00", ("08:00", "21:59"), ("07:59", "22:00")),
        ("08:00-12:00,14:00-22:00", ("11:59", "14:00"), ("12:00", "13:59")),
        ("22:00-06:00", ("22:00", "23:59", "00:00", "05:59"), ("06:00", "21:59")),
        ("00:00-24:00", ("00:00", "23:59"), ()),
        ("22:00-24:00", ("23:59",), ("00:00",)),
        ("18:00-00:00", ("23:59",), ("00:00", "17:59")),
        ("", ("00:00", "12:00"), ()),
        ("none", (), ("00:00", "12:00")),
    ],
)
def test_what_hours_mean(text: str, inside: tuple[str, ...], outside: tuple[str, ...]) -> None:
    hours = parse_hours(text)
    assert all(open_at(hours, at(f"2026-11-05T{time}"), ZURICH) for time in inside)
    assert not any(open_at(hours, at(f"2026-11-05T{time}"), ZURICH) for time in outside)


@pytest.mark.parametrize(
    "text",
    [
        *("8-22", "08:00", "08:00-08:00", "25:00-26:00", "08:60-09:00", "24:00-25:00"),
        *(
            "08:00-22:00;",
            "08:00\u201322:00",
            ",",
            "24:00-08:00",
            "٠٨:00-22:00",
            ",".join(["01:00-02:00"] * 25),
        ),
    ],
)
def test_what_is_no_hours_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_hours(text)


def test_hours_go_by_the_wall_clock_through_summer_time() -> None:
    morning = parse_hours("02:30-04:00")
    # On 2026-03-29, 02:00 is followed by 03:00: only one hour of it exists.
    assert not open_at(morning, at("2026-03-29T01:59"), ZURICH)
    assert open_at(morning, at("2026-03-29T01:59") + 60, ZURICH)
    wait = opens_in(morning, at("2026-03-29T01:00"), ZURICH)
    assert wait is not None
    assert 3600 <= wait <= 5400
    # On 2026-10-25, 02:00 to 03:00 comes twice.
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp()
    assert open_at(morning, first, ZURICH)
    assert open_at(morning, first + 3600, ZURICH)


def test_when_it_opens_again() -> None:
    hours = parse_hours("08:00-12:00,14:00-22:00")
    assert opens_in(hours, at("2026-11-05T13:00"), ZURICH) == 3600
    assert opens_in(hours, at("2026-11-05T22:00"), ZURICH) == 10 * 3600
    assert opens_in(hours, at("2026-11-05T09:00"), ZURICH) == 0
    assert opens_in(parse_hours("none"), at("2026-11-05T09:00"), ZURICH) is None


def test_a_clock_without_a_calendar_is_closed() -> None:
    assert not open_at(ALWAYS, 1e20)
    assert opens_in(ALWAYS, float("inf")) is None


RANGES = st.lists(st.tuples(st.integers(0, 1439), st.integers(0, 1440)), min_size=1, max_size=4)


def hours_of(ranges: list[tuple[int, int]]) -> Hours:
    texts = [
        f"{start // 60:02}:{start % 60:02}-{end // 60:02}:{end % 60:02}"
        for start, end in ranges
        if start != end
    ]
    return parse_hours(",".join(texts))


@given(RANGES, RANGES, st.integers(0, 1439))
def test_both_hours_are_open_exactly_where_each_is(
    one: list[tuple[int, int]], two: list[tuple[int, int]], minute: int
) -> None:
    left, right = hours_of(one), hours_of(two)
    assert (minute in left.both(right)) == (minute in left and minute in right)


@given(RANGES)
def test_hours_are_written_as_they_are_read(ranges: list[tuple[int, int]]) -> None:
    hours = hours_of(ranges)
    assert parse_hours(str(hours)) == hours
