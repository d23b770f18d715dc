"""Wall times as a person reads them."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> str:
    """A wall time in the local time zone, to the minute; `never` for 0, `?` for what is no time.

    Args:
        seconds: since the epoch; from anywhere.
    """
    if not seconds:
        return "never"
    try:
        return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return "?"
