"""Limits as people type them, alike on the node and on an owner's phone. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
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
_SPAN: Final = re.compile(r"\+?([0-9]{1,6})([mhdw])")
_SPANS_S: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_FORMS: Final = ("%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
_HINT: Final = "Write it as 2027-01-31, 2027-01-31 18:00, 12h, 30d or never."


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


def read_names(text: str) -> tuple[str, ...]:
    """Names or patterns, apart by commas; `any` for no limit, `none` for nothing at all."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    return () if names == (ANY,) else names


def read_hours(text: str) -> str:
    """Hours of use; `any` for no limit, `none` for never.

    Raises:
        UsageError: they are malformed.
    """
    return "" if text.strip() == ANY else str(parse_hours(text))


def read_until(text: str, now: float, zone: tzinfo | None = None) -> int:
    """The end of a device's time, in seconds since the epoch; 0 for none.

    Args:
        text: a date (its end), a date and time, a span such as `12h` or `30d` from now, or `never`.
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
        msg = "that end is past"
        raise UsageError(msg, "To shut a device out, revoke it.")
    return ends


def _moment(text: str, zone: tzinfo | None) -> int:
    for form in _FORMS:
        try:
            found = datetime.strptime(text, form)  # noqa: DTZ007  # put into the zone next
            if form == _FORMS[-1]:
                found += timedelta(days=1)
            local = found.astimezone() if zone is None else found.replace(tzinfo=zone)
            return int(local.astimezone(UTC).timestamp())
        except (ValueError, OverflowError, OSError):
            continue
    msg = "that is no date or span of time"
    raise UsageError(msg, _HINT)
