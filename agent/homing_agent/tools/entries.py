"""Reading entries that anyone may have written: times and texts, whatever shape they have."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from homing_core.labels import clean_label

if TYPE_CHECKING:
    from datetime import tzinfo

    from icalendar import Component

_MOST_TITLE = 120


def entry_time(entry: Component, name: str, zone: tzinfo) -> tuple[datetime | None, bool]:
    """A time property in the local zone, and whether it has a time of day.

    A property that is missing or broken gives None.
    """
    try:
        value: object = entry.decoded(name)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None, False
    try:
        if isinstance(value, datetime):
            # RFC 5545, 3.3.5: a time without a zone is local wherever it is read.
            aware = value if value.tzinfo is not None else value.replace(tzinfo=zone)
            return aware.astimezone(UTC).astimezone(zone), True
        if isinstance(value, date):
            return datetime.combine(value, time(), zone), False
    except (ValueError, OverflowError):
        return None, False
    return None, False


def entry_title(entry: Component) -> str:
    """Its summary, one clean line."""
    return clean_label(str(entry.get("SUMMARY", "")), _MOST_TITLE, "untitled")


def entry_done(entry: Component) -> bool:
    """Whether a to-do is completed or cancelled."""
    status = str(entry.get("STATUS", "")).upper()
    return status in {"COMPLETED", "CANCELLED"} or "COMPLETED" in entry


def entry_repeats(entry: Component) -> bool:
    """Whether it recurs. Occurrences are not worked out here."""
    return "RRULE" in entry or "RDATE" in entry
