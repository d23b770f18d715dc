"""What limits mean: patterns, the tighter of two, and what each allows. Pure.

In `Limits`, 0 or empty means no limit of that kind. Where nothing at all is allowed, models, tools
or hours are the one word `none`; for a number the device's scope is taken away instead.

A pattern is matched as a shell does (`*`, `?`, `[ab]`), with regard to case, against the whole
name. ` & ` within one joins patterns that must all match: so the tighter of two lists is a list
again, and exact.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from homing_core.access import Limits
from homing_core.errors import UsageError
from homing_core.hours import parse_hours

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOTHING: Final = "none"
"""As the only pattern: nothing is allowed. No model or tool can have this name."""
BOTH: Final = " & "
MAX_PATTERNS: Final = 32
"""Patterns of one kind that a person or another node may set."""
MAX_PATTERN_CHARS: Final = 256
MOST: Final = (1 << 53) - 1
"""The highest number in limits: what JSON keeps exactly."""
LAST_MOMENT: Final = 253_402_214_400
"""The last day of the year 9999, seconds since the epoch: what every calendar can show."""
_MOST_STREAMS: Final = (1 << 32) - 1
_JOINED: Final = 8
"""Patterns that one may be joined of, where the tighter of several lists was taken."""
_WORTH_TIDYING: Final = 128
_SPECIAL: Final = frozenset("*?[")


def matches(patterns: Sequence[str], names: Iterable[str]) -> bool:
    """Whether one of the names is allowed; no pattern allows everything."""
    if not patterns:
        return True
    known = tuple(names)
    return any(
        all(fnmatchcase(name, part) for part in pattern.split(BOTH))
        for pattern in patterns
        if pattern != NOTHING
        for name in known
    )


def may_use_model(limits: Limits, *names: str) -> bool:
    """Whether a model that goes by these names may be used."""
    return matches(limits.models, names)


def may_use_tool(limits: Limits, name: str, server: str = "") -> bool:
    """Whether a home tool may be listed and run.

    Args:
        limits: of the device.
        name: the tool's own.
        server: MCP server or built-in group; the pattern is matched against `server.name`.
    """
    return matches(limits.tools, (f"{server}.{name}" if server else name,))


def may_start_job(limits: Limits, unended: int) -> bool:
    """Whether a device with so many jobs that have not ended may submit another."""
    return not limits.jobs or unended < limits.jobs


def stricter(one: Limits, two: Limits) -> Limits:
    """What both allow: for each kind the tighter of the two, exactly."""
    return Limits(
        tokens_per_day=_lower(one.tokens_per_day, two.tokens_per_day),
        concurrent_streams=_lower(one.concurrent_streams, two.concurrent_streams),
        jobs=_lower(one.jobs, two.jobs),
        models=_both(one.models, two.models),
        tools=_both(one.tools, two.tools),
        expires_at=_lower(one.expires_at, two.expires_at),
        hours=_both_hours(one.hours, two.hours),
    )


def checked_limits(limits: Limits, patterns: int = MAX_PATTERNS) -> Limits:
    """Limits as a person or another node may set them, tidied.

    Args:
        limits: what was said.
        patterns: of one kind at most.

    Raises:
        UsageError: a number is negative or too high, hours are malformed, or a list is too long.
    """
    for what, number, most in (
        ("tokens a day", limits.tokens_per_day, MOST),
        ("streams at once", limits.concurrent_streams, _MOST_STREAMS),
        ("jobs", limits.jobs, _MOST_STREAMS),
        ("end", limits.expires_at, LAST_MOMENT),
    ):
        if not 0 <= number <= most:
            msg = f"the limit on {what} is not between 0 and {most:,}"
            raise UsageError(msg, "0 is no limit.")
    hours = str(parse_hours(limits.hours)) if limits.hours.strip() else ""
    return replace(
        limits,
        models=_checked(limits.models, patterns, "models"),
        tools=_checked(limits.tools, patterns, "tools"),
        hours=hours,
    )


def _checked(patterns: Sequence[str], most: int, what: str) -> tuple[str, ...]:
    tidy = tuple(dict.fromkeys(pattern.strip() for pattern in patterns))
    if len(tidy) > most:
        msg = f"there are more than {most} patterns for {what}"
        raise UsageError(msg, "Put several into one with * and ?.")
    longest = MAX_PATTERN_CHARS * (1 if most == MAX_PATTERNS else _JOINED)
    if any(not pattern or len(pattern) > longest for pattern in tidy):
        msg = f"a pattern for {what} is empty or longer than {longest} characters"
        raise UsageError(msg, "Correct it.")
    if NOTHING in tidy and len(tidy) > 1:
        msg = f"{NOTHING} stands beside other {what}"
        raise UsageError(msg, f"{NOTHING} alone allows nothing.")
    return tidy


def _lower(one: int, two: int) -> int:
    return min(one, two) if one and two else one or two


def _both(one: Sequence[str], two: Sequence[str]) -> tuple[str, ...]:
    """Patterns for what a pattern of each list matches."""
    if not one or not two:
        return tuple(one or two)
    found: dict[str, None] = {}
    for left in one:
        for right in two:
            joined = _joined(left, right)
            if joined:
                found[joined] = None
    kept = list(found)
    if len(kept) <= _WORTH_TIDYING:
        # What is there already needs no narrower form beside it.
        kept = [p for p in found if not any(_within(p, other) for other in found if other != p)]
    return tuple(kept) or (NOTHING,)


def _joined(left: str, right: str) -> str:
    """One pattern for what both match; empty if that is nothing."""
    if NOTHING in {left, right}:
        return ""
    for plain, other in ((left, right), (right, left)):
        if not _SPECIAL & set(plain) and BOTH not in plain:
            return plain if matches((other,), (plain,)) else ""
    parts = dict.fromkeys((*left.split(BOTH), *right.split(BOTH)))
    if len(parts) > 1:
        parts.pop("*", None)
    return BOTH.join(parts)


def _within(pattern: str, other: str) -> bool:
    """Whether what `pattern` matches is plainly matched by `other`, which is not the same."""
    if not _SPECIAL & set(pattern) and BOTH not in pattern:
        return matches((other,), (pattern,))
    return set(other.split(BOTH)) < set(pattern.split(BOTH))


def _both_hours(one: str, two: str) -> str:
    if not one or not two:
        return one or two
    return str(parse_hours(one).both(parse_hours(two)))
