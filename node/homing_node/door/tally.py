"""Counts what is refused, so that a flood is told in few words. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_node.door.floor import Reason

MOST: Final = 128
"""Different addresses and reasons in one report; what is beyond is counted without the address."""


class Tally:
    """Refusals since the last report."""

    def __init__(self) -> None:
        """None."""
        self._counts: Counter[tuple[str, Reason]] = Counter()

    def __bool__(self) -> bool:
        """Whether there is anything to report."""
        return bool(self._counts)

    def add(self, address: str, reason: Reason) -> None:
        """Count one."""
        key = address, reason
        if key not in self._counts and len(self._counts) >= MOST:
            key = "", reason
        self._counts[key] += 1

    def take(self) -> list[tuple[str, Reason, int]]:
        """Address, reason and how often; begins anew."""
        found = [(address, reason, count) for (address, reason), count in self._counts.items()]
        self._counts.clear()
        return found
