"""Looking along a trie of names, branch by branch, with forked sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from homing_core.errors import InternalError

from homing_inference.scoring.name_shares import name_shares, parting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.scoring.name_shares import Parting, Shares
    from homing_inference.scoring.names import NameTrie, Place


class SequenceMemory(Protocol):
    """Of a context's sequences, what scoring needs; see `Sequences`."""

    @property
    def batch_tokens(self) -> int:
        """Most tokens of one prefill."""
        ...

    @property
    def score_rows(self) -> int:
        """Most scores that one computation gives."""
        ...

    @property
    def free_sequences(self) -> int:
        """How many can still be opened."""
        ...

    def length(self, sequence: int) -> int:
        """Tokens it holds."""
        ...

    def fork(self, source: int) -> int:
        """A whole copy."""
        ...

    def prefill(
        self, sequence: int, tokens: Sequence[int], *, scores_at: Sequence[int] = ()
    ) -> list[NDArray[np.float32]]:
        """Compute tokens behind what it holds."""
        ...

    def step(self, tokens: Mapping[int, int]) -> dict[int, NDArray[np.float32]]:
        """Compute one token for each sequence, together."""
        ...

    def close(self, sequence: int) -> None:
        """Free it."""
        ...


class NameSearch:
    """One search. Every branch with several names and enough mass gets a sequence of its own.

    Args:
        sequences: where to compute.
        sequence: stands where a name comes next. It belongs to the search from now on.
        trie: the names.
        floor: share of all names' mass from which on a branch is looked at.
    """

    def __init__(
        self, sequences: SequenceMemory, sequence: int, trie: NameTrie, floor: float
    ) -> None:
        """Nothing is known yet."""
        self._sequences = sequences
        self._first = sequence
        self._trie = trie
        self._floor = floor
        self._root: Parting | None = None
        self._owned: set[int] = {sequence}
        self._waiting: dict[int, tuple[Parting, list[int]]] = {}
        """Sequence to the place that it stands at, and the branches to look at, likeliest first."""
        self._stepping: dict[int, tuple[Parting, int]] = {}
        """Sequence to the branch that it is about to look at."""
        self.tokens = 0
        """Computed in steps so far."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to look at."""
        return self._root is not None and not self._waiting and not self._stepping

    def begin(self, place: Place, scores: NDArray[np.float32]) -> None:
        """Take what the model gives each token where a name comes next.

        Args:
            place: where the names stand.
            scores: logits, shape (vocabulary,).

        Raises:
            InternalError: the scores are not numbers.
        """
        self._root = parting(self._trie, place, scores)
        self._consider(self._first, self._root)

    def wanted(self) -> dict[int, int]:
        """The next step: a token for each of these sequences, to compute together.

        The same until `stepped`; empty when finished. It may be computed in one batch with others'
        tokens. Where there are fewer free sequences than branches, several steps follow; where
        there are none, the less likely branches are left out, and their names get upper bounds.
        """
        if not self._stepping and self._waiting:
            self._fork()
        return {
            sequence: place.best[branch] for sequence, (place, branch) in self._stepping.items()
        }

    def stepped(self, found: Mapping[int, NDArray[np.float32]]) -> None:
        """Take what the step computed, by sequence: logits, each of shape (vocabulary,)."""
        self.tokens += len(self._stepping)
        for sequence, (place, branch) in self._stepping.items():
            token = place.best[branch]
            behind = self._trie.follow(place.place, token)
            if behind is None:  # cannot be: the trie named the token
                msg = "a tool's name cannot be followed through the vocabulary"
                raise InternalError(msg)
            reach = place.reach * float(place.shares[branch])
            below = parting(self._trie, behind, found[sequence], reach)
            place.looked_at[branch] = below
            self._consider(sequence, below)
        self._stepping = {}

    def shares(self) -> Shares:
        """What was found.

        Raises:
            InternalError: it is not finished.
        """
        if self._root is None or not self.finished:
            msg = "the tools are not scored yet"
            raise InternalError(msg)
        return name_shares(self._root)

    def lost(self, sequences: Iterable[int]) -> None:
        """These were closed by a computation that failed; they are no longer the search's."""
        for sequence in sequences:
            self._owned.discard(sequence)
            self._waiting.pop(sequence, None)
            self._stepping.pop(sequence, None)

    def close(self) -> None:
        """Free every sequence; at any time, and harmless when repeated."""
        self._waiting.clear()
        self._stepping.clear()
        for sequence in tuple(self._owned):
            self._free(sequence)

    def _consider(self, sequence: int, place: Parting) -> None:
        """Look further where it is worth while; otherwise the sequence is of no more use."""
        branches = place.open_branches(self._floor)
        if branches:
            self._waiting[sequence] = (place, branches)
        else:
            self._free(sequence)

    def _fork(self) -> None:
        """Make ready as many branches as there are sequences for, the likeliest first."""
        ready = sorted(
            (
                (place.reach * float(place.shares[branch]), sequence, branch)
                for sequence, (place, branches) in self._waiting.items()
                for branch in branches
            ),
            reverse=True,
        )
        for _, sequence, branch in ready:
            if len(self._stepping) == self._sequences.score_rows:
                break
            place, branches = self._waiting[sequence]
            if len(branches) == 1:
                self._go_on(sequence)
            elif self._sequences.free_sequences:
                child = self._sequences.fork(sequence)
                self._owned.add(child)
                branches.remove(branch)
                self._stepping[child] = (place, branch)
        if not self._stepping:
            self._go_on(ready[0][1])

    def _go_on(self, sequence: int) -> None:
        """Take the sequence itself for the likeliest branch that waits for it."""
        place, branches = self._waiting.pop(sequence)
        self._stepping[sequence] = (place, branches[0])

    def _free(self, sequence: int) -> None:
        if sequence in self._owned:
            self._owned.remove(sequence)
            self._sequences.close(sequence)
