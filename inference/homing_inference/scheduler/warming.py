"""Computing a prefix before anybody needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.scheduler.tasks import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from homing_core.errors import HomingError
    from numpy.typing import NDArray

    from homing_inference.engine import WarmedPrefix
    from homing_inference.scheduler.parts import Memory
    from homing_inference.scheduler.tasks import Demand


class Warming(Task):
    """Computes a prefix so that it is pinned.

    Args:
        demand: of the prefix alone.
        prefix: what it becomes.
        done: told how it ended.
    """

    def __init__(
        self,
        demand: Demand,
        prefix: WarmedPrefix,
        done: Callable[[WarmedPrefix | HomingError], None],
    ) -> None:
        """It waits."""
        super().__init__(demand)
        self.prefix = prefix
        self._waiting = [done]

    def join(self, done: Callable[[WarmedPrefix | HomingError], None]) -> None:
        """Somebody else wants the same."""
        self._waiting.append(done)

    @property
    def sequences(self) -> int:
        """That are reserved for it while it runs."""
        return self.demand.sequences

    @property
    def wants_scores(self) -> bool:
        """Nothing is written behind it."""
        return False

    def prompt_computed(self, scores: NDArray[np.float32] | None, memory: Memory) -> None:
        """The scheduler pinned it."""
        del scores, memory
        self._tell(self.prefix)

    def fail(self, error: HomingError) -> None:
        """Say why."""
        self._tell(error)

    def _tell(self, outcome: WarmedPrefix | HomingError) -> None:
        self.ended = True
        for done in self._waiting:
            done(outcome)
