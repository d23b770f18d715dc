"""Hours of use, such as `08:00-12:00,14:00-22:00`. Pure.

Ranges are minutes of the node's local day, the end not included. One that ends before it begins
goes over midnight. What counts is what a clock on the wall shows: where summer time begins, hours
that do not exist are passed over; where it ends, the hour that comes twice counts twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from homing_core.errors import UsageError

if TYPE_CHECKING:
    from datetime import tzinfo

NO_HOURS: Final = "none"
"""Says that there is no hour at which it is allowed."""
MAX_RANGES: Final = 24
"""More ranges than this are refused."""

_DAY: Final = 24 * 60
_RANGE: Final = re.compile(r"([0-9]{2}):([0-9]{2})-([0-9]{2}):([0-9]{2})")
_HINT: Final = "Write them as 08:00-22:00, or several as 08:00-12:00,14:00-22:00."


@dataclass(frozen=True, slots=True)
class Hours:
    """Minutes of a day at which something is allowed.

    Attributes:
        ranges: half-open, in minutes since midnight, within 0 to 1440, ascending, apart.
    """

    ranges: tuple[tuple[int, int], ...]

    def __contains__(self, minute: int) -> bool:
        """Whether the minute of the day is among them."""
        return any(start <= minute < end for start, end in self.ranges)

    def __str__(self) -> str:
        """As `parse_hours` reads it; a range over midnight is put together again."""
        ranges = list(self.ranges)
        if ranges == [(0, _DAY)]:
            return "00:00-24:00"
        if len(ranges) > 1 and ranges[0][0] == 0 and ranges[-1][1] == _DAY:
            ranges = [*ranges[1:-1], (ranges[-1][0], ranges[0][1])]
        return ",".join(f"{_text(start)}-{_text(end)}" for start, end in ranges) or NO_HOURS

    def both(self, other: Hours) -> Hours:
        """What is in this and in the other."""
        cut = (
            (max(one[0], two[0]), min(one[1], two[1]))
            for one in self.ranges
            for two in other.ranges
        )
        return Hours(tuple(sorted((start, end) for start, end in cut if start < end)))


ALWAYS: Final = Hours(((0, _DAY),))


def parse_hours(text: str) -> Hours:
    """Read hours; empty is always, `none` is never.

    Raises:
        UsageError: the text is none.
    """
    stripped = text.strip()
    if not stripped:
        return ALWAYS
    if stripped == NO_HOURS:
        return Hours(())
    pieces = stripped.split(",", MAX_RANGES)
    if len(pieces) > MAX_RANGES:
        msg = f"there are more than {MAX_RANGES} ranges of hours"
        raise UsageError(msg, _HINT)
    found: list[tuple[int, int]] = []
    for piece in pieces:
        start, end = _range(piece.strip())
        if start < end:
            found.append((start, end))
        else:
            found += [(start, _DAY)] + ([(0, end)] if end else [])
    return Hours(_joined(found))


def open_at(hours: Hours, now: float, zone: tzinfo | None = None) -> bool:
    """Whether it is allowed at a wall time.

    Args:
        hours: when it is.
        now: seconds since the epoch.
        zone: of the node; None takes the system's.
    """
    local = _local(now, zone)
    return local is not None and local.hour * 60 + local.minute in hours


def opens_in(hours: Hours, now: float, zone: tzinfo | None = None) -> float | None:
    """Seconds until it is allowed again, 0 if it is; None if it never is.

    Where the range begins at an hour that summer time leaves out, this is up to that hour late.
    """
    if open_at(hours, now, zone):
        return 0.0
    today = _local(now, zone)
    if today is None:
        return None
    for days in range(3):  # the first may begin at an hour that summer time leaves out
        day = today.date() + timedelta(days=days)
        for start, _ in hours.ranges:
            naive = datetime(day.year, day.month, day.day, start // 60, start % 60)  # noqa: DTZ001  # put into the zone next
            at = naive.astimezone() if zone is None else naive.replace(tzinfo=zone)
            wait = at.timestamp() - now
            if wait > 0 and open_at(hours, now + wait, zone):
                return wait
    return None


def _local(now: float, zone: tzinfo | None) -> datetime | None:
    """The wall's date and time; None where a calendar has none, which is closed."""
    try:
        return datetime.fromtimestamp(now, UTC).astimezone(zone)
    except (ValueError, OverflowError, OSError):
        return None


def _range(piece: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(piece)
    if match is None:
        msg = "that is no range of hours"
        raise UsageError(msg, _HINT)
    one, two, three, four = (int(part) for part in match.groups())
    start, end = one * 60 + two, three * 60 + four
    if two >= 60 or four >= 60 or start >= _DAY or end > _DAY:  # noqa: PLR2004  # minutes of an hour
        msg = "that is no time of the day"
        raise UsageError(msg, "Hours go from 00:00 to 24:00.")
    if start == end:
        msg = "a range of hours ends where it begins"
        raise UsageError(msg, "The whole day is 00:00-24:00; none is never.")
    return start, end


def _joined(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)


def _text(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
