"""The time of day within a person's words: "at 9", "half past 6", "5pm", "this evening".

dateparser reads none of these reliably ("tomorrow at 9" becomes tomorrow at the present minute,
"at 9" becomes September), so the time of day is taken out first and the rest is left to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time

from homing_core.errors import InvalidDataError

_HALF_DAY = 12
_HOURS = 24
_MINUTES = 60
_PARTS = {
    "morning": time(9),
    "noon": time(12),
    "midday": time(12),
    "lunchtime": time(12),
    "afternoon": time(15),
    "evening": time(19),
    "tonight": time(20),
    "night": time(20),
    "midnight": time(0),
}
_LATE = frozenset({"afternoon", "evening", "tonight", "night"})
_WHOLE = frozenset({"noon", "midday", "midnight", "lunchtime"})
_MERIDIEM = r"\s*(?P<meridiem>am|pm)\b"
_HOUR = rf"(?P<hour>\d{{1,2}})\b(?:{_MERIDIEM})?"
_LEAD = r"(?:\b(?:at|by|around|about|@)\s*)?"
# Longer forms first: "10 past 6 pm" also holds "6 pm".
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"{_LEAD}\b(?P<past>half|quarter|\d{{1,2}})(?: minutes?)? past {_HOUR}",
        rf"{_LEAD}\b(?P<to>quarter|5|10|20|25)(?: minutes?)? to {_HOUR}",
        rf"{_LEAD}\b(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::\d{{2}})?(?:{_MERIDIEM})?(?![\d:])",
        rf"{_LEAD}\b(?P<hour>\d{{1,2}})\.(?P<minute>\d{{2}}){_MERIDIEM}",
        rf"{_LEAD}\b(?P<hour>\d{{1,2}}){_MERIDIEM}",
        rf"{_LEAD}\b(?P<hour>\d{{1,2}}) ?o'?clock\b(?:{_MERIDIEM})?",
        r"\b(?:at|by|around|about|@)\s*(?P<hour>\d{1,2})(?![\d/.:-]|st\b|nd\b|rd\b|th\b)",
        r"(?:^|(?<=today )|(?<=tomorrow ))(?P<hour>\d{1,2})$",
    )
)
_BARE = re.compile(r"(?:^|(?<=[\s,]))(?P<hour>\d{1,2})$")
"""An hour where the part of the day is said as well: "tomorrow, 8 in the evening"."""
_RANGE = re.compile(r"\bfrom\s+\d")
_PART = re.compile(rf"\b(?:in the |this |at |by )?(?P<part>{'|'.join(_PARTS)})\b")


@dataclass(frozen=True, slots=True)
class ClockTime:
    """A time of day.

    Attributes:
        at: hour and minute as said, or the usual one of a part of the day; 12 alone is noon.
        sure: whether morning or evening is clear; if not, `at` is before noon.
    """

    at: time
    sure: bool


def take_clock_time(text: str) -> tuple[ClockTime | None, str]:
    """The time of day in `text` (lower case, number words as digits), and the rest of it.

    Raises:
        InvalidDataError: there are two times, or one that no clock shows.
    """
    if _RANGE.search(text):
        raise _two()
    rest = text
    part = ""
    found = _PART.search(rest)
    if found:
        part = found["part"]
        rest = _without(rest, found, "today" if part == "tonight" else "")
    if _PART.search(rest):
        raise _two()
    clock = None
    for form in (*_FORMS, *([_BARE] if part else [])):
        hit = form.search(rest) if clock is None or form is not _BARE else None
        if hit and clock is not None:
            raise _two()
        if hit:
            clock = _read(hit, part)
            rest = _without(rest, hit, "")
            if form.search(rest):
                raise _two()
    if clock is None and part:
        clock = ClockTime(_PARTS[part], sure=True)
    elif clock is not None and part in _WHOLE:
        raise _two()
    return clock, rest


def _without(text: str, found: re.Match[str], instead: str) -> str:
    return " ".join(f"{text[: found.start()]} {instead} {text[found.end() :]}".split())


def _read(hit: re.Match[str], part: str) -> ClockTime:
    named = hit.groupdict()
    hour = int(named["hour"])
    minute = int(named.get("minute") or 0)
    if named.get("past"):
        minute = _minutes(named["past"])
    elif named.get("to"):
        minute = _MINUTES - _minutes(named["to"])
        hour = (hour - 1) % _HOURS if hour != 1 else _HALF_DAY
    meridiem = named.get("meridiem") or ""
    if hour >= _HOURS or not 0 <= minute < _MINUTES or (meridiem and not 1 <= hour <= _HALF_DAY):
        msg = "no clock shows that time"
        raise InvalidDataError(msg, "Say it like: 9:30, 9am or 21:30.")
    leading_zero = named["hour"].startswith("0")
    if meridiem:
        hour = hour % _HALF_DAY + (_HALF_DAY if meridiem == "pm" else 0)
    elif part in _LATE and hour < _HALF_DAY and not leading_zero:
        hour += _HALF_DAY
    sure = bool(meridiem or part) or leading_zero or hour >= _HALF_DAY or hour == 0
    return ClockTime(time(hour, minute), sure)


def _minutes(word: str) -> int:
    return {"half": 30, "quarter": 15}.get(word) or int(word)


def _two() -> InvalidDataError:
    msg = "there are two times in it"
    return InvalidDataError(msg, "Say one time, like: tomorrow at 9am.")
