"""How many calls a device makes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_core.ids import DeviceId

FLOOD_BURSTS: Final = 10
"""So many bursts refused within few seconds are no busy device but a flood."""
_FORGIVEN_S: Final = 4.0
"""Seconds in which a burst of refused calls is forgiven."""
_IMPATIENT: Final = 4.0
"""So many times as often as its rate a device may be refused for ever: one that waits as it is told
is refused as often as it is let in."""
_KEPT: Final = 4096
"""Buckets that are kept; then full ones, which remember nothing, are dropped."""


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float
    refused: float = 0.0


class CallRates:
    """A token bucket for each account.

    Args:
        per_second: calls that one account may make, on average.
        burst: calls that it may make at once after a rest.
    """

    def __init__(self, per_second: float, burst: int) -> None:
        """Every bucket is full."""
        self._per_second = per_second
        self._burst = float(burst)
        self._buckets: dict[DeviceId, _Bucket] = {}

    def take(self, account: DeviceId, now: float) -> float:
        """Count a call; 0 if it may be made, else seconds after which it may.

        Args:
            account: who calls.
            now: monotonic seconds.
        """
        bucket = self._buckets.get(account)
        if bucket is None:
            self._tidy(now)
            bucket = self._buckets[account] = _Bucket(self._burst, now)
        forgiven = self._burst / _FORGIVEN_S + self._per_second * _IMPATIENT
        bucket.refused = max(bucket.refused - max(now - bucket.at, 0.0) * forgiven, 0.0)
        bucket.level = self._level(bucket, now)
        bucket.at = now
        if bucket.level < 1:
            # No more than twice as many are remembered, so that a flood is over once it ends.
            bucket.refused = min(bucket.refused + 1, 2 * FLOOD_BURSTS * self._burst)
            return (1 - bucket.level) / self._per_second
        bucket.level -= 1
        return 0.0

    def floods(self, account: DeviceId) -> bool:
        """Whether so many of its last calls were refused that it does not even listen."""
        bucket = self._buckets.get(account)
        return bucket is not None and bucket.refused >= FLOOD_BURSTS * self._burst

    def _level(self, bucket: _Bucket, now: float) -> float:
        return min(self._burst, bucket.level + max(now - bucket.at, 0.0) * self._per_second)

    def _tidy(self, now: float) -> None:
        if len(self._buckets) >= _KEPT:
            self._buckets = {
                account: bucket
                for account, bucket in self._buckets.items()
                if self._level(bucket, now) < self._burst or bucket.refused
            }
