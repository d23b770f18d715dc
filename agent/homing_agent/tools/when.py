"""Moments in a person's words: "tomorrow at 9", "in 20 minutes", "next friday 5pm".

The model copies the words; here they become a moment. What is ambiguous in a way that the person
must settle is an `AskPersonError`, and what is not understood is an error: never a guess, except:

- an hour from 1 to 11 without am or pm means the next such hour on the clock if no day is said, the
  afternoon for 1 to 6 on another day, and as written otherwise; 12 alone is noon;
- a part of the day has a usual hour (`clocktime`).

Every tool says the resolved moment back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError

from homing_agent.numbers import digits
from homing_agent.tool import AskPersonError
from homing_agent.tools.clocktime import take_clock_time
from homing_agent.tools.days import find_day, is_bare_ordinal
from homing_agent.tools.durations import find_duration
from homing_agent.tools.slips import mended

if TYPE_CHECKING:
    from datetime import date, time, tzinfo

    from homing_core.clock import Clock

    from homing_agent.tools.clocktime import ClockTime

_MOST_CHARS = 80
_HALF_DAY = 12
_AFTERNOON_HOURS = range(1, 7)
_FAR = timedelta(days=366 * 20)
_REPEATS = re.compile(r"\b(?:every|each|daily|weekly|monthly|yearly|weekdays|weekends)\b")
_FROM_NOW = re.compile(r"^(?:in|after)\s+(.+)$|^(.+?)\s+(?:from now|later)$")
_FROM_TODAY = re.compile(r"\bfrom today\b")
_ISO = re.compile(r"^\d{4}-\d{2}-\d{2}(?:[t ]\d{2}:?\d{2}(?::?\d{2})?(?:\.\d+)?(?:z|[+-].+)?)?$")
_SPACED = re.compile(r"(?<=\bat )([01]?\d|2[0-3]) ([0-5]\d)$")
"""Such as "at 9 30"."""
_BARE_HOUR = re.compile(r"\b(today|tomorrow) ([01]?\d|2[0-3])$")
"""Such as "tomorrow 9"; "friday 9" may be a date."""
_HINT = "Say it like: tomorrow at 9am, friday 17:30, or in 20 minutes."


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment.

    Attributes:
        at: in the local zone; at 0:00 if only a day was said.
        has_time: whether a time of day was said.
    """

    at: datetime
    has_time: bool


@dataclass(frozen=True, slots=True)
class LocalTime:
    """The clock on this device's wall.

    Attributes:
        clock: where time comes from.
        zone: the local time zone.
    """

    clock: Clock
    zone: tzinfo

    def now(self) -> datetime:
        """The present moment, in the local zone."""
        return datetime.fromtimestamp(self.clock.now(), self.zone)


def parse_when(words: str, now: datetime) -> Moment:
    """The moment that `words` say.

    Args:
        words: as the person said them.
        now: the present, with the local zone.

    Raises:
        AskPersonError: only the person can say what is meant.
        InvalidDataError: not understood.
    """
    text = _normal(words)
    if _REPEATS.search(text):
        msg = "it cannot repeat"
        raise AskPersonError(msg, "Say one time, like: tomorrow at 9am.")
    if _ISO.match(text):
        return _iso(text, now)
    relative = _FROM_NOW.match(text)
    length = find_duration(relative[1] or relative[2]) if relative else find_duration(text)
    if length is not None:
        return _after(length, now)
    clock, rest = take_clock_time(text)
    day = find_day(rest, now.date()) if rest else None
    if clock is None and day is None:
        raise _not_understood()
    if clock is None and day is not None:
        return Moment(_local(day, None, now), has_time=False)
    if clock is not None and day is not None:
        return Moment(_on_day(day, clock, now), has_time=True)
    return Moment(_next(clock, now) if clock else now, has_time=True)


def parse_future(words: str, now: datetime, usual: time) -> datetime:
    """The moment that `words` say, which must lie ahead; a day alone means `usual` on that day.

    Raises:
        AskPersonError: it has passed, or only the person can say what is meant.
        InvalidDataError: not understood.
    """
    moment = parse_when(words, now)
    at = moment.at
    if not moment.has_time:
        at = _local(at.date(), usual, now)
    if at <= now:
        msg = f"{say_moment(at)} has passed"
        raise AskPersonError(msg, "Which time do you mean?")
    return at


def understood(words: str, now: datetime) -> bool:
    """Whether words say a moment, or one that only the person can settle.

    A number alone does not, nor does "the first": among other words they can be anything.
    """
    plain = digits(words)
    if plain.isdigit() or is_bare_ordinal(plain.strip(" .,!?")):
        return False
    try:
        parse_when(_REPEATS.sub("", plain), now)
    except AskPersonError:
        return True
    except InvalidDataError:
        return False
    return True


def say_moment(at: datetime) -> str:
    """Such as "Tuesday 1 December 2026, 09:00"."""
    return f"{say_day(at)}, {at:%H:%M}"


def say_day(at: datetime | date) -> str:
    """Such as "Tuesday 1 December 2026"."""
    return f"{at:%A} {at.day} {at:%B} {at.year}"


def _normal(words: str) -> str:
    text = " ".join(words.replace("\u2019", "'").split()).strip(" .,!?")  # a typographic apostrophe
    if not text or len(text) > _MOST_CHARS:
        raise _not_understood()
    text = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", text.casefold())
    # Of "a week from today" the library that reads days makes one in the past.
    plain = digits(_FROM_TODAY.sub("from now", mended(text)))
    return _BARE_HOUR.sub(r"\1 at \2", _SPACED.sub(r"\1:\2", plain))


def _iso(text: str, now: datetime) -> Moment:
    try:
        found = datetime.fromisoformat(text.upper())
    except ValueError as error:
        raise _not_understood() from error
    if found.tzinfo is None:
        found = _local(found.date(), found.time(), now)
    return Moment(found.astimezone(now.tzinfo), has_time=":" in text or "t" in text)


def _after(length: timedelta, now: datetime) -> Moment:
    if length > _FAR:
        raise _not_understood()
    days = length.days if length.seconds == 0 else 0
    if days:
        return Moment(_local(now.date() + timedelta(days=days), None, now), has_time=False)
    return Moment((now.astimezone(UTC) + length).astimezone(now.tzinfo), has_time=True)


def _on_day(day: date, clock: ClockTime, now: datetime) -> datetime:
    at = _local(day, clock.at, now)
    if clock.sure:
        return at
    later = at + timedelta(hours=_HALF_DAY)
    if day == now.date():
        return later if at <= now < later else at
    return later if clock.at.hour in _AFTERNOON_HOURS else at


def _next(clock: ClockTime, now: datetime) -> datetime:
    today, tomorrow = now.date(), now.date() + timedelta(days=1)
    candidates = [_local(today, clock.at, now), _local(tomorrow, clock.at, now)]
    if not clock.sure:
        half = timedelta(hours=_HALF_DAY)
        candidates += [at + half for at in candidates]
    return min(at for at in candidates if at > now)


def _local(day: date, at: time | None, now: datetime) -> datetime:
    wall = datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)
    if at is not None:
        wall = wall.replace(hour=at.hour, minute=at.minute)
    # Through UTC and back: an hour that the change to summer time skips becomes the next one.
    return wall.astimezone(UTC).astimezone(now.tzinfo)


def _not_understood() -> InvalidDataError:
    msg = "that is not a time I understand"
    return InvalidDataError(msg, _HINT)
