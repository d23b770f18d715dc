"""A job's events at the pace at which a person reads them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.clock import Clock
    from homing_core.jobs import JobEvent, JobState

_OFTEN_S: Final = 0.25
_SELDOM_S: Final = 5.0
_PACE: Final = 200
"""Progress is shown every 200th part of the time that the job has taken so far, within these two:
a person sees it move, and a job of a day fills no memory."""


class JobPace:
    """Shows a job's events at a person's pace; of those held back, the newest when it is due.

    A tool that goes quiet is thus seen where it is, and not where it was.

    Args:
        show: shows one.
        clock: where time comes from.
    """

    def __init__(self, show: Callable[[JobEvent], None], clock: Clock) -> None:
        """Nothing has come yet."""
        self._show = show
        self._clock = clock
        self._started = clock.monotonic()
        self._last = 0.0
        self._state: JobState | None = None
        self._due: asyncio.TimerHandle | None = None

    def see(self, event: JobEvent) -> None:
        """One has come."""
        now = self._clock.monotonic()
        pace = min(max((now - self._started) / _PACE, _OFTEN_S), _SELDOM_S)
        self.close()
        if _is_news(event.state, self._state) or now - self._last >= pace:
            self._now(event)
        else:
            delay = self._last + pace - now
            self._due = asyncio.get_running_loop().call_later(delay, self._now, event)

    def close(self) -> None:
        """Show nothing any more that was held back."""
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _now(self, event: JobEvent) -> None:
        self._last, self._state = self._clock.monotonic(), event.state
        self._show(event)


def _is_news(state: JobState, before: JobState | None) -> bool:
    return state.final or state is not before
