"""Texts as vectors whose angles say how near their meanings are."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.errors import InternalError, TooLongError, UsageError

from homing_inference.llama.context import Context
from homing_inference.llama.context_sizes import Outcome, Sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from homing_inference.llama.model import LoadedModel

EMBED_TOKENS: Final = 2048
"""Most tokens of one text, where nobody says more."""
_BATCH_TOKENS: Final = 32
"""Small: llama.cpp computes scores for every token beside its vector, and keeps room for them."""
_SEQUENCE: Final = 0


class _Pooling(Enum):
    """How a model makes one vector of its tokens' vectors; numbers as in `llama_pooling_type`."""

    MEAN = 1
    FIRST = 2
    LAST = 3


class Embedder:
    """Makes vectors with a loaded model. Belongs to one thread.

    Its context is made when the first text comes and is small, since it holds one text at a time.
    Tokens' vectors are pooled as the model says; where it says nothing, by their mean.

    Args:
        model: stays loaded for as long as this is open.
        threads: that compute.
        context_tokens: most tokens of one text; no more than the model was trained on are used.

    Raises:
        UsageError: the model ranks texts, it makes no vectors.
    """

    def __init__(
        self, model: LoadedModel, threads: int, context_tokens: int = EMBED_TOKENS
    ) -> None:
        """Nothing is reserved yet."""
        self._model: Final = model
        self._threads = threads
        self.context_tokens: Final = min(
            context_tokens, model.facts.trained_context or context_tokens
        )
        self._pooling: Final = _pooling(model)
        self._context: Context | None = None

    def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """One vector of length 1 for each text; all zeros for an empty one.

        Returns:
            Vectors, shape (texts, width of the model).

        Raises:
            TooLongError: a text has too many tokens; nothing was computed.
            OverloadedError: there is not enough memory for the context.
            InternalError: the computation failed.
        """
        tokenized = [self._tokens(text) for text in texts]
        longest = max(map(len, tokenized), default=0)
        if longest > self.context_tokens:
            msg = f"a text has {longest} tokens, and a vector is made of at most "
            msg += f"{self.context_tokens}"
            raise TooLongError(msg, "Cut it into shorter texts.")
        return tuple(self._vector(tokens) for tokens in tokenized)

    def use_threads(self, threads: int) -> None:
        """Compute with so many threads from now on."""
        self._threads = threads
        if self._context is not None:
            self._context.use_threads(threads)

    def close(self) -> None:
        """Free the context; harmless when repeated."""
        context, self._context = self._context, None
        if context is not None:
            context.close()

    def _tokens(self, text: str) -> list[int]:
        if not text:
            return []
        vocabulary = self._model.vocabulary
        # What people write never becomes a control token.
        tokens = vocabulary.tokenize(text, parse_special=False)
        first = vocabulary.leading_token
        return tokens if first is None else [first, *tokens]

    def _vector(self, tokens: Sequence[int]) -> tuple[float, ...]:
        if not tokens:
            return (0.0,) * self._model.vector_width
        pooled = self._pooled(self._opened(), tokens)
        length = float(np.linalg.norm(pooled))
        if not np.isfinite(length) or length == 0.0:
            msg = "the model gave a vector without a direction"
            raise InternalError(msg, "Use another model for vectors.")
        return tuple((pooled / length).tolist())

    def _pooled(self, context: Context, tokens: Sequence[int]) -> NDArray[np.float64]:
        context.clear()
        total = np.zeros(self._model.vector_width)
        batch = context.sizes.batch_tokens
        for start in range(0, len(tokens), batch):
            some = tokens[start : start + batch]
            rows = [(token, start + index, _SEQUENCE) for index, token in enumerate(some)]
            if context.compute(rows, range(len(rows))) is not Outcome.DONE:
                msg = "the model could not make a vector"
                raise InternalError(msg, "Try again; if it happens again, use a shorter text.")
            vectors = context.vectors(len(rows))
            match self._pooling:
                case _Pooling.MEAN:
                    total += vectors.sum(axis=0, dtype=np.float64)
                case _Pooling.FIRST if start == 0:
                    total[:] = vectors[0]
                case _Pooling.LAST:
                    total[:] = vectors[-1]
                case _:
                    pass
        return total

    def _opened(self) -> Context:
        if self._context is None:
            # Where tokens attend to later ones too, all of a text is one batch.
            batch = _BATCH_TOKENS if self._model.causal else self.context_tokens
            sizes = Sizes(self.context_tokens, 1, batch, self._threads, vectors=True)
            self._context = Context(self._model, sizes)
        return self._context


def _pooling(model: LoadedModel) -> _Pooling:
    number = model.pooling_type
    if number == 0:
        return _Pooling.MEAN
    try:
        return _Pooling(number)
    except ValueError:
        msg = "the model compares texts, it makes no vectors of them"
        raise UsageError(msg, "Use a model that writes text or makes vectors.") from None
