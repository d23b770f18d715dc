"""When a child says how busy its engine is. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_inference.engine import EngineState

SHORTEST_S: Final = 0.25
"""Between two reports, so that they cost nothing."""
LONGEST_S: Final = 2.0
"""Between two reports of an engine that works, so that a hang is noticed."""


class BusyReports:
    """Remembers what was said, and decides whether something is to be said now."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._said: tuple[object, ...] | None = None
        self._said_at = float("-inf")

    def wait_s(self, state: EngineState, now: float) -> float | None:
        """Seconds until the next report is due: 0 if it is now, None if nothing is to be said.

        Args:
            state: how busy the engine is.
            now: monotonic seconds.
        """
        passed = now - self._said_at
        if _essence(state) != self._said:
            return max(0.0, SHORTEST_S - passed)
        if state.running or state.waiting:
            return max(0.0, LONGEST_S - passed)
        return None

    def said(self, state: EngineState, now: float) -> None:
        """It was reported."""
        self._said = _essence(state)
        self._said_at = now


def _essence(state: EngineState) -> tuple[object, ...]:
    """What others act on; speeds and memory always change a little."""
    return state.running, state.waiting, state.warm
