"""What names and their probabilities must be, found the slow and obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Model = Callable[[Sequence[int]], NDArray[np.float32]]


def chances(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Probabilities of all tokens."""
    wide = scores.astype(np.float64)
    weights: NDArray[np.float64] = np.exp(wide - wide.max())
    return weights / float(weights.sum())


def fits(target: bytes, written: bytes) -> bool:
    """Whether a name may be what is being written, or was written with something behind it."""
    return target.startswith(written) or written.startswith(target)


def groups_of(
    pieces: Sequence[bytes], written: bytes, alive: Sequence[bytes]
) -> dict[frozenset[bytes], list[int]]:
    """Tokens by the names that fit behind them."""
    groups: dict[frozenset[bytes], list[int]] = {}
    for token, piece in enumerate(pieces):
        behind = frozenset(target for target in alive if piece and fits(target, written + piece))
        if behind:
            groups.setdefault(behind, []).append(token)
    return groups


def name_chances(
    model: Model,
    pieces: Sequence[bytes],
    before: Sequence[int],
    written: bytes,
    alive: Sequence[bytes],
) -> dict[bytes, float]:
    """Each name's share, given that one of them is written: no threshold, one token at a time.

    Args:
        model: scores behind tokens.
        pieces: the vocabulary.
        before: tokens computed so far.
        written: what of the targets they hold.
        alive: the targets that still fit.
    """
    if len(alive) == 1:
        return {alive[0]: 1.0}
    given = chances(model(before))
    groups = groups_of(pieces, written, alive)
    total = sum(given[token] for tokens in groups.values() for token in tokens)
    shares = dict.fromkeys(alive, 0.0)
    for behind, tokens in groups.items():
        share = sum(given[token] for token in tokens) / total
        best = max(tokens, key=lambda token: given[token])
        inner = name_chances(model, pieces, [*before, best], written + pieces[best], sorted(behind))
        for target, chance in inner.items():
            shares[target] += float(share * chance)
    return shares
