"""Limits as people type them, alike on the node and on an owner's phone. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from homing_core.errors import UsageError
from homing_core.hours import parse_hours
from homing_core.limits import checked_limits

if TYPE_CHECKING:
    from datetime import tzinfo

    from homing_core.access import Limits

ANY: Final = "any"
"""Typed in place of names or hours: no limit of that kind."""
NEVER: Final = "never"
"""Typed in place of an end: none."""
UNLIMITED: Final = "unlimited"
"""Typed in place of a number: no limit of that kind."""
_SPAN: Final = re.compile(r"\+?([0-9]{1,5})([hdw])")
_SPANS_S: Final = {"h": 3600, "d": 86_400, "w": 7 * 86_400}
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HINT: Final = "Write 2026-12-24, 2026-12-24T18:00, +12h, +7d, +2w or never."


@dataclass(frozen=True, slots=True)
class LimitChange:
    """What to change of a device's limits; None leaves it as it is.

    Attributes:
        tokens_per_day: see `Limits`, as all others.
        concurrent_streams: generations at once.
        jobs: jobs that have not ended.
        models: model names.
        tools: tool name patterns.
        expires_at: valid until then.
        hours: hours of use.
    """

    tokens_per_day: int | None = None
    concurrent_streams: int | None = None
    jobs: int | None = None
    models: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    expires_at: int | None = None
    hours: str | None = None

    def __bool__(self) -> bool:
        """Whether anything changes."""
        return self != LimitChange()

    def of(self, limits: Limits) -> Limits:
        """The limits as they are then.

        Raises:
            UsageError: they cannot be such.
        """
        return checked_limits(
            replace(
                limits,
                **{
                    name: value
                    for name in LimitChange.__dataclass_fields__
                    if (value := getattr(self, name)) is not None
                },
            )
        )


def read_number(text: str, what: str) -> int:
    """A limit: a number above 0, or `unlimited` (0).

    Args:
        text: as it was typed; commas and low lines between digits do not matter.
        what: what to call it in an error.

    Raises:
        UsageError: it is neither.
    """
    if text.strip() == UNLIMITED:
        return 0
    plain = text.replace(",", "").replace("_", "").strip()
    if not plain.isdecimal() or not plain.isascii() or not int(plain):
        msg = f"{what} is neither a number above 0 nor {UNLIMITED}"
        raise UsageError(msg, f"Such as 20, or {UNLIMITED}.")
    return int(plain)


def read_names(text: str) -> tuple[str, ...]:
    """Names or patterns, with commas between; `any` is no limit, `none` allows nothing.

    Raises:
        UsageError: there is no name.
    """
    if not text.strip():
        msg = "there is no name"
        raise UsageError(
            msg, "Write names with commas between; any for no limit, none for nothing."
        )
    if text.strip() == ANY:
        return ()
    return tuple(part.strip() for part in text.split(","))


def read_hours(text: str) -> str:
    """Hours of use; `any` is no limit, `none` is never.

    Raises:
        UsageError: they are malformed, or there are none.
    """
    if not text.strip():
        msg = "there are no hours"
        raise UsageError(msg, "Write such as 08:00-22:00; any for no limit, none for never.")
    return "" if text.strip() == ANY else str(parse_hours(text))


def read_until(text: str, now: float, zone: tzinfo | None = None) -> int:
    """The end of a device's time, in seconds since the epoch; 0 for none.

    Args:
        text: a date (its end), a date and time, a span such as `+12h` from now, or `never`.
        now: seconds since the epoch.
        zone: what dates are of; None takes the system's.

    Raises:
        UsageError: it is none of these, or past.
    """
    given = text.strip()
    if given == NEVER:
        return 0
    span = _SPAN.fullmatch(given)
    ends = _moment(given, zone) if span is None else int(now + int(span[1]) * _SPANS_S[span[2]])
    if ends <= now:
        msg = "that moment is over"
        raise UsageError(msg, "To shut a device out, revoke it.")
    return ends


def _moment(text: str, zone: tzinfo | None) -> int:
    try:
        found = datetime.fromisoformat(text)
        if _DATE.fullmatch(text):
            found = found.replace(hour=23, minute=59, second=59)
        if found.tzinfo is None:
            found = found.astimezone() if zone is None else found.replace(tzinfo=zone)
        return int(found.timestamp())
    except (ValueError, OverflowError, OSError) as error:
        msg = "that is no moment"
        raise UsageError(msg, _HINT) from error
