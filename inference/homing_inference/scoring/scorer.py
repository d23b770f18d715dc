"""How a model leans to each tool after a prompt, computed as a few steps between others' steps.

The call's opening is computed together with the prompt's end, so the first two results come without
a step of their own: how likely a call is, and how the names begin. Then every branch that holds
several names and at least 1% of the mass is looked at, all of one level in one step.

    plan = planner.plan(prompt, names)
    scorer = Scorer(sequences, sequence, plan)  # the sequence holds a beginning of plan.prompt
    try:
        while scorer.advance():  # between others' steps
            ...
        scores = scorer.result()
    finally:
        scorer.close()  # also when cancelled
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from homing_core.errors import InternalError
from homing_core.scoring import NameScore, ToolScores

from homing_inference.scoring.name_search import NameSearch
from homing_inference.scoring.names import log_total

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.scoring.name_search import SequenceMemory
    from homing_inference.scoring.score_plan import ScorePlan

_LEAST: Final = 1e-300
"""Stands for a probability too small for a float."""


class Scorer:
    """One scoring in the making. Belongs to the thread of its sequences.

    Args:
        sequences: where to compute.
        sequence: holds a true beginning of the prompt (not its last token, whose scores are needed)
            or nothing. It belongs to the scorer from now on.
        plan: what to score.
    """

    def __init__(self, sequences: SequenceMemory, sequence: int, plan: ScorePlan) -> None:
        """Nothing is computed yet."""
        self._sequences = sequences
        self._sequence = sequence
        self._plan = plan
        self._tokens = plan.tokens
        self.cached_tokens: Final = sequences.length(sequence)
        self._computed = self.cached_tokens
        if self._computed > plan.call_at[0]:
            msg = "too much of a prompt is held already to score tools behind it"
            raise InternalError(msg)
        self._call_logprob = 0.0
        self._search = NameSearch(sequences, sequence, plan.trie, plan.floor)

    @property
    def prefilled(self) -> bool:
        """Whether prompt and opening are computed; then only `wanted` steps follow."""
        return self._computed == len(self._tokens)

    @property
    def finished(self) -> bool:
        """Whether `result` can be asked for."""
        return self.prefilled and self._search.finished

    def prefill(self, most: int | None = None) -> int:
        """Compute the next tokens of prompt and opening.

        Args:
            most: tokens at most; None for as many as fit a batch.

        Returns:
            How many there are still to compute.

        Raises:
            OverloadedError: there is no room; nothing changed, so it can be tried again.
            InternalError: the computation failed; close this.
        """
        limit = self._sequences.batch_tokens
        start = self._computed
        end = min(start + min(most or limit, limit), len(self._tokens))
        wanted = {*self._plan.call_at, self._plan.name_at}
        places = sorted(wanted.intersection(range(start, end)))
        rows = self._sequences.score_rows
        if len(places) > rows:
            end, places = places[rows], places[:rows]
        try:
            found = self._sequences.prefill(
                self._sequence,
                self._tokens[start:end],
                scores_at=[place - start for place in places],
            )
        except InternalError:
            self._search.lost([self._sequence])
            raise
        self._computed = end
        for place, scores in zip(places, found, strict=True):
            self._saw(place, scores)
        return len(self._tokens) - end

    def wanted(self) -> dict[int, int]:
        """The next step, once all is prefilled; see `NameSearch.wanted`."""
        return self._search.wanted() if self.prefilled else {}

    def stepped(self, found: Mapping[int, NDArray[np.float32]]) -> None:
        """Take what the step computed, by sequence: logits, each of shape (vocabulary,)."""
        self._search.stepped(found)

    def lost(self, sequences: Iterable[int]) -> None:
        """These were closed by a computation that failed; they are no longer this scorer's."""
        self._search.lost(sequences)

    def advance(self, most: int | None = None) -> bool:
        """Do the next computation by itself.

        Args:
            most: tokens of a prefill at most; None for as many as fit a batch.

        Returns:
            Whether more is to do.

        Raises:
            OverloadedError: there is no room; nothing changed, so it can be tried again.
            InternalError: the computation failed; close this.
        """
        if not self.prefilled:
            self.prefill(most)
        elif step := self.wanted():
            self.stepped(self._step(step))
        return not self.finished

    def result(self) -> ToolScores:
        """How the model leans; the baselines are still to be filled in.

        Raises:
            InternalError: it is not finished.
        """
        shares = self._search.shares()
        names = [
            NameScore(name, min(math.log(max(share, _LEAST)), 0.0), exact=bool(exact))
            for name, share, exact in zip(
                self._plan.trie.names, shares.best, shares.exact, strict=True
            )
        ]
        return ToolScores(
            tuple(sorted(names, key=lambda score: -score.logprob)),
            self._call_logprob,
            prompt_tokens=len(self._plan.prompt),
            cached_tokens=self.cached_tokens,
            scored_tokens=len(self._plan.opening.tokens) + self._search.tokens,
        )

    def close(self) -> None:
        """Free every sequence; at any time, and harmless when repeated."""
        self._search.close()

    def _step(self, step: Mapping[int, int]) -> dict[int, NDArray[np.float32]]:
        try:
            return self._sequences.step(step)
        except InternalError:
            self.lost(step)
            raise

    def _saw(self, index: int, scores: NDArray[np.float32]) -> None:
        """Take the scores behind one of the tokens."""
        if index in self._plan.call_at:
            self._call_logprob += float(scores[self._tokens[index + 1]]) - log_total(scores)
        if index == self._plan.name_at:
            self._search.begin(self._plan.opening.place, scores)
