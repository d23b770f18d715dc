"""Limits as people type them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from homing_core.access import Limits
from homing_core.errors import UsageError
from homing_core.limit_words import LimitChange, read_hours, read_names, read_number, read_until

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp()


def test_what_is_not_said_stays() -> None:
    before = Limits(tokens_per_day=10, models=("big",), hours="08:00-22:00")
    assert not LimitChange()
    assert LimitChange().of(before) == before
    after = LimitChange(tokens_per_day=0, hours="").of(before)
    assert after == Limits(models=("big",))


def test_names() -> None:
    assert read_names("big:bf16, small*") == ("big:bf16", "small*")
    assert read_names("any") == ()
    assert read_names("a, b") == ("a", "b")
    assert read_names("none") == ("none",)


def test_numbers() -> None:
    assert read_number("20,000", "it") == 20_000
    assert read_number("unlimited", "it") == 0
    for text in ("0", "-1", "many", "1.5", "²", "٣", ""):
        with pytest.raises(UsageError):
            read_number(text, "it")


def test_hours() -> None:
    assert read_hours("any") == ""
    assert read_hours("22:00-06:00") == "22:00-06:00"
    with pytest.raises(UsageError):
        read_hours("late")


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("never", 0.0),
        ("12h", NOW + 12 * 3600),
        ("+30d", NOW + 30 * 86_400),
        ("2026-11-30", datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC).timestamp()),
        ("2026-12-24 18:30", datetime(2026, 12, 24, 18, 30, tzinfo=UTC).timestamp()),
        ("2027-02-01T10:00+00:00", datetime(2027, 2, 1, 10, 0, tzinfo=UTC).timestamp()),
        ("2026-12-24T18:30", datetime(2026, 12, 24, 18, 30, tzinfo=UTC).timestamp()),
    ],
)
def test_an_end(text: str, ends: float) -> None:
    assert read_until(text, NOW, UTC) == ends


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "tomorrow",
        "2026-13-01",
        "2027-99-01",
        "2020-01-01",
        "0d",
        "+0d",
        "5",
        "+7",
        "+7m",
        "+99y",
    ],
)
def test_no_end(text: str) -> None:
    with pytest.raises(UsageError):
        read_until(text, NOW, UTC)


@pytest.mark.parametrize("change", [LimitChange(tokens_per_day=-1), LimitChange(jobs=1 << 40)])
def test_no_limits(change: LimitChange) -> None:
    with pytest.raises(UsageError):
        change.of(Limits())
