"""Fakes for core's boundaries. They ship with the package."""

from __future__ import annotations


class FakeClock:
    """Time that moves only when told to.

    Args:
        start: first wall time, seconds since the epoch.
    """

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        """Start the wall clock at `start` and the monotonic one at 0."""
        self._wall = start
        self._elapsed = 0.0

    def now(self) -> float:
        """Wall time in seconds since the epoch."""
        return self._wall

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass on both clocks."""
        self._wall += seconds
        self._elapsed += seconds
