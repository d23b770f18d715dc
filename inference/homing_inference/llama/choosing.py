"""The next token, and how sure the model was of it."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.errors import InternalError, UsageError

if TYPE_CHECKING:
    from homing_core.generation import Sampling
    from numpy.typing import NDArray

_NUCLEUS_FIRST: Final = 4096
"""Of this many best tokens the nucleus is looked for first; sorting all would take 10 ms."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A token and what the model itself thought of it, before any sampling.

    Attributes:
        token: the one to write.
        probability: of that token, in [0, 1].
        margin: between the most likely and the second most likely token, in [0, 1].
    """

    token: int
    probability: float
    margin: float


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

    def choose(self, scores: NDArray[np.float32]) -> Choice:
        """The next token.

        Args:
            scores: logits, shape (vocabulary,). Changed for a moment, then as before.

        Raises:
            InternalError: the scores are not numbers.
        """
        best = int(scores.argmax())
        highest = scores[best]
        if not np.isfinite(highest):
            msg = "the model computed no usable scores"
            raise InternalError(msg, "The model file may be damaged; fetch it again.")
        total = float(np.exp(scores - highest).sum(dtype=np.float64))
        scores[best] = -np.inf
        second = float(scores.max())
        scores[best] = highest
        first_probability = 1.0 / total
        second_probability = math.exp(second - float(highest)) / total
        margin = min(max(first_probability - second_probability, 0.0), 1.0)
        token = best if self._sampling.temperature == 0 else self._draw(scores)
        probability = math.exp(float(scores[token]) - float(highest)) / total
        return Choice(token, min(probability, 1.0), margin)

    def _draw(self, scores: NDArray[np.float32]) -> int:
        candidates = _best(scores, self._sampling.top_k)
        if self._sampling.top_p < 1:
            candidates = _nucleus(scores, candidates, self._sampling.top_p)
        weights = scores[candidates].astype(np.float64) / self._sampling.temperature
        weights = np.exp(weights - weights.max())
        return int(self._random.choice(candidates, p=weights / weights.sum()))


def _best(scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """The `count` best tokens in no order; all of them if `count` is 0."""
    if not 0 < count < scores.size:
        return np.arange(scores.size)
    return np.argpartition(scores, -count)[-count:]


def _nucleus(
    scores: NDArray[np.float32], candidates: NDArray[np.intp], mass: float
) -> NDArray[np.intp]:
    """The fewest best candidates that together hold `mass` of the candidates' probability."""
    weights = np.exp((scores[candidates] - scores[candidates].max()).astype(np.float64))
    wanted = mass * float(weights.sum())
    for count in (_NUCLEUS_FIRST, candidates.size):
        places = _best(weights.astype(np.float32), min(count, candidates.size))
        order = places[np.argsort(-weights[places], kind="stable")]
        reached: NDArray[np.float64] = np.cumsum(weights[order])
        if reached[-1] >= wanted or count >= candidates.size:
            kept = int(np.searchsorted(reached, wanted)) + 1
            return candidates[order[:kept]]
    return candidates
