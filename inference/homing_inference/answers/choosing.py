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

_BLOCK: Final = 512


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
        self._weights: NDArray[np.float32] = np.empty(0, np.float32)

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
        first, share, weights = best, 1.0, self._weights
        if allowed is not None:
            weights = np.where(allowed, weights, np.float32(0))
            scores = np.where(allowed, scores, np.float32(-np.inf))
            share = min(float(weights.sum()) / total, 1.0)
            first = int(scores.argmax())
            if not allowed[first]:
                msg = "nothing may be written here"
                raise InternalError(msg, "Try again without a grammar.")
        token = first
        if self._sampling.temperature > 0:
            token = self._draw(scores, scores[first], weights)
        return self._choice(token, best, total, share)

    def judge(self, scores: NDArray[np.float32], token: int) -> Choice:
        """What the model thought of a token that is written without being chosen.

        Raises:
            InternalError: the scores are not numbers.
        """
        best, total = self._weigh(scores)
        return self._choice(token, best, total, 1.0)

    def _weigh(self, scores: NDArray[np.float32]) -> tuple[int, float]:
        """Each token's probability as a multiple of the best one's, into `_weights`.

        One pass over the vocabulary in the scores' own precision: this runs for every token of
        every answer. numpy adds pairwise, so that the sum is right to about 1e-6.

        Returns:
            The best token, and the sum of all weights.
        """
        if self._weights.size != scores.size:
            self._weights = np.empty(scores.size, np.float32)
        best = int(scores.argmax())
        highest = scores[best]
        if not np.isfinite(highest):
            msg = "the model computed no usable scores"
            raise InternalError(msg, "The model file may be damaged; fetch it again.")
        np.subtract(scores, highest, out=self._weights)
        np.exp(self._weights, out=self._weights)
        return best, float(self._weights.sum())

    def _choice(self, token: int, best: int, total: float, share: float) -> Choice:
        """What is told of a token; takes the best one's weight away to find the second."""
        weights = self._weights
        probability = min(float(weights[token]) / total, 1.0)
        weights[best] = 0.0
        margin = (1.0 - float(weights.max())) / total
        return Choice(token, probability, min(max(margin, 0.0), 1.0), share)

    def _draw(
        self, scores: NDArray[np.float32], highest: np.float32, weights: NDArray[np.float32]
    ) -> int:
        sampling = self._sampling
        candidates: NDArray[np.intp] | None = None
        if 0 < sampling.top_k < scores.size:
            candidates = _best(scores, sampling.top_k)
            scores, weights = scores[candidates], weights[candidates]
        if sampling.top_p < 1:
            nucleus = _nucleus(weights, sampling.top_p)
            scores = scores[nucleus]
            candidates = nucleus if candidates is None else candidates[nucleus]
        tempered = np.exp((scores - highest) / np.float32(sampling.temperature))
        place = _drawn(tempered, self._random.random())
        return place if candidates is None else int(candidates[place])


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
    """The `count` best tokens in no order, of those that have any probability."""
    best = np.argpartition(scores, -min(count, scores.size))[-count:]
    return best[scores[best] > -np.inf]


def _nucleus(weights: NDArray[np.float32], mass: float) -> NDArray[np.intp]:
    """The fewest best places that together hold `mass` of all the weight."""
    total = float(weights.sum())
    # All places below this floor hold less than the rest together, so the nucleus is above it.
    kept = np.flatnonzero(weights >= (1 - mass) * total / weights.size)
    order = kept[np.argsort(-weights[kept], kind="stable")]
    reached: NDArray[np.float64] = np.cumsum(weights[order], dtype=np.float64)
    return order[: int(np.searchsorted(reached, mass * total)) + 1]


def _drawn(weights: NDArray[np.float32], point: float) -> int:
    """The place that a point in [0, 1) falls on, where each place is as wide as its weight.

    Looked for by blocks first: adding up a whole vocabulary one by one takes five times as long.
    """
    starts = np.arange(0, weights.size, _BLOCK)
    blocks: NDArray[np.float64] = np.cumsum(np.add.reduceat(weights, starts), dtype=np.float64)
    target = point * float(blocks[-1])
    block = min(int(np.searchsorted(blocks, target, side="right")), blocks.size - 1)
    before = float(blocks[block - 1]) if block else 0.0
    start = block * _BLOCK
    inside: NDArray[np.float64] = np.cumsum(weights[start : start + _BLOCK], dtype=np.float64)
    place = int(np.searchsorted(inside, target - before, side="right"))
    if place >= inside.size or weights[start + place] == 0:  # rounding, at a block's very end
        place = int(np.flatnonzero(weights[start : start + _BLOCK])[-1])
    return start + place
