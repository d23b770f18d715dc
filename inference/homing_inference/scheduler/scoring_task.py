"""A request for scores, from the queue to its end."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from homing_core.errors import InternalError

from homing_inference.scheduler.lent import LentSequences
from homing_inference.scheduler.tasks import Task
from homing_inference.scheduler.view import Phase
from homing_inference.scoring.scorer import Scorer

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from homing_core.errors import HomingError
    from homing_core.scoring import ToolScores
    from numpy.typing import NDArray

    from homing_inference.scheduler.parts import Memory
    from homing_inference.scheduler.tasks import Demand
    from homing_inference.scoring.score_plan import ScorePlan


class Scoring(Task):
    """Scores the tools behind a prompt.

    The scheduler computes the prompt up to the last place where a state is kept; the scorer does
    the rest, in units between the steps of answers.

    Args:
        demand: of the prompt.
        plan: what to score.
        spare: how many sequences it may take beside its own, asked at each unit.
        done: told how it ended.
    """

    def __init__(
        self,
        demand: Demand,
        plan: ScorePlan,
        spare: Callable[[Scoring], int],
        done: Callable[[ToolScores | HomingError], None],
    ) -> None:
        """It waits."""
        super().__init__(demand)
        self._plan = plan
        self._spare = spare
        self._done = done
        self._lent: LentSequences | None = None
        self._scorer: Scorer | None = None
        self._cached = 0
        self._promised = 0

    @property
    def sequences(self) -> int:
        """As many as it holds. One is kept for scoring beside those of answers."""
        return max(self.demand.sequences, self.forks)

    @property
    def forks(self) -> int:
        """Sequences beside its first."""
        return self._lent.forks if self._lent is not None else 0

    @property
    def wants_scores(self) -> bool:
        """The scorer computes the last token."""
        return False

    def growth(self, memory: Memory) -> int:
        """See `Task`."""
        return self._promised if self._scorer is not None else super().growth(memory)

    def begin(self, sequence: int, cached: int) -> None:
        """See `Task`."""
        super().begin(sequence, cached)
        self._cached = cached

    def prompt_computed(self, scores: NDArray[np.float32] | None, memory: Memory) -> None:
        """Hand the sequence over to the scorer."""
        del scores
        self._promised = super().growth(memory)
        self._lent = LentSequences(memory, lambda: self._spare(self))
        self._scorer = Scorer(self._lent, self.ids.pop(), self._plan)
        self.phase = Phase.WORK

    def work(self, tokens: int) -> None:
        """See `Task`."""
        if self._scorer is None:
            msg = "a scoring was not begun"
            raise InternalError(msg)
        if not self._scorer.advance(tokens):
            scores = dataclasses.replace(self._scorer.result(), cached_tokens=self._cached)
            self._scorer.close()
            self.ended = True
            self._done(scores)

    def fail(self, error: HomingError) -> None:
        """See `Task`."""
        self.ended = True
        if self._scorer is not None:
            self._scorer.close()
        self._done(error)
