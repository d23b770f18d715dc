"""How fast something goes. Pure."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_core.jobs import JobProgress

_WINDOW_S = 60.0
"""A rate is that of the last minute, by the node's clock."""
_SHORTEST_S = 0.5
"""Over less time than this a rate is only noise."""


class Pace:
    """How fast a job goes, from what its node said and when.

    It depends on no clock here, so that a record that comes all at once gives the same rate.
    """

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._points: deque[tuple[float, float]] = deque()

    def add(self, at: float, done: float) -> None:
        """At this time, in seconds, so much was done. Going back begins anew."""
        if self._points and (done < self._points[-1][1] or at < self._points[-1][0]):
            self._points.clear()
        self._points.append((at, done))
        while len(self._points) > 2 and at - self._points[1][0] >= _WINDOW_S:  # noqa: PLR2004
            self._points.popleft()

    def reset(self) -> None:
        """It did not go on for a while."""
        self._points.clear()

    @property
    def per_second(self) -> float:
        """Units a second; 0 if that is not known."""
        if not self._points:
            return 0.0
        (start, first), (now, last) = self._points[0], self._points[-1]
        return (last - first) / (now - start) if now - start >= _SHORTEST_S else 0.0

    def left_s(self, progress: JobProgress) -> float | None:
        """Seconds that it will still take; None if that is not known."""
        rate = self.per_second
        if rate <= 0 or progress.done >= progress.total:
            return None
        return (progress.total - progress.done) / rate
