"""How many calls a device makes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_core.ids import DeviceId

_KEPT: Final = 4096
"""Buckets that are kept; then full ones, which remember nothing, are dropped."""


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


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
        bucket.level = self._level(bucket, now)
        bucket.at = now
        if bucket.level < 1:
            return (1 - bucket.level) / self._per_second
        bucket.level -= 1
        return 0.0

    def _level(self, bucket: _Bucket, now: float) -> float:
        return min(self._burst, bucket.level + max(now - bucket.at, 0.0) * self._per_second)

    def _tidy(self, now: float) -> None:
        if len(self._buckets) >= _KEPT:
            self._buckets = {
                account: bucket
                for account, bucket in self._buckets.items()
                if self._level(bucket, now) < self._burst
            }
