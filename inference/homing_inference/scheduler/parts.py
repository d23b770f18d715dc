"""What the scheduler stands on, as it sees them. Tests put fakes in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from homing_inference.scoring.name_search import SequenceMemory

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.states.beginnings import Beginning
    from homing_inference.states.prefixes import Pinned


class Memory(SequenceMemory, Protocol):
    """Of the sequences, what tasks and the scheduler need beside scoring; see `Sequences`."""

    @property
    def cells(self) -> int:
        """Tokens that all sequences together hold."""
        ...

    @property
    def used_cells(self) -> int:
        """Of `cells`; what sequences share counts once."""
        ...

    def own_cells(self, sequence: int) -> int:
        """Cells that closing this sequence would free."""
        ...

    def is_open(self, sequence: int) -> bool:
        """Whether it is; a failed computation closes sequences."""
        ...

    @property
    def equal_parts(self) -> bool:
        """Whether `prefill_many` gains only where all parts are equally long."""
        ...

    def prefill_many(
        self, parts: Mapping[int, Sequence[int]], *, scores_at: Collection[int] = ()
    ) -> dict[int, NDArray[np.float32]]:
        """Compute tokens behind what several sequences hold, as one batch."""
        ...

    def use_adapter(self, name: str) -> None:
        """For the next computations."""
        ...

    def use_threads(self, threads: int) -> None:
        """For the next computations."""
        ...

    def shut(self) -> None:
        """Free everything."""
        ...


class States(Protocol):
    """Where prompts begin and what is kept for later ones; see `Beginnings`."""

    @property
    def pinned(self) -> tuple[Pinned, ...]:
        """The pinned prefixes."""
        ...

    def start(
        self,
        tokens: Sequence[int],
        *,
        owner: str,
        adapter: str,
        prefix_tokens: int = 0,
        cuts: Sequence[int] = (),
    ) -> Beginning:
        """A fresh sequence that holds as much of the prompt as is known."""
        ...

    def stops(self, cuts: Sequence[int]) -> tuple[int, ...]:
        """At which cuts a checkpoint is worth keeping."""
        ...

    def pin(self, sequence: int, *, adapter: str, sha256: str) -> None:
        """Keep it as a prefix."""
        ...

    def keep(self, sequence: int, *, owner: str, adapter: str) -> None:
        """Keep a checkpoint for its owner."""
        ...

    def forget(self, owner: str) -> None:
        """Drop this owner's checkpoints."""
        ...

    def renew(self, tokens: Sequence[int], *, adapter: str) -> bool:
        """Whether exactly this is pinned."""
        ...

    def make_room(self, cells: int) -> bool:
        """Unpin until so many cells are free."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class ThreadCount(Protocol):
    """How many threads to compute with; see `ThreadShare`."""

    def busy(self) -> None:
        """The engine computes from now on."""
        ...

    def idle(self) -> None:
        """It computes no more."""
        ...

    def now(self) -> int:
        """Threads for the next computation."""
        ...

    def close(self) -> None:
        """It is gone."""
        ...
