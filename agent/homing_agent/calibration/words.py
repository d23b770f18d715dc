"""A calibration in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.calibration.guarantee import NOTHING, fewest_cases

if TYPE_CHECKING:
    from homing_agent.calibration.file import Calibration


_MOST_WISH = 0.5
"""A phone that is wrong more often than that is of no use."""


def calibration_lines(kept: Calibration) -> list[str]:
    """What it promises, and what that rests on: a line each."""
    made, tested = kept.calibrated, kept.calibrated.tested
    lines = [
        (
            f"Model {kept.ties.model}: fitted on {made.fitted_on} requests, threshold chosen on"
            f" {tested.cases} others."
        ),
        (
            f"If it kept everything, the phone would be wrong in {made.phone_error:.0%} of them; at"
            f" least {made.least_escalated:.0%} must leave it, whatever the rule."
        ),
    ]
    if tested.threshold >= NOTHING:
        fewest = fewest_cases(made.wish, made.delta)
        less = 100 * min(2 * made.wish, _MOST_WISH)
        lines.append(
            f"No threshold keeps the promise of at most {made.wish:.0%} wrong: the phone keeps"
            f" nothing by itself. It needs {fewest} requests or more that it gets right. Wish for"
            f" less, such as --at-most {less:.0f}: what was tried is not"
            " tried again."
        )
        return lines
    lines.append(
        f"The phone keeps {tested.share:.0%} ({tested.kept} of {tested.cases}, {tested.wrong} of"
        f" them wrong): at most {tested.bound:.1%} wrong among them, with {1 - made.delta:.0%}"
        f" confidence; {made.wish:.0%} was the wish."
    )
    lines += [
        f"  {name}: {one.kept} kept, {one.wrong} wrong (between {one.low:.0%} and {one.high:.0%})"
        for name, one in made.groups.items()
    ]
    lines.append("This holds for requests like those. Tell it where it was wrong: homing feedback.")
    return lines
