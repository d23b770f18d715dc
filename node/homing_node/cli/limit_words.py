"""Limits as a person writes and reads them on the command line."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from homing_core.errors import UsageError
from homing_core.hours import parse_hours

if TYPE_CHECKING:
    from homing_core.access import Limits

UNLIMITED: Final = "unlimited"
_UNITS: Final = {"h": 3600, "d": 24 * 3600, "w": 7 * 24 * 3600}
_AHEAD: Final = re.compile(r"\+([0-9]{1,5})([hdw])")
_UNTIL_HINT: Final = "Write 2026-12-24, 2026-12-24T18:00, +12h, +7d, +2w or never."


def until(text: str, now: float) -> int:
    """A moment: a date (its end, in the local time zone), a date and time, `+7d`, or `never` (0).

    Args:
        text: as it was written.
        now: seconds since the epoch.

    Raises:
        UsageError: it is none, or is over.
    """
    wanted = text.strip()
    if wanted == "never":
        return 0
    ahead = _AHEAD.fullmatch(wanted)
    if ahead:
        at = now + int(ahead[1]) * _UNITS[ahead[2]]
    else:
        try:
            day = datetime.fromisoformat(wanted)
        except ValueError as error:
            msg = "that is no moment"
            raise UsageError(msg, _UNTIL_HINT) from error
        if len(wanted) <= len("2026-12-24"):
            day = day.replace(hour=23, minute=59, second=59)
        at = day.astimezone().timestamp() if day.tzinfo is None else day.timestamp()
    if at <= now:
        msg = "that moment is over"
        raise UsageError(msg, "To shut the device out: homing-node devices revoke.")
    return int(at)


def number(text: str | None, what: str) -> int | None:
    """A limit: a number above 0, or `unlimited` (0); None where nothing was written.

    Raises:
        UsageError: it is neither.
    """
    if text is None:
        return None
    if text.strip() == UNLIMITED:
        return 0
    plain = text.replace(",", "").replace("_", "").strip()
    if not plain.isdecimal() or not plain.isascii() or not int(plain):
        msg = f"{what} is neither a number above 0 nor {UNLIMITED}"
        raise UsageError(msg, "To allow none, take the scope away, such as: --scopes tools,jobs")
    return int(plain)


def names(text: str | None) -> tuple[str, ...] | None:
    """Patterns, with commas between; `any` is no limit, `none` allows nothing."""
    if text is None:
        return None
    if text.strip() in {"", "any"}:
        return ()
    return tuple(part.strip() for part in text.split(","))


def hours(text: str | None) -> str | None:
    """Hours of use; `any` is no limit, `none` is never.

    Raises:
        UsageError: they are malformed.
    """
    if text is None:
        return None
    if text.strip() in {"", "any"}:
        return ""
    return str(parse_hours(text))


def limit_lines(limits: Limits) -> list[tuple[str, str]]:
    """What is limited, field by field, in words."""
    from homing_node.cli.console import moment  # noqa: PLC0415  # keep help quick

    lines = [
        ("tokens_per_day", f"{limits.tokens_per_day:,} tokens a day", limits.tokens_per_day),
        ("concurrent_streams", f"{limits.concurrent_streams} at once", limits.concurrent_streams),
        ("jobs", f"{limits.jobs} jobs", limits.jobs),
        ("models", f"models {', '.join(limits.models)}", limits.models),
        ("tools", f"tools {', '.join(limits.tools)}", limits.tools),
        ("hours", f"{limits.hours}", limits.hours),
        ("expires_at", f"until {moment(limits.expires_at)}", limits.expires_at),
    ]
    return [(kind, words) for kind, words, limited in lines if limited]


def limit_object(limits: Limits) -> dict[str, Any]:
    """Limits as `--json` prints them; null is no limit."""
    return {
        "tokens_per_day": limits.tokens_per_day or None,
        "concurrent_streams": limits.concurrent_streams or None,
        "jobs": limits.jobs or None,
        "models": list(limits.models) or None,
        "tools": list(limits.tools) or None,
        "expires_at": limits.expires_at or None,
        "hours": limits.hours or None,
    }
