"""Does any tool fit at all? A look at the model's first choice between a call and words. Pure.

Small models answer in words what a tool was there for ("What is the growth of London's
population?"), and call the only tool there is although it has nothing to do with the request. Two
signs mend most of that, and cost nothing where the first choice was right: how many of a tool's own
words the request has, and whether the model's belief in the tool's name rose or fell against a
request without content. A model that examples have taught when to call needs no second look: of 46
requests to the phone's own tools it was right in 3.

The thresholds were chosen on 134 cases of BFCL that no figure is reported on, tried on the 0.5B
stand-in at four bits: docs/routing.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_agent.routing.features import CallFacts, Features
    from homing_agent.routing.thresholds import Thresholds


def may_call(features: Features, limits: Thresholds) -> str:
    """Why words should give way to a call that is tried, for a person; empty if they should not.

    Args:
        features: at `Point.TEXT`.
        limits: the thresholds.
    """
    first = not (features.must_call or features.failures or features.broken_call)
    if not (first and features.can_require):
        return ""
    if features.best_overlap < limits.second_look_overlap:
        return ""
    return "a tool may fit after all"


def no_fit(call: CallFacts, limits: Thresholds, *, must_call: bool) -> str:
    """Why no tool fits although the model has named one, for a person; empty if it may.

    Args:
        call: at `Point.NAME`.
        limits: the thresholds.
        must_call: whether the model had to name one, and wanted to use words.
    """
    if call.signals is None:
        return ""
    probability = call.signals.name_probability
    if must_call and probability < limits.name_probability:
        return f"no tool seems to fit: {call.name} at {probability:.0%}"
    gain = call.gain
    if gain is None or gain >= 0:
        return ""
    if not call.overlap:
        return f"nothing in the request is about {call.name}"
    if probability < limits.fitting_probability:
        return f"no tool seems to fit: {call.name} at {probability:.0%}"
    return ""
