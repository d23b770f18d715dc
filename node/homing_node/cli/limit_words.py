"""Limits as a person writes and reads them on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.limit_words import read_hours, read_names, read_number, read_until

if TYPE_CHECKING:
    from homing_core.access import Limits

until = read_until


def number(text: str | None, what: str) -> int | None:
    """As `read_number`; None where nothing was written."""
    return None if text is None else read_number(text, what)


def names(text: str | None) -> tuple[str, ...] | None:
    """As `read_names`; None where nothing was written."""
    return None if text is None else read_names(text)


def hours(text: str | None) -> str | None:
    """As `read_hours`; None where nothing was written."""
    return None if text is None else read_hours(text)


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
