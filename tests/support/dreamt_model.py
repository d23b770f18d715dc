"""A model that is made up: a small vocabulary, and scores that depend only on what came before."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
from homing_core.errors import InternalError, OverloadedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

BATCH_TOKENS = 8


class DreamtVocabulary:
    """Every byte is a token, and so are some longer texts. Tokenizing takes the longest match."""

    def __init__(self, texts: Sequence[bytes] = ()) -> None:
        """The longer texts follow behind the bytes; one may be there twice."""
        self.pieces = [b"", *(bytes([byte]) for byte in range(256)), *texts]
        self.size = len(self.pieces)
        self.leading_token = None

    def piece(self, token: int) -> bytes:
        """A token's bytes."""
        return self.pieces[token]

    def tokenize(self, text: str) -> list[int]:
        """The longest token at each place, the first of those that are alike."""
        rest = text.encode()
        tokens: list[int] = []
        while rest:
            fitting = [t for t, piece in enumerate(self.pieces) if piece and rest.startswith(piece)]
            best = max(fitting, key=lambda token: len(self.pieces[token]))
            tokens.append(best)
            rest = rest[len(self.pieces[best]) :]
        return tokens


class DreamtSequences:
    """The sequences of that model, with all that the real ones refuse.

    Args:
        size: of the vocabulary.
        sequences: that can be open at once.
        seed: of the scores.
        spread: of the scores; more makes the model surer.
    """

    def __init__(
        self, size: int, *, sequences: int = 8, seed: int = 0, spread: float = 3.0
    ) -> None:
        """Nothing is open."""
        self.batch_tokens = BATCH_TOKENS
        self.score_rows = max(4, sequences)
        self.sequences = sequences
        self.held: dict[int, list[int]] = {}
        self.computations: list[int] = []
        """Tokens of each."""
        self.fails_at: dict[int, Exception] = {}
        """Number of computation to what it raises; an `InternalError` closes its sequences."""
        self._size = size
        self._seed = seed
        self._spread = spread

    def scores(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """What the model gives each token behind these."""
        seed = zlib.crc32(repr((self._seed, tuple(tokens))).encode())
        drawn = np.random.default_rng(seed).standard_normal(self._size)
        return (drawn * self._spread).astype(np.float32)

    @property
    def free_sequences(self) -> int:
        """How many can still be opened."""
        return self.sequences - len(self.held)

    def open(self) -> int:
        """An empty one."""
        if not self.free_sequences:
            msg = "all sequences are in use"
            raise OverloadedError(msg)
        sequence = min(set(range(self.sequences)) - set(self.held))
        self.held[sequence] = []
        return sequence

    def length(self, sequence: int) -> int:
        """Tokens that it holds."""
        return len(self.held[sequence])

    def fork(self, source: int) -> int:
        """A copy."""
        held = list(self.held[source])
        target = self.open()
        self.held[target] = held
        return target

    def close(self, sequence: int) -> None:
        """Free it; twice would be a mistake of whoever calls."""
        del self.held[sequence]

    def prefill(
        self, sequence: int, tokens: Sequence[int], *, scores_at: Sequence[int] = ()
    ) -> list[NDArray[np.float32]]:
        """Compute tokens behind what it holds."""
        assert 0 < len(tokens) <= self.batch_tokens
        assert len(scores_at) <= self.score_rows
        self._compute([sequence], len(tokens))
        held = self.held[sequence]
        start = len(held)
        held.extend(tokens)
        return [self.scores(held[: start + index + 1]) for index in scores_at]

    def step(self, tokens: Mapping[int, int]) -> dict[int, NDArray[np.float32]]:
        """One token of each."""
        assert 0 < len(tokens) <= self.score_rows
        self._compute(tokens, len(tokens))
        for sequence, token in tokens.items():
            self.held[sequence].append(token)
        return {sequence: self.scores(self.held[sequence]) for sequence in tokens}

    def _compute(self, sequences: Sequence[int] | Mapping[int, int], count: int) -> None:
        self.computations.append(count)
        error = self.fails_at.pop(len(self.computations), None)
        if error is None:
            return
        if isinstance(error, InternalError):
            for sequence in sequences:
                self.close(sequence)
        raise error
