"""How a model's leaning is shared out among names, from what it gave each next token. Pure.

Only what the offered names allow counts (as for a constrained decoder): a name's logarithm is the
sum, over the places where names part, of log(mass of its branch / mass of all branches). Where only
one name fits, whatever else would have to be written costs nothing.

Branches can be nested: behind `s` the names fit that fit behind `set`, and some more. Then a name's
share is the sum over the branches that hold it, each times the name's share within it. What comes
behind a branch is taken from its most likely token.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.errors import InternalError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from homing_inference.scoring.names import NameTrie, Place

_NO_DIFFERENCE: Final = 0.01
_NOTHING: Final = 1e-300
_NO_TOKEN: Final = -1


@dataclass(slots=True)
class Parting:
    """A place that was looked at: what its branches got.

    Attributes:
        place: not complete; several names fit.
        reach: share of all names' mass that leads here, in [0, 1].
        names: the branches, as half-open ranges of names.
        shares: of each branch; their sum is 1.
        best: most likely token of each branch; -1 for none.
        looked_at: by number of branch, what came of looking further.
    """

    place: Place
    reach: float
    names: tuple[tuple[int, int], ...]
    shares: NDArray[np.float64]
    best: tuple[int, ...]
    looked_at: dict[int, Parting] = field(default_factory=dict["int", "Parting"])

    def open_branches(self, floor: float) -> list[int]:
        """Branches with several names and at least `floor` of all names' mass, likeliest first."""
        several = [
            branch
            for branch, (first, last) in enumerate(self.names)
            if last - first > 1
            and self.best[branch] != _NO_TOKEN
            and self.reach * self.shares[branch] >= max(floor, _NOTHING)
        ]
        return sorted(several, key=lambda branch: -self.shares[branch])


def parting(
    trie: NameTrie, place: Place, scores: NDArray[np.float32], reach: float = 1.0
) -> Parting:
    """What a model gives each branch at a place.

    Args:
        trie: the names.
        place: where several of them fit.
        scores: logits of the whole vocabulary, shape (vocabulary,).
        reach: share of all names' mass that leads here.

    Raises:
        InternalError: the scores are not numbers.
    """
    branches = trie.branches(place)
    if not branches.tokens.size:  # a vocabulary that cannot write these names
        return Parting(place, reach, (place.names,), np.ones(1), (_NO_TOKEN,))
    highest = float(scores[branches.tokens].max())
    masses = branches.masses(scores, highest)
    total = float(masses.sum())
    if not (np.isfinite(highest) and np.isfinite(total)):
        msg = "the model computed no usable scores"
        raise InternalError(msg, "The model file may be damaged; fetch it again.")
    best = tuple(branches.best(branch, scores) for branch in range(len(branches.names)))
    return Parting(place, reach, branches.names, masses / total, best)


@dataclass(frozen=True, slots=True)
class Shares:
    """Of each name that fits at a place, in the trie's order; shapes (names,).

    Attributes:
        computed: what was found to lead to it.
        unknown: what may lead to it, in branches that were not looked at. Its share is between
            `computed` and the sum of both.
    """

    computed: NDArray[np.float64]
    unknown: NDArray[np.float64]

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Whether what is unknown makes no difference: at most 1% of what was computed."""
        return self.unknown <= _NO_DIFFERENCE * self.computed

    @property
    def best(self) -> NDArray[np.float64]:
        """What was computed where that is exact; otherwise the upper bound."""
        return np.where(self.exact, self.computed, np.minimum(self.computed + self.unknown, 1.0))


def name_shares(root: Parting) -> Shares:
    """What each name got, at a place and all that was looked at behind it."""
    offset, last = root.place.names
    computed = np.zeros(last - offset)
    unknown = np.zeros(last - offset)
    for branch, (first, end) in enumerate(root.names):
        share = float(root.shares[branch])
        within = slice(first - offset, end - offset)
        below = root.looked_at.get(branch)
        if end - first == 1:
            computed[within] += share
        elif below is None:
            unknown[within] += share
        else:
            inner = name_shares(below)
            computed[within] += share * inner.computed
            unknown[within] += share * inner.unknown
    return Shares(computed, unknown)
