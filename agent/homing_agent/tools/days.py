"""The day within a person's words: "tomorrow", "next friday", "24 December", "the 5th".

dateparser does the reading. It drops words that it does not know and takes a bare number for a
month, so every word is checked first, and what names no day is refused.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, datetime, time, timedelta

import dateparser
from homing_core.errors import InvalidDataError

from homing_agent.tool import AskPersonError
from homing_agent.tools.slips import mended

_WEEKDAYS = {
    name: number
    for number, day in enumerate(calendar.day_name)
    for name in (day.casefold(), day[:3].casefold())
} | {"tues": 1, "wednes": 2, "thur": 3, "thurs": 3}
_MONTHS = {
    name for month in calendar.month_name[1:] for name in (month.casefold(), month[:3].casefold())
} | {"sept"}
_RELATIVE = frozenset(
    [
        "today",
        "tomorrow",
        "yesterday",
        "next",
        "last",
        "after",
        "day",
        "days",
        "week",
        "weeks",
        "month",
        "months",
        "year",
        "years",
        "ago",
        "in",
        "from",
        "now",
        "a",
    ]
)
_UNITS = frozenset(["day", "days", "week", "weeks", "month", "months", "year", "years"])
_IGNORED = frozenset(["the", "on", "of", "this", "coming", "at", "for", "by", "around"])
_NUMBER = re.compile(r"^\d{1,4}(?:st|nd|rd|th)?$")
_DAY_OF_MONTH = re.compile(r"^(\d{1,2})(?:st|nd|rd|th)$")
_NUMERIC = re.compile(r"^(\d{1,2})(?:/|([.-]))(\d{1,2})(?:[/.-](\d{4}))?$")
_ORDINALS = {
    word: f"{number}th"
    for number, word in enumerate(
        [
            *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"),
            *("ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth"),
            *("sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth", "20-first"),
            *("20-second", "20-third", "20-fourth", "20-fifth", "20-sixth", "20-seventh"),
            *("20-eighth", "20-ninth", "thirtieth", "30-first"),
        ],
        1,
    )
}
"""By then tens in words are digits; see `homing_agent.numbers`."""
_ORDINAL = re.compile(rf"\b(?:{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})\b")
_BARE_ORDINAL = re.compile(rf"(?:on )?(?:the )?(?:{_ORDINAL.pattern})")
_SETTINGS = {"PREFER_DATES_FROM": "future", "PARSERS": ["relative-time", "absolute-time"]}
_MONTHS_A_YEAR = 12
_DAY_DIGITS = 2
_MOST_WEEKS = 1000
_HINT = "Say it like: tomorrow, next friday, or 24 December."


def find_day(words: str, today: date) -> date:
    """The day that `words` (lower case, number words as digits) say.

    Raises:
        AskPersonError: it could be two days, or it contradicts itself.
        InvalidDataError: not understood.
    """
    said = _ORDINAL.sub(lambda found: _ORDINALS[found[0]], mended(words))
    tokens = [token for token in re.split(r"[\s,]+", said) if token and token not in _IGNORED]
    plain = _plain_day(tokens, today)
    if plain is not None:
        return plain
    if not tokens or not all(_known(token) for token in tokens) or not _names_day(tokens):
        raise _not_understood()
    if "from" in tokens and tokens[tokens.index("from") + 1 :] != ["now"]:
        raise _not_understood()
    found = _dateparser(" ".join(tokens), today)
    if found is None:
        raise _not_understood()
    for token in tokens:
        if token in _WEEKDAYS:
            _same_day(found, token)
    return found


def is_bare_ordinal(words: str) -> bool:
    """Whether words (lower case, number words as digits) are no more than "the first"."""
    return _BARE_ORDINAL.fullmatch(words) is not None


def _same_day(found: date, weekday: str) -> date:
    """The day, if it is that weekday."""
    if found.weekday() != _WEEKDAYS[weekday]:
        msg = f"{found.day} {found:%B} {found.year} is a {found:%A}"
        raise AskPersonError(msg, "Which day do you mean?")
    return found


def _weeks_from(tokens: list[str]) -> bool:
    """Such as "a week from friday" or "2 weeks from tomorrow"."""
    return (
        len(tokens) == 4  # noqa: PLR2004  # count, unit, "from", day
        and (tokens[0] == "a" or tokens[0].isdigit())
        and tokens[1] in {"week", "weeks"}
        and tokens[2] == "from"
        and (tokens[3] in _WEEKDAYS or tokens[3] in {"tomorrow", "today"})
    )


def _plain_day(tokens: list[str], today: date) -> date | None:
    """The day where its form alone says which one it is; None if it does not."""
    if tokens == ["today"]:
        return today
    numeric = _NUMERIC.match(tokens[0]) if len(tokens) == 1 else None
    if numeric:
        return _numeric(numeric, today)
    ordinal = _DAY_OF_MONTH.match(tokens[-1]) if tokens else None
    if ordinal and len(tokens) == 1:
        return _day_of_month(int(ordinal[1]), today)
    if ordinal and len(tokens) == 2 and tokens[0] in _WEEKDAYS:  # noqa: PLR2004  # "friday 20th"
        return _same_day(_day_of_month(int(ordinal[1]), today), tokens[0])
    if _weeks_from(tokens):
        weeks = 1 if tokens[0] == "a" else int(tokens[0])
        if weeks > _MOST_WEEKS:
            raise _not_understood()
        return find_day(tokens[3], today) + timedelta(weeks=weeks)
    return None


def _dateparser(words: str, today: date) -> date | None:
    base = datetime.combine(today, time(12))
    settings = {**_SETTINGS, "RELATIVE_BASE": base}
    found: datetime | None = dateparser.parse(words, languages=["en"], settings=settings)
    return None if found is None else found.date()


def _known(token: str) -> bool:
    return (
        token in _RELATIVE
        or token in _WEEKDAYS
        or token in _MONTHS
        or _NUMBER.match(token) is not None
    )


def _names_day(tokens: list[str]) -> bool:
    """Whether a single day is meant, and every number has a place in it.

    "next month", "december" and "2027" are not days, and nobody knows what 9 is in "friday 9".
    """
    numbers = [token for token in tokens if _NUMBER.match(token)]
    if any(token in _MONTHS for token in tokens):
        days = [token for token in numbers if len(token.rstrip("stndrh")) <= _DAY_DIGITS]
        return len(days) == 1 and len(numbers) <= 2  # noqa: PLR2004  # a day and a year
    if any(token in _WEEKDAYS or token in {"tomorrow", "yesterday"} for token in tokens):
        return not numbers or _weeks_from(tokens)
    return bool(_UNITS & set(tokens)) and len(numbers) + tokens.count("a") == 1


def _numeric(found: re.Match[str], today: date) -> date:
    first, second = int(found[1]), int(found[3])
    if found[2] and not found[4]:
        raise _not_understood()  # "9.30" and "3-5" are hours to most people
    if first <= _MONTHS_A_YEAR and second <= _MONTHS_A_YEAR and first != second:
        msg = f"{found[0]} could be two days"
        raise AskPersonError(msg, "Which month do you mean?")
    day, month = (first, second) if second <= _MONTHS_A_YEAR else (second, first)
    try:
        if found[4]:
            return date(int(found[4]), month, day)
        here = date(today.year, month, day)
        return here if here >= today else date(today.year + 1, month, day)
    except ValueError as error:
        raise _not_understood() from error


def _day_of_month(day: int, today: date) -> date:
    first = today.replace(day=1)
    for _ in range(_MONTHS_A_YEAR):
        in_month = calendar.monthrange(first.year, first.month)[1]
        if day <= in_month and first.replace(day=max(day, 1)) >= today and day:
            return first.replace(day=day)
        first += timedelta(days=in_month)
    raise _not_understood()


def _not_understood() -> InvalidDataError:
    msg = "that is not a day I understand"
    return InvalidDataError(msg, _HINT)
