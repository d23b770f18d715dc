"""How many threads an engine may use now, beside the other engines of this machine.

ggml's threads spin while they wait for each other. Where more of them run than there are cores,
each waits for one that does not run, and speed collapses. So engines that compute at the same
time divide the cores among them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from homing_inference.machine.busy_engines import BusyEngines
from homing_inference.machine.threads import default_threads

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REFRESH_S: Final = 0.25
"""How old the count of the other engines may be, in seconds."""


class ThreadShare:
    """One engine's share of the cores. Belongs to one thread.

    Call `busy` when the engine begins to compute and `idle` when it stops; `now` before each
    computation is cheap.

    Args:
        threads: a fixed number, which switches sharing off: others still see this engine, but it
            takes what it was told. 0 shares.
        cores: to share; 0 is what suits the machine, see `default_threads`.
        folder: where engines say that they compute; None takes this user's runtime folder.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        threads: int = 0,
        *,
        cores: int = 0,
        folder: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is computed yet."""
        self._fixed = threads
        self._cores = cores or default_threads()
        self._clock = clock
        self._engines = BusyEngines(folder)
        self._busy = False
        self._others = 0
        self._counted_at = -REFRESH_S

    def busy(self) -> None:
        """The engine computes from now on; harmless when repeated."""
        if not self._busy:
            self._busy = True
            self._engines.busy()

    def idle(self) -> None:
        """The engine computes no more; harmless when repeated."""
        if self._busy:
            self._busy = False
            self._engines.idle()

    def now(self) -> int:
        """Threads to compute with; at least 1."""
        at = self._clock()
        if at - self._counted_at >= REFRESH_S:
            self._counted_at = at
            if self._busy:
                self._engines.busy()  # if it could not say so at the first attempt
            self._others = 0 if self._fixed else self._engines.count_others()
        return self._fixed or share_of(self._cores, self._others)

    def close(self) -> None:
        """Give up the place among the engines; harmless when repeated."""
        self._busy = False
        self._engines.close()


def share_of(cores: int, others: int) -> int:
    """Threads for one of several engines that compute on as many cores; at least 1."""
    return max(1, cores // (1 + others))
