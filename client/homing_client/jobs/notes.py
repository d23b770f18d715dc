"""Writing down how far a job is, not more often than is of use."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.jobs import JobEvent

NOTE_S: Final = 0.5
"""Progress is written down this often at most, in seconds; a new state at once."""


class Notes:
    """The newest event of one job, until it is written. Belongs to one event loop.

    Args:
        write: writes an event down; may raise `HomingError`.
    """

    def __init__(self, write: Callable[[JobEvent], None]) -> None:
        """Nothing has happened."""
        self._write = write
        self._newest: JobEvent | None = None
        self._written: JobEvent | None = None
        self._timer: asyncio.TimerHandle | None = None

    def take(self, event: JobEvent) -> None:
        """An event, newer than those before.

        Raises:
            HomingError: it could not be written down.
        """
        self._newest = event
        if self._written is None or event.state is not self._written.state:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(NOTE_S, self._late)

    def close(self) -> None:
        """Write what is left; raises as `take`."""
        self._flush()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._newest is not None and self._newest is not self._written:
            self._write(self._newest)
            self._written = self._newest

    def _late(self) -> None:
        self._timer = None
        try:
            self._flush()
        except HomingError:  # nobody is there to be told; the next event tries again
            return
