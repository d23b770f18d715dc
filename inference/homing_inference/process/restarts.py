"""When an engine that stopped is started again, and when it is given up. Pure but for the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.errors import UnavailableError

if TYPE_CHECKING:
    from homing_core.clock import Clock

CRASH_LIMIT: Final = 3
"""Crashes within `CRASH_WINDOW_S` after which an engine is left alone."""
CRASH_WINDOW_S: Final = 60.0
"""Seconds; also for how long it is left alone, counted from its last crash."""


class CrashLog:
    """Remembers when an engine stopped by itself.

    Args:
        model: what to call it in an error.
        clock: monotonic time.
    """

    def __init__(self, model: str, clock: Clock) -> None:
        """No crash yet."""
        self._model = model
        self._clock = clock
        self._crashes: list[float] = []
        self._given_up = False

    def record(self) -> None:
        """It stopped now."""
        now = self._clock.monotonic()
        self._crashes = [at for at in self._crashes if now - at < CRASH_WINDOW_S]
        self._crashes.append(now)
        self._given_up = self._given_up or len(self._crashes) >= CRASH_LIMIT

    def clear(self) -> None:
        """Somebody wants it to be tried again."""
        self._crashes.clear()
        self._given_up = False

    @property
    def given_up(self) -> bool:
        """Whether it is to be left alone for now."""
        if self._given_up and self._clock.monotonic() - self._crashes[-1] >= CRASH_WINDOW_S:
            self.clear()
        return self._given_up

    def check(self) -> None:
        """Refuse to start it while it is given up.

        Raises:
            UnavailableError: it stopped too often lately.
        """
        if self.given_up:
            msg = f"the model {self._model} stopped {CRASH_LIMIT} times within a minute"
            hint = "It is tried again in a minute; use another model, or look into the log."
            raise UnavailableError(msg, hint)
