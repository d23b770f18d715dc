"""A learned rule over named features: a chance of being right, and what it rests on. Pure.

The chance is 1 / (1 + exp(-z)) with z = intercept + sum of weight * (feature - mean) / scale: a
logistic rule, as small as a rule can be and still be read by a person. A feature that a step does
not have counts as its mean, so it says nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST: Final = 30.0
"""Beyond this a chance is as good as 0 or 1."""


@dataclass(frozen=True, slots=True)
class Term:
    """One feature's part.

    Attributes:
        mean: of the feature over the cases that it was fitted on.
        scale: their standard deviation; positive.
        weight: what one scale more adds to z.
    """

    mean: float
    scale: float
    weight: float

    def part(self, value: float) -> float:
        """What it adds to z."""
        return self.weight * (value - self.mean) / self.scale


@dataclass(frozen=True, slots=True)
class Linear:
    """The rule for one kind of step.

    Attributes:
        intercept: z of a step that is average in everything.
        terms: by feature.
    """

    intercept: float
    terms: Mapping[str, Term]

    def chance(self, features: Mapping[str, float]) -> float:
        """Of being right, in (0, 1)."""
        parts = (term.part(features[name]) for name, term in self.terms.items() if name in features)
        z = math.fsum((self.intercept, *parts))
        return 1.0 / (1.0 + math.exp(-max(-_MOST, min(_MOST, z))))

    def against(self, features: Mapping[str, float]) -> str:
        """The feature that speaks most against it; empty if none does."""
        parts = {
            name: term.part(features[name]) for name, term in self.terms.items() if name in features
        }
        worst = min(parts, key=parts.__getitem__, default="")
        return worst if worst and parts[worst] < 0 else ""
