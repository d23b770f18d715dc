"""How long an operator's pattern may take on a text that was made for it. Pure.

Python's engine tries every way in which a text can be shared out among the repeated parts of a
pattern, so a few of them and a few thousand characters keep it busy for seconds, and a repeated
group with another repeat in it for ever. The number of ways is bounded here from the pattern alone,
before anything is matched.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

_MOST_WAYS: Final = 2_000_000
"""About a tenth of a second."""
_MOST_COUNT: Final = 1 << 16
_TOKEN: Final = re.compile(
    r"""
    (?P<back>\\[1-9]|\(\?P=\w+\))                  # what a group has taken, again
    |(?P<single>\\.|\[\^?\]?(?:\\.|[^\]\\])*\])    # an escaped character; a set
    |(?P<open>\((?:\?(?:P<\w+>|[:=!]|<[=!]|[aiLmsu]+\))|(?!\?)))
    |(?P<odd>\(\?)                                 # comments, conditions, other modes
    |(?P<close>\))
    |(?P<or>\|)
    |(?P<count>[*+?]|\{\d*(?:,\d*)?\})(?P<manner>[?+]?)
    |(?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(slots=True)
class _Part:
    """Ways to match a part: a factor, and how many of its repeats have no end."""

    factor: int = 1
    endless: int = 0


@dataclass(slots=True)
class _Group:
    """A group that is being read: its alternatives, and the newest of them."""

    done: list[_Part] = field(default_factory=list["_Part"])
    now: _Part = field(default_factory=_Part)

    def whole(self) -> _Part:
        parts = [*self.done, self.now]
        return _Part(sum(one.factor for one in parts), max(one.endless for one in parts))


def why_too_slow(pattern: str, most_chars: int) -> str:
    """Why a pattern is not taken, for the operator; empty if it is.

    Args:
        pattern: a regular expression that Python compiles.
        most_chars: of the texts that it is tried on.
    """
    reading = _Reading(most_chars)
    for token in _TOKEN.finditer(pattern):
        reading.take(token)
        if reading.refusal:
            return reading.refusal
    if reading.ways() > _MOST_WAYS:
        return (
            f"a hostile text of {most_chars} characters could make it take too long; "
            "repeat less in it, say how often, or lower max_length"
        )
    return ""


@dataclass(slots=True)
class _Reading:
    """A pattern while it is read."""

    most_chars: int
    groups: list[_Group] = field(default_factory=lambda: [_Group()])
    looks: bool = False
    after_group: bool = False
    refusal: str = ""

    def take(self, token: re.Match[str]) -> None:
        group = self.groups[-1]
        kind = token.lastgroup
        match kind:
            case "odd":
                self.refusal = "it holds a comment, a condition or a mode that is not taken here"
            case "open":
                self._open(token.group())
            case "or":
                group.done.append(group.now)
                group.now = _Part()
            case "close":
                self._close()
            case "back":
                group.now.endless += 1
            case "manner":
                self._repeat(group.now, token.group("count"))
            case _:
                pass
        self.after_group = kind == "close"

    def ways(self) -> int:
        """In how many ways a text can be shared out among the repeats."""
        whole = self.groups[0].whole()
        if self.looks:  # what looks ahead or behind begins anew, so its repeats share nothing
            return whole.factor * int((self.most_chars + 1) ** whole.endless)
        return whole.factor * math.comb(self.most_chars + whole.endless, whole.endless)

    def _open(self, opened: str) -> None:
        self.looks = self.looks or opened[-1] in "=!"
        if not opened.endswith(")"):  # otherwise a mode for the whole
            self.groups.append(_Group())

    def _close(self) -> None:
        inner = self.groups.pop().whole()
        outer = self.groups[-1].now
        outer.factor *= inner.factor
        outer.endless += inner.endless

    def _repeat(self, part: _Part, count: str) -> None:
        low, high = _bounds(count)
        if self.after_group and high != 1:
            self.refusal = "a group in it is repeated, which a hostile text can make take for ever"
        elif high is None or high >= self.most_chars:
            part.endless += 1
        else:
            part.factor *= high - low + 1


def _bounds(count: str) -> tuple[int, int | None]:
    """How often something is repeated, at least and at most; None is without end."""
    if count in {"*", "+"}:
        return 0, None
    if count == "?":
        return 0, 1
    low, comma, high = count[1:-1].partition(",")
    least = min(int(low or 0), _MOST_COUNT)
    if not comma:
        return least, least
    return least, min(int(high), _MOST_COUNT) if high else None
