"""What comes of a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_agent.calibration.guarantee import Tested, least_escalated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_agent.routing.learned import Learned


@dataclass(frozen=True, slots=True)
class GroupReport:
    """What was seen of one kind of action at the chosen threshold.

    Attributes:
        kept: how many were kept.
        wrong: of these, how many were wrong.
        low: lower bound of the error rate at the level of the promise.
        high: upper bound.
    """

    kept: int
    wrong: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A learned rule and what it rests on.

    Attributes:
        learned: the rule, with its threshold.
        wish: how often the phone may be wrong among what it keeps.
        delta: chance that the promise does not hold.
        tested: what was seen at the threshold.
        phone_error: how often the phone would be wrong if it kept everything.
        groups: by kind of action.
        fitted_on: cases that the rule was fitted on.
    """

    learned: Learned
    wish: float
    delta: float
    tested: Tested
    phone_error: float
    groups: Mapping[str, GroupReport]
    fitted_on: int

    @property
    def least_escalated(self) -> float:
        """Share that must leave the phone whatever the rule."""
        return least_escalated(self.phone_error, self.wish)
