"""The next token, and how sure the model was of it."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from homing_core.errors import InternalError, UsageError

if TYPE_CHECKING:
    from homing_core.generation import Sampling
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Choice:
    """A token and what the model itself thought of it, before any sampling or grammar.

    Attributes:
        token: the one to write.
        probability: of that token, in [0, 1].
        margin: between the most likely and the second most likely token, in [0, 1].
        share: of the probability, that went to tokens which were allowed here, in [0, 1].
    """

    token: int
    probability: float
    margin: float
    share: float = 1.0


def check_sampling(sampling: Sampling) -> None:
    """Refuse what has no meaning.

    Raises:
        UsageError: a value is out of range.
    """
    if not (math.isfinite(sampling.temperature) and sampling.temperature >= 0):
        msg = "the temperature is not a number from 0 up"
        raise UsageError(msg, "Use 0 for the most likely words, or up to about 1.")
    if not 0 < sampling.top_p <= 1:
        msg = "top_p is not above 0 and at most 1"
        raise UsageError(msg, "Use 1 for no limit.")
    if sampling.top_k < 0 or sampling.max_tokens < 0:
        msg = "top_k and max_tokens cannot be negative"
        raise UsageError(msg, "Use 0 for no limit.")


class Chooser:
    """Chooses the tokens of one answer.

    Args:
        sampling: temperature 0 takes the most likely token; otherwise one is drawn from the
            `top_k` best, of these the smallest set that holds `top_p`, at that temperature.
    """

    def __init__(self, sampling: Sampling) -> None:
        """Seed the draw."""
        self._sampling = sampling
        self._random = np.random.default_rng(sampling.seed or secrets.randbits(64))
        self._buffer: NDArray[np.float32] = np.empty(0, np.float32)

    def choose(
        self, scores: NDArray[np.float32], allowed: NDArray[np.bool_] | None = None
    ) -> Choice:
        """The next token.

        Args:
            scores: logits, shape (vocabulary,); not changed.
            allowed: shape (vocabulary,), which tokens may be written; None allows all.

        Raises:
            InternalError: the scores are not numbers, or nothing is allowed.
        """
        best, total = self._weigh(scores)
        weights = self._buffer
        share = 1.0
        if allowed is not None:
            share = min(float(weights[allowed].sum()) / total, 1.0)
            scores = np.where(allowed, scores, -np.inf).astype(np.float32, copy=False)
            best = int(scores.argmax())
            if not allowed[best]:
                msg = "nothing may be written here"
                raise InternalError(msg, "Try again without a grammar.")
        token = best if self._sampling.temperature == 0 else self._draw(scores, best)
        return self._choice(token, total, share)

    def judge(self, scores: NDArray[np.float32], token: int) -> Choice:
        """What the model thought of a token that is written without being chosen.

        Raises:
            InternalError: the scores are not numbers.
        """
        _, total = self._weigh(scores)
        return self._choice(token, total, 1.0)

    def _weigh(self, scores: NDArray[np.float32]) -> tuple[int, float]:
        """Each token's probability as a multiple of the best one's, into the buffer.

        One pass over the vocabulary in the scores' own precision: this runs for every token of
        every answer. numpy adds pairwise, so that the sum is right to about 1e-6.

        Returns:
            The best token, and the sum of all weights.
        """
        if self._buffer.size != scores.size:
            self._buffer = np.empty(scores.size, np.float32)
        best = int(scores.argmax())
        highest = scores[best]
        if not np.isfinite(highest):
            msg = "the model computed no usable scores"
            raise InternalError(msg, "The model file may be damaged; fetch it again.")
        np.subtract(scores, highest, out=self._buffer)
        np.exp(self._buffer, out=self._buffer)
        return best, float(self._buffer.sum())

    def _choice(self, token: int, total: float, share: float) -> Choice:
        weights = self._buffer
        probability = min(float(weights[token]) / total, 1.0)
        best = int(weights.argmax())
        first, weights[best] = float(weights[best]), 0.0
        margin = (first - float(weights.max())) / total
        return Choice(token, probability, min(max(margin, 0.0), 1.0), share)

    def _draw(self, scores: NDArray[np.float32], best: int) -> int:
        candidates = _best(scores, self._sampling.top_k)
        if self._sampling.top_p < 1:
            candidates = _nucleus(scores, candidates, self._sampling.top_p)
        weights = (scores[candidates] - scores[best]).astype(np.float64)
        reached: NDArray[np.float64] = np.cumsum(np.exp(weights / self._sampling.temperature))
        place = self._random.random() * float(reached[-1])
        drawn = int(np.searchsorted(reached, place, side="right"))
        return int(candidates[min(drawn, candidates.size - 1)])


def top(scores: NDArray[np.float32], count: int) -> tuple[list[tuple[int, float]], float]:
    """The most likely tokens with their natural log-probabilities, and what all of them add up to.

    Returns:
        The tokens, best first; and the logarithm of the sum of all exponentials, which turns a
        score into a log-probability.
    """
    highest = scores.max()
    norm = float(highest) + math.log(float(np.exp(scores - highest).sum()))
    places = _best(scores, count)
    order = places[np.argsort(-scores[places], kind="stable")]
    return [(int(token), float(scores[token]) - norm) for token in order], norm


def _best(scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """The `count` best tokens in no order; all that have any probability if `count` is 0."""
    if not 0 < count < scores.size:
        return np.flatnonzero(scores > -np.inf)
    best = np.argpartition(scores, -count)[-count:]
    return best[scores[best] > -np.inf]


def _nucleus(
    scores: NDArray[np.float32], candidates: NDArray[np.intp], mass: float
) -> NDArray[np.intp]:
    """The fewest best candidates that together hold `mass` of the candidates' probability."""
    weights = np.exp((scores[candidates] - scores[candidates].max()).astype(np.float64))
    total = float(weights.sum())
    # All candidates below this floor hold less than the rest together, so the nucleus is above it.
    kept = np.flatnonzero(weights >= (1 - mass) * total / weights.size)
    order = kept[np.argsort(-weights[kept], kind="stable")]
    reached: NDArray[np.float64] = np.cumsum(weights[order])
    return candidates[order[: int(np.searchsorted(reached, mass * total)) + 1]]
