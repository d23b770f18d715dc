"""What a node allows this phone, and what is left of it, in words and for `--json`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from homing_core.nodes import OwnLimits

_HOUR_S: Final = 3600


def limits_left(own: OwnLimits | None) -> str:
    """What a person wants to know, to stand behind a node's state; empty where nothing is limited.

    Patterns of models and tools are not among it: what may be used is listed anyway.
    """
    if own is None:
        return ""
    limits, said = own.limits, list[str]()
    if limits.tokens_per_day:
        said.append(f"{own.tokens_left:,} of {limits.tokens_per_day:,} tokens a day left")
    if limits.hours:
        closed = f" (opens in {-(-own.opens_in_s // _HOUR_S)} h)" if own.opens_in_s else ""
        said.append(f"hours {limits.hours}{closed}")
    if limits.expires_at:
        until = datetime.fromtimestamp(limits.expires_at, UTC).astimezone()
        said.append(f"until {until.strftime('%Y-%m-%d %H:%M')}")
    return "".join(f"; {words}" for words in said)


def limits_object(own: OwnLimits) -> dict[str, Any]:
    """As `--json` prints it; null is no limit."""
    limits = own.limits
    return {
        "tokens_per_day": limits.tokens_per_day or None,
        "tokens_left": own.tokens_left if limits.tokens_per_day else None,
        "concurrent_streams": limits.concurrent_streams or None,
        "jobs": limits.jobs or None,
        "models": list(limits.models) or None,
        "tools": list(limits.tools) or None,
        "expires_at": limits.expires_at or None,
        "hours": limits.hours or None,
        "opens_in_seconds": own.opens_in_s,
    }
