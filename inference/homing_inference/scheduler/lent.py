"""Sequences lent to a task that forks, so that it takes none that others were promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.scheduler.parts import Memory


class LentSequences:
    """What a scorer needs of the memory; see `SequenceMemory`.

    Args:
        memory: the real ones.
        spare: how many more may be taken now.
    """

    def __init__(self, memory: Memory, spare: Callable[[], int]) -> None:
        """None is taken."""
        self._memory = memory
        self._spare = spare
        self._forked: set[int] = set()

    @property
    def forks(self) -> int:
        """How many are taken."""
        return len(self._forked)

    @property
    def batch_tokens(self) -> int:
        """See `Sequences`."""
        return self._memory.batch_tokens

    @property
    def score_rows(self) -> int:
        """See `Sequences`."""
        return self._memory.score_rows

    @property
    def free_sequences(self) -> int:
        """How many can still be forked."""
        return max(min(self._memory.free_sequences, self._spare()), 0)

    def length(self, sequence: int) -> int:
        """See `Sequences`."""
        return self._memory.length(sequence)

    def fork(self, source: int) -> int:
        """See `Sequences`."""
        child = self._memory.fork(source)
        self._forked.add(child)
        return child

    def prefill(
        self, sequence: int, tokens: Sequence[int], *, scores_at: Sequence[int] = ()
    ) -> list[NDArray[np.float32]]:
        """See `Sequences`."""
        return self._memory.prefill(sequence, tokens, scores_at=scores_at)

    def step(self, tokens: Mapping[int, int]) -> dict[int, NDArray[np.float32]]:
        """See `Sequences`."""
        return self._memory.step(tokens)

    def close(self, sequence: int) -> None:
        """See `Sequences`."""
        self._forked.discard(sequence)
        self._memory.close(sequence)
