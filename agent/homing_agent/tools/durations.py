"""Lengths of time in a person's words: "20 minutes", "1h30m", "an hour and a half"."""

from __future__ import annotations

import re
from datetime import timedelta

from homing_core.errors import InvalidDataError

from homing_agent.numbers import digits
from homing_agent.tools.slips import mended

_MOST_CHARS = 80
_UNITS = {
    "seconds": 1,
    "minutes": 60,
    "hours": 3600,
    "days": 86_400,
    "weeks": 604_800,
}
_NAMES = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "seconds"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hours"),
    **dict.fromkeys(("d", "day", "days"), "days"),
    **dict.fromkeys(("w", "week", "weeks"), "weeks"),
}
_UNIT = "|".join(sorted(_NAMES, key=len, reverse=True))
_HALF = r"\s+and a half"
_PIECE = re.compile(
    rf"(?:(?P<count>\d+(?:\.\d+)?)(?P<early>{_HALF})?[\s-]*|(?P<word>half an?|an?|half)\s+"
    rf"|(?P<quarters>a|3) ?quarters? (?:of )?an? )(?P<unit>{_UNIT})(?![a-z])(?P<late>{_HALF})?"
)
_MINUTES = re.compile(r"\s*(?P<minutes>[1-5]?\d)$")
"""What may follow hours: "1h45", "1 hour 45"."""
_GLUE = re.compile(r"[\s,]*(?:and\s+)?")
_SAY = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
_HINT = "Say it like: 20 minutes, or 1 hour 30 minutes."


def find_duration(words: str) -> timedelta | None:
    """The length that `words` say, if they say a length and nothing else."""
    text = digits(mended(words.casefold().strip().rstrip(".!?")))
    if len(text) > _MOST_CHARS:
        return None
    position, seconds, found = 0, 0.0, False
    while position < len(text):
        piece = _PIECE.match(text, position)
        if piece is None:
            return None
        seconds += _seconds(piece)
        found = True
        minutes = _MINUTES.match(text, piece.end())
        if minutes and _NAMES[piece["unit"]] == "hours":
            seconds += _UNITS["minutes"] * int(minutes["minutes"])
            break
        glue = _GLUE.match(text, piece.end())
        position = glue.end() if glue else piece.end()
    return timedelta(seconds=round(seconds)) if found and seconds < timedelta.max.days else None


def parse_duration(words: str, longest: timedelta) -> timedelta:
    """The length that `words` say, above zero and at most `longest`.

    Raises:
        InvalidDataError: they say none, or one out of range.
    """
    found = find_duration(words)
    if found is None:
        msg = "that is not a length of time"
        raise InvalidDataError(msg, _HINT)
    if not timedelta() < found <= longest:
        msg = f"the length must be more than nothing and at most {say_duration(longest)}"
        raise InvalidDataError(msg, _HINT)
    return found


def say_duration(length: timedelta) -> str:
    """Such as "1 hour 30 minutes"."""
    left = int(length.total_seconds())
    parts: list[str] = []
    for name, size in _SAY:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {name}{'s' if count != 1 else ''}")
    return " ".join(parts) or "0 seconds"


def _seconds(piece: re.Match[str]) -> float:
    if piece["count"]:
        amount = float(piece["count"])
    elif piece["quarters"]:
        amount = 0.75 if piece["quarters"] == "3" else 0.25
    else:
        amount = 0.5 if piece["word"].startswith("half") else 1.0
    if piece["early"] or piece["late"]:
        amount += 0.5
    return amount * _UNITS[_NAMES[piece["unit"]]]
