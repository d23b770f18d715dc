"""The bytes of every token of a vocabulary, packed: 150,000 of them take 2 MB."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, overload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_OFFSET: Final = "I"


class TokenPieces(Sequence[bytes]):
    """Texts by their token's number. As objects of their own they would take 10 MB.

    Args:
        pieces: the bytes of each token, in order.
    """

    def __init__(self, pieces: Iterable[bytes]) -> None:
        """Put them behind each other."""
        joined = bytearray()
        ends = array(_OFFSET, (0,))
        for piece in pieces:
            joined += piece
            ends.append(len(joined))
        self._joined: Final = bytes(joined)
        self._ends: Final = ends

    def __len__(self) -> int:
        """Tokens."""
        return len(self._ends) - 1

    @overload
    def __getitem__(self, token: int) -> bytes: ...
    @overload
    def __getitem__(self, token: slice) -> tuple[bytes, ...]: ...

    def __getitem__(self, token: int | slice) -> bytes | tuple[bytes, ...]:
        """One token's bytes; raises `IndexError` for a number that is none."""
        if isinstance(token, slice):
            return tuple(self[number] for number in range(*token.indices(len(self))))
        if token < 0:
            msg = "a token has no negative number"
            raise IndexError(msg)
        return self._joined[self._ends[token] : self._ends[token + 1]]

    def __iter__(self) -> Iterator[bytes]:
        """All of them, in order."""
        start = 0
        for end in self._ends[1:]:
            yield self._joined[start:end]
            start = end
