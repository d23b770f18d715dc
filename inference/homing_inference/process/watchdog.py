"""Notices that somebody who has something to do says nothing any more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_GRACE_S: Final = 1.0


class Watchdog:
    """Calls for help after a silence. Belongs to one event loop.

    Silence is noticed twice, a moment apart, before it counts: if this process itself stood still,
    what was said meanwhile is read in between.

    Args:
        silence_s: seconds without a word that are too long.
        busy: whether there is something to do; who has nothing to do may be silent.
        on_silence: called once for each silence.
    """

    def __init__(
        self, silence_s: float, busy: Callable[[], bool], on_silence: Callable[[], None]
    ) -> None:
        """Nothing is watched yet."""
        self._silence_s = silence_s
        self._busy = busy
        self._on_silence = on_silence
        self._heard_at = 0.0
        self._suspicious = False
        self._timer: asyncio.TimerHandle | None = None

    def heard(self) -> None:
        """A word came."""
        self._heard_at = asyncio.get_running_loop().time()
        self._suspicious = False

    def asked(self) -> None:
        """Call this before something is asked: from now on a silence counts."""
        if not self._busy():
            self.heard()  # what was silent until now had nothing to do
        if self._timer is None:
            self._look_in(self._silence_s)

    def stop(self) -> None:
        """Watch no more; harmless when repeated."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._busy():
            return
        rest = self._heard_at + self._silence_s - asyncio.get_running_loop().time()
        if rest > 0:
            self._look_in(rest)
        elif not self._suspicious:
            self._suspicious = True
            self._look_in(min(_GRACE_S, self._silence_s))
        else:
            self._suspicious = False
            self._on_silence()
