"""Entries that paired devices and strangers can cause at will: so many a day, then counted.

The log keeps `MOST_ENTRIES` and the oldest go, whatever they are: a chain can only lose its
beginning. So whoever could write at will would push out the day he was let in. Of each kind here,
`ALONE` entries a day stand for themselves, `ALONE_OF_ONE` of them for one actor; what is more is
counted, and told as one entry an hour. That is

    8 kinds * (100 alone + 24 counts) = 992 entries a day,

so that 500,000 last for 504 days against everybody at once, longer than the 400 for which entries
are kept by default. What is left over, 258 a day, is for what people do: pairings, grants,
revocations, starts. The counts are in memory: a restart begins a new day.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from homing_crypto.audit.chain import Draft
from homing_crypto.audit.records import CONSOLE, NODE, AuditKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homing_core.canonical import JsonValue

GATHERED: Final = frozenset(
    kind.value
    for kind in (
        AuditKind.REFUSED,
        AuditKind.PAIRING_REFUSED,
        AuditKind.KEY_ROTATED,
        AuditKind.INTRODUCED,
        AuditKind.INTRODUCTION_REFUSED,
        AuditKind.WITHDRAWN,
        AuditKind.RECOVERY_REFUSED,
        AuditKind.RECOVERY_USED,
    )
)
ALONE: Final = 100
"""Entries of a kind that stand for themselves within `DAY_S`."""
ALONE_OF_ONE: Final = 40
"""Of these, by one actor: a flood of one leaves room for the others."""
DAY_S: Final = 24 * 60 * 60.0
COUNT_S: Final = 60 * 60.0
_MOST_NAMED: Final = 4


@dataclass(slots=True)
class _Day:
    since: float
    told_at: float
    alone: Counter[str] = field(default_factory=Counter[str])
    more: Counter[str] = field(default_factory=Counter[str])  # bounded by who is paired in an hour

    def takes(self, actor: str) -> bool:
        if self.alone[actor] >= ALONE_OF_ONE or self.alone.total() >= ALONE:
            return False
        self.alone[actor] += 1
        return True


class Gathering:
    """Decides which entries stand for themselves. Pure; not for several threads at once."""

    def __init__(self) -> None:
        """Nothing happened yet."""
        self._days: dict[str, _Day] = {}

    def take(self, draft: Draft, now: float) -> Iterator[Draft]:
        """What to write now that this happened: it itself, or nothing, and counts that are due.

        Args:
            draft: the entry.
            now: monotonic seconds.
        """
        yield from self.due(draft.at_ms, now)
        if not _is_gathered(draft):
            yield draft
            return
        day = self._days.get(draft.kind)
        if day is None or (now - day.since >= DAY_S and not day.more):
            day = self._days[draft.kind] = _Day(now, now)
        if day.takes(draft.actor):
            yield draft
        else:
            day.more[draft.actor] += 1

    def due(self, at_ms: int, now: float, *, all_of_it: bool = False) -> Iterator[Draft]:
        """The counts whose hour is over, or all of them.

        Args:
            at_ms: wall time, milliseconds since the epoch.
            now: monotonic seconds.
            all_of_it: whether to tell what is not due, too: nobody will ask later.
        """
        for kind, day in self._days.items():
            if day.more and (all_of_it or now - day.told_at >= COUNT_S):
                most: list[JsonValue] = [actor for actor, _ in day.more.most_common(_MOST_NAMED)]
                detail: dict[str, JsonValue] = {"more": day.more.total(), "by": most}
                day.more.clear()
                day.told_at = now
                yield Draft.of(at_ms / 1000, kind, NODE, detail=detail)


def _is_gathered(draft: Draft) -> bool:
    """What a person did at the console never is, nor the node's own new key: the chain needs it."""
    if draft.actor == CONSOLE or draft.kind not in GATHERED:
        return False
    return draft.kind != AuditKind.KEY_ROTATED.value or draft.actor != NODE
