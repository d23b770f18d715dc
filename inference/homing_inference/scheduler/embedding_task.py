"""Texts that become vectors, one after the other between the steps of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.scheduler.tasks import Demand, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from homing_core.errors import HomingError
    from numpy.typing import NDArray

    from homing_inference.scheduler.parts import Memory

Vector = tuple[float, ...]


class Embedding(Task):
    """Makes a vector of each text. It takes no sequence of the scheduler's.

    Args:
        texts: at least one.
        embed: makes one vector.
        done: told how it ended.
    """

    def __init__(
        self,
        texts: Sequence[str],
        embed: Callable[[str], Vector],
        done: Callable[[tuple[Vector, ...] | HomingError], None],
    ) -> None:
        """It waits."""
        super().__init__(Demand(sequences=0))
        self._texts = tuple(texts)
        self._embed = embed
        self._done = done
        self._vectors: list[Vector] = []

    def prompt_computed(self, scores: NDArray[np.float32] | None, memory: Memory) -> None:
        """It has no prompt."""

    def work(self, tokens: int) -> None:
        """See `Task`."""
        del tokens
        self._vectors.append(self._embed(self._texts[len(self._vectors)]))
        if len(self._vectors) == len(self._texts):
            self.ended = True
            self._done(tuple(self._vectors))

    def fail(self, error: HomingError) -> None:
        """See `Task`."""
        self.ended = True
        self._done(error)
