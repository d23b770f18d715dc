"""What a context reserves, and how its computations end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

_LEAST_ROWS: Final = 16


class Outcome(Enum):
    """How a computation ended.

    Attributes:
        DONE: the scores are there.
        NO_ROOM: no cells are free for it; nothing changed.
        REFUSED: llama.cpp found the batch wrong; nothing changed.
        FAILED: it broke off in the middle.
    """

    DONE = 0
    NO_ROOM = 1
    REFUSED = 2
    FAILED = 3


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a context reserves.

    Attributes:
        cells: of its attention cache, shared by all sequences; rounded up to blocks of 256.
        sequences: ids 0 to this.
        batch_tokens: computed at once.
        threads: that compute.
        vectors: whether tokens' vectors are wanted rather than scores.
    """

    cells: int
    sequences: int
    batch_tokens: int
    threads: int
    vectors: bool = False

    @property
    def score_rows(self) -> int:
        """Rows of scores that one computation may give.

        llama.cpp reserves as many in its buffers, each as wide as the vocabulary (1 MB for a
        vocabulary of 248,000), by default one for every token of a batch.
        """
        if self.vectors:
            return self.batch_tokens
        return min(self.batch_tokens, max(_LEAST_ROWS, self.sequences))
