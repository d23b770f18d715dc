"""How fast this machine computes right now, learned from what each step took.

A chunk of a prompt takes about `a + b·n` for n tokens: `a` reads the weights once, `b` grows with
the context and with whatever else the machine does. From that follows how large a chunk may be
while others wait for their next word. From 64 tokens on llama.cpp's attention works in tiles and
costs about half: behind 3,000 tokens (0.5B BF16, 2 cores) 32 tokens take 265 ms, 63 take 514 and 64
take 307. So small and tiled chunks are two lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LONGEST_WAIT_S: Final = 0.3
"""A running answer waits at most about this long for its next token while a prompt is computed."""
PREFILL_SHARE: Final = 0.6
"""Of the rate at which a prompt is computed alone, what is left to it while answers are written."""
JOB_SHARE: Final = 0.25
"""The same for a job's prompt while persons' answers are written."""
ALONE: Final = 1.0
"""The share of a prompt beside which nothing is written."""
LONGEST_TILE_WAIT_S: Final = 0.37
"""The same for one tile of a prompt, which is so much cheaper that it may take a little longer."""
TILE: Final = 64
"""Tokens from which on attention is computed in tiles."""
SMALLEST_CHUNK: Final = 8
_FIRST_CHUNK: Final = 16
_FORGET: Final = 0.85
"""Weight that a measurement keeps when the next one comes."""
_STIFFNESS: Final = 16.0
"""How hard the slope is held near the mean cost of a token, in tokens squared: chunks are often
all of one size, from which no slope can be told."""
_SLOPE_GUESS: Final = 0.85


class Line:
    """A least-squares line `a + b·n` through measurements that fade with age."""

    def __init__(self) -> None:
        """Nothing is known."""
        self._weight = 0.0
        self._n = self._t = self._nn = self._nt = 0.0

    @property
    def known(self) -> bool:
        """Whether anything was measured."""
        return self._weight > 0

    def learn(self, n: int, seconds: float) -> None:
        """One measurement."""
        self._weight = self._weight * _FORGET + 1
        self._n = self._n * _FORGET + n
        self._t = self._t * _FORGET + seconds
        self._nn = self._nn * _FORGET + n * n
        self._nt = self._nt * _FORGET + n * seconds

    def fit(self) -> tuple[float, float]:
        """`a` in seconds, at least 0, and `b` in seconds a token, above 0; see `known`."""
        n, t = self._n / self._weight, self._t / self._weight
        mean = max(t, 1e-9) / max(n, 1.0)
        variance = max(self._nn / self._weight - n * n, 0.0)
        covariance = self._nt / self._weight - n * t
        slope = (covariance + _STIFFNESS * _SLOPE_GUESS * mean) / (variance + _STIFFNESS)
        slope = min(max(slope, 0.01 * mean), mean)
        return max(t - slope * n, 0.0), slope

    def seconds(self, n: int) -> float:
        """What n tokens should take; 0 if nothing is known."""
        if not self.known:
            return 0.0
        start, slope = self.fit()
        return start + slope * n

    def tokens(self, seconds: float) -> int:
        """How many should take no longer, at least 0; see `known`."""
        start, slope = self.fit()
        return max(int((seconds - start) / slope), 0)


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """How much of prompts to compute at once; 0 where there is no time for any.

    Attributes:
        tokens: where so many are left.
        small: where fewer than a tile are.
        whole: where no more than this are left, and a tile at least, all of them.
    """

    tokens: int
    small: int
    whole: int = 0

    def of(self, left: int) -> int:
        """The next chunk where so many tokens are left."""
        if TILE <= left <= self.whole:
            return left
        tokens = min(self.tokens, left)
        return tokens if tokens >= TILE else min(self.small, left)


class Pace:
    """Learns the machine's speed and shares time between prompts and answers.

    Args:
        batch_tokens: the largest chunk.
    """

    def __init__(self, batch_tokens: int) -> None:
        """Nothing is measured yet."""
        self._batch = batch_tokens
        self._small = Line()
        self._tiled = Line()
        self._decode = Line()
        self._answers = 1
        self._owed = 0.0
        self._slot = 0.0
        """Seconds for which answers have waited since their last step."""

    @property
    def prefill_tokens_per_second(self) -> float:
        """Tokens of a prompt that is computed alone; 0 if unknown."""
        return self._batch / seconds if (seconds := self._seconds(self._batch)) else 0.0

    @property
    def decode_tokens_per_second(self) -> float:
        """New tokens of one answer at the present number of answers; 0 if unknown."""
        step = self._decode.seconds(self._answers)
        return 1 / step if step else 0.0

    @property
    def owed(self) -> bool:
        """Whether the answers still have time due before the next chunk."""
        return self._owed > 0

    def prefilled(self, tokens: int, seconds: float, share: float = PREFILL_SHARE) -> None:
        """A chunk was computed.

        Args:
            tokens: in it.
            seconds: that it took.
            share: of its rate alone that the prompt may keep beside answers; see `ALONE`.
        """
        (self._tiled if tokens >= TILE else self._small).learn(tokens, seconds)
        alone = self.prefill_tokens_per_second
        due = tokens / (share * alone) - seconds if alone else 0.0
        self._waited(seconds, min(max(due, 0.0), seconds * (1 / share - 1)), share)

    def worked(self, seconds: float, share: float = PREFILL_SHARE) -> None:
        """Something else was computed between two steps of the answers."""
        self._waited(seconds, seconds * (1 / share - 1), share)

    def decoded(self, answers: int, seconds: float) -> None:
        """One token of each of `answers` was computed."""
        self._decode.learn(answers, seconds)
        self._answers = answers
        self._slot = 0.0
        # Half a step more than is due is nearer to it than half a step less.
        self._owed -= seconds if self._owed > seconds / 2 else self._owed

    def chunk(self, answers: int) -> ChunkSize:
        """How much of prompts to compute at once, in what is left of the slot.

        Args:
            answers: that are being written meanwhile; without any, the chunk is the largest.
        """
        if answers == 0:
            return ChunkSize(self._batch, self._batch)
        begun = self._slot > 0
        smallest = 0 if begun else min(SMALLEST_CHUNK, self._batch)
        line = self._small if self._small.known else self._tiled
        if not line.known:
            first = min(_FIRST_CHUNK, self._batch)
            return ChunkSize(first, first)
        step = self._decode.seconds(answers)
        # Where a step alone is slow, a chunk as long as a step still leaves the prompt its half.
        slot = max(LONGEST_WAIT_S - step, step) - self._slot
        for_tile = max(LONGEST_TILE_WAIT_S - step - self._slot, slot)
        small = max(smallest, min(line.tokens(slot), TILE - 1, self._batch))
        tiled = self._tiled if self._tiled.known else line
        whole = min(tiled.tokens(slot), self._batch)
        for tokens in range(self._batch // TILE * TILE, 0, -TILE):
            if self._seconds(tokens) <= (slot if tokens > TILE else for_tile):
                return ChunkSize(tokens, small, whole)
        return ChunkSize(small, small)

    def _waited(self, seconds: float, due: float, share: float) -> None:
        """Answers waited for so long, and so much is due to them for that."""
        if share >= ALONE:
            self._owed = self._slot = 0.0
            return
        self._owed = due if self._slot == 0 else self._owed + due
        self._slot += seconds

    def _seconds(self, tokens: int) -> float:
        """What a chunk should take; from the other line where its own is unknown."""
        own, other = self._tiled, self._small
        if tokens < TILE:
            own, other = other, own
        return (own if own.known else other).seconds(tokens)

    def seconds(self, prompt_tokens: int, answer_tokens: int, answers: int) -> float:
        """How long prompts and answers should take when `answers` are written at once."""
        rate = self.prefill_tokens_per_second
        prompts = prompt_tokens / rate if rate else 0.0
        return prompts + answer_tokens * self._decode.seconds(answers) / max(answers, 1)
