"""What the choice of a beginning needs of the sequences; it is tested on a pool without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class SequencePool(Protocol):
    """Of the sequences, what beginnings need; see `Sequences`."""

    @property
    def batch_tokens(self) -> int:
        """Tokens computed at once."""
        ...

    @property
    def cells(self) -> int:
        """Tokens that all sequences together hold."""
        ...

    @property
    def used_cells(self) -> int:
        """Of `cells`; what sequences share counts once."""
        ...

    @property
    def adapter(self) -> str:
        """What the next computations use."""
        ...

    def use_adapter(self, name: str) -> None:
        """Compute and restore with this one from now on."""
        ...

    def is_open(self, sequence: int) -> bool:
        """Whether it is; a failed computation closes sequences."""
        ...

    def own_cells(self, sequence: int) -> int:
        """Cells that closing this sequence would free."""
        ...

    def open(self, *, pinned: bool = False) -> int:
        """An empty sequence."""
        ...

    def fork(self, source: int, *, pinned: bool = False) -> int:
        """A copy that shares its cells."""
        ...

    def tokens(self, sequence: int) -> tuple[int, ...]:
        """What a sequence holds."""
        ...

    def cut(self, sequence: int, keep: int) -> bool:
        """Drop a tail; False where that cannot be done."""
        ...

    def close(self, sequence: int) -> None:
        """Free a sequence."""
        ...

    def save(self, sequence: int) -> bytes:
        """Its whole state."""
        ...

    def restore(self, tokens: Sequence[int], state: bytes, *, pinned: bool = False) -> int | None:
        """A sequence with a saved state; None if it does not fit."""
        ...
