"""A vocabulary's tokens in the order of their texts: which tokens could be written next."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pieces(Protocol):
    """Of a vocabulary, what its texts are; see `Vocabulary`."""

    @property
    def size(self) -> int:
        """Tokens."""
        ...

    def piece(self, token: int) -> bytes:
        """A token's bytes."""
        ...


class TokenTexts:
    """Tokens by text. Several may have the same one; those without any are left out.

    Building it reads the whole vocabulary (0.3 s for 150,000 tokens), so it is done once a model;
    afterwards it may be used from any thread.

    Args:
        vocabulary: the model's tokens.
    """

    def __init__(self, vocabulary: Pieces) -> None:
        """Sort them."""
        pieces = [vocabulary.piece(token) for token in range(vocabulary.size)]
        order = sorted((token for token, text in enumerate(pieces) if text), key=pieces.__getitem__)
        self.piece: Final = vocabulary.piece
        """A token's bytes."""
        self._tokens: Final = array("i", order)
        self.longest: Final[int] = max(map(len, pieces), default=0)
        """Bytes of the longest text."""

    def exactly(self, text: bytes) -> Iterator[int]:
        """The tokens with this text."""
        for token in self._from(text):
            if self.piece(token) != text:
                return
            yield token

    def beyond(self, text: bytes) -> Iterator[int]:
        """The tokens whose text begins with this one and goes on."""
        for token in self._from(text):
            piece = self.piece(token)
            if not piece.startswith(text):
                return
            if piece != text:
                yield token

    def _from(self, text: bytes) -> Iterator[int]:
        """The tokens in order, from the first that is not before a text on."""
        for place in range(bisect_left(self._tokens, text, key=self.piece), len(self._tokens)):
            yield self._tokens[place]
