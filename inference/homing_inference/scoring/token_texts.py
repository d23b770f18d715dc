"""A vocabulary's tokens in the order of their texts: which tokens could be written next."""

from __future__ import annotations

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
        self._tokens: Final = order
        self._texts: Final = [pieces[token] for token in order]
        self.longest: Final[int] = max(map(len, self._texts), default=0)
        """Bytes of the longest text."""

    def exactly(self, text: bytes) -> Iterator[int]:
        """The tokens with this text."""
        place = bisect_left(self._texts, text)
        while place < len(self._texts) and self._texts[place] == text:
            yield self._tokens[place]
            place += 1

    def beyond(self, text: bytes) -> Iterator[int]:
        """The tokens whose text begins with this one and goes on."""
        place = bisect_left(self._texts, text)
        while place < len(self._texts) and self._texts[place].startswith(text):
            if self._texts[place] != text:
                yield self._tokens[place]
            place += 1
