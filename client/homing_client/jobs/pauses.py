"""How long to wait before a node is asked again. Errors that time heals, and the waits. Pure."""

from __future__ import annotations

from typing import Final

from homing_core.errors import HomingError, IntegrityError, OverloadedError, UnavailableError

PAUSES_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Waits after failures in a row, in seconds; the last repeats."""
SLOW_S: Final = 600.0
"""Wait after a failure that only a person can end."""
LEAST_S: Final = 1.0
"""Where a node has just proven itself, it is asked again after this long at most."""


def passing(error: HomingError) -> bool:
    """Whether trying again may help: the node is away, busy, or another answers at its address."""
    return isinstance(error, UnavailableError | OverloadedError | IntegrityError)


class Pauses:
    """The waits of one job."""

    def __init__(self) -> None:
        """Nothing has failed yet."""
        self._failures = 0

    def clear(self) -> None:
        """It went well."""
        self._failures = 0

    def next_s(self, error: HomingError) -> float:
        """How long to wait now, in seconds."""
        pause = PAUSES_S[min(self._failures, len(PAUSES_S) - 1)]
        self._failures += 1
        if not passing(error):
            return SLOW_S
        if isinstance(error, OverloadedError):
            return max(pause, error.retry_after_ms / 1000)
        return pause
