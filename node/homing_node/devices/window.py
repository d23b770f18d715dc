"""How much was used in the last 24 hours. Pure.

Time here is the ledger's own (see `ledger_time`): it only goes on, so a clock that is set gives
nobody anything.
"""

from __future__ import annotations

from collections import deque
from typing import Final

DAY_S: Final = 24 * 3600.0
GRAIN_S: Final = 60.0
"""Uses within one grain are one sum; it leaves the window when its last moment does."""


class UsageWindow:
    """Tokens by minute, for as long as they count."""

    def __init__(self) -> None:
        """Nothing was used."""
        self._sums: deque[tuple[int, int]] = deque()
        self._total = 0

    def add(self, at: float, tokens: int) -> None:
        """Count tokens; a negative number takes back what was counted too much.

        Args:
            at: ledger time, seconds; not before that of the last call.
            tokens: how many.
        """
        grain = int(at // GRAIN_S)
        if self._sums and self._sums[-1][0] >= grain:
            last, sum_before = self._sums.pop()
            self._sums.append((last, sum_before + tokens))
        else:
            self._sums.append((grain, tokens))
        self._total += tokens

    def total(self, at: float) -> int:
        """Tokens of the 24 hours up to `at`, and of up to a minute more."""
        while self._sums and _ends(self._sums[0][0]) + DAY_S <= at:
            self._total -= self._sums.popleft()[1]
        return max(self._total, 0)

    def below_in(self, at: float, limit: int) -> float:
        """Seconds until fewer than `limit` tokens count, if no more are used; 0 if so now."""
        left = self.total(at)
        for grain, tokens in self._sums:
            if left < limit:
                break
            left -= tokens
            if left < limit:
                return max(_ends(grain) + DAY_S - at, 0.0)
        return 0.0 if left < limit else DAY_S

    def empty(self, at: float) -> bool:
        """Whether nothing counts any more."""
        self.total(at)
        return not self._sums


def _ends(grain: int) -> float:
    return (grain + 1) * GRAIN_S
