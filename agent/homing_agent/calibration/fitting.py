"""Fits a linear rule to labelled cases.

Ridge-penalised logistic regression by Newton's method (iteratively reweighted least squares;
Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, 4.4.1 and 3.4.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from homing_core.errors import InvalidDataError

from homing_agent.routing.linear import Linear, Term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

PENALTY: Final = 3.0
"""Of the weights' squares, in cases: what a few hundred cases and some twenty features bear."""
_ROUNDS: Final = 50
_SMALL: Final = 1e-9


def fit(
    cases: Sequence[tuple[Mapping[str, float], bool]],
    names: Sequence[str],
    penalty: float = PENALTY,
) -> Linear:
    """The rule that fits best.

    Args:
        cases: features, and whether the phone was right. A feature may be missing.
        names: the features to use.
        penalty: of the weights' squares; positive.

    Raises:
        InvalidDataError: all were right or all were wrong, or there are none.
    """
    right = np.array([case[1] for case in cases], dtype=np.float64)
    if not cases or right.min() == right.max():
        msg = "a rule cannot be fitted to cases that are all right or all wrong"
        raise InvalidDataError(msg, "Add cases of the other kind.")
    raw = np.array(
        [[case[0].get(name, np.nan) for name in names] for case in cases], dtype=np.float64
    )
    present = ~np.isnan(raw)
    counts = np.maximum(present.sum(axis=0), 1)
    filled = np.where(present, raw, 0.0)
    means = filled.sum(axis=0) / counts
    centred = np.where(present, raw - means, 0.0)
    scales = np.sqrt((centred**2).sum(axis=0) / counts)
    scales[scales < _SMALL] = 1.0
    weights = _newton(centred / scales, right, penalty)
    return Linear(
        float(weights[0]),
        {
            name: Term(float(mean), float(scale), float(weight))
            for name, mean, scale, weight in zip(names, means, scales, weights[1:], strict=True)
        },
    )


def _newton(
    values: NDArray[np.float64], right: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    """The weights, the intercept first; it alone is not penalised. Shape (features + 1,)."""
    design = np.hstack([np.ones((len(values), 1)), values])
    ridge = np.full(design.shape[1], penalty)
    ridge[0] = 0.0
    weights = np.zeros(design.shape[1])
    weights[0] = np.log(right.mean() / (1.0 - right.mean()))
    for _ in range(_ROUNDS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -30.0, 30.0)))
        slope = design.T @ (right - chance) - ridge * weights
        spread = np.maximum(chance * (1.0 - chance), _SMALL)
        bend = (design.T * spread) @ design + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        weights = weights + step
        if float(np.abs(step).max()) < _SMALL:
            break
    return weights
