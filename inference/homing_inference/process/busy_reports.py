"""When a child says how busy its engine is. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_inference.engine import EngineState

SHORTEST_S: Final = 0.25
"""Between two reports, so that they cost nothing. An engine that works is not held up for one
sooner than this after a change either: a first token that is near comes first."""
LONGEST_S: Final = 2.0
"""Between two reports of an engine that works, so that a hang is noticed."""


class BusyReports:
    """Remembers what was said, and decides whether something is to be said now."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self._said: tuple[object, ...] | None = None
        self._said_at = float("-inf")
        self._changed_at: float | None = None

    def wait_s(self, state: EngineState, now: float) -> float | None:
        """Seconds until the next report is due: 0 if it is now, None if nothing is to be said.

        Args:
            state: how busy the engine is.
            now: monotonic seconds.
        """
        works = bool(state.running or state.waiting)
        if _essence(state) == self._said:
            self._changed_at = None
            return max(0.0, LONGEST_S - (now - self._said_at)) if works else None
        if self._changed_at is None:
            self._changed_at = now
        since = self._changed_at if works else self._said_at
        return max(0.0, SHORTEST_S - (now - since))

    def said(self, state: EngineState, now: float) -> None:
        """It was reported."""
        self._said = _essence(state)
        self._said_at = now
        self._changed_at = None


def _essence(state: EngineState) -> tuple[object, ...]:
    """What others act on; memory, and speeds once they are known, always change a little."""
    measured = state.decode_tokens_per_second > 0, state.prefill_tokens_per_second > 0
    return state.running, state.waiting, state.warm, measured
