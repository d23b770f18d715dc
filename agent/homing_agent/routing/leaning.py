"""How a model leans to each tool before anybody has said anything; see `homing_core.scoring`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.scoring import ToolScores

LEAST: Final = 1e-6
"""A probability below this says no more than this one."""


@dataclass(frozen=True, slots=True)
class Leaning:
    """Natural logarithms of probabilities after a request without content.

    Attributes:
        names: of each tool among all; empty where nothing is known.
    """

    names: Mapping[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def of(cls, scores: ToolScores) -> Leaning:
        """What was scored after a request without content."""
        return cls({name.name: name.logprob for name in scores.names})

    def gain(self, name: str, probability: float) -> float | None:
        """How much likelier a tool has become by what was said, as a difference of logarithms.

        Args:
            name: the tool.
            probability: of its name now.

        Returns:
            None if its leaning is not known.
        """
        before = self.names.get(name)
        if before is None:
            return None
        return math.log(max(probability, LEAST)) - max(before, math.log(LEAST))


@dataclass(frozen=True, slots=True)
class PhonePrefix:
    """What is known of the system message and tools that every request on the phone begins with.

    Attributes:
        tokens: its length; 0 if unknown.
        leaning: how the model leans behind it.
    """

    tokens: int = 0
    leaning: Leaning = field(default_factory=Leaning)


NO_LEANING: Final = Leaning()
