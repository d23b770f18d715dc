"""A prefix with its state, and where prefixes are kept beyond the process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Prefix:
    """What system message and tools render to, with the state behind it.

    Attributes:
        tokens: of the prefix.
        sha256: of its text, hex.
        state: as `Sequences.save` gave it.
    """

    tokens: tuple[int, ...]
    sha256: str
    state: bytes


@dataclass(frozen=True, slots=True)
class Pinned:
    """A pinned prefix.

    Attributes:
        tokens: its length.
        sha256: of its text, hex.
    """

    tokens: int
    sha256: str


class PrefixStore(Protocol):
    """Prefixes that outlive the process; see `PrefixFiles`. Nothing here raises."""

    def load(self, tokens: Sequence[int], *, adapter: str) -> Prefix | None:
        """Exactly this prefix, if it is kept and sound."""
        ...

    def keeps(self, tokens: Sequence[int], *, adapter: str) -> bool:
        """Whether it is kept already, or about to be, or cannot be kept at all."""
        ...

    def put(self, prefix: Prefix, *, adapter: str) -> None:
        """Keep it; done in the background."""
        ...

    def drop(self, tokens: Sequence[int], *, adapter: str) -> None:
        """Forget it, since it cannot be restored."""
        ...

    def close(self) -> None:
        """Finish what is being written."""
        ...
