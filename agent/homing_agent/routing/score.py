"""How sure the phone's model seems. A learned rule will take this one's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from homing_core.tools import EffectClass

from homing_agent.routing.decisions import UNKNOWN
from homing_agent.routing.features import token_probability
from homing_agent.routing.thresholds import DEFAULT_THRESHOLDS, Thresholds

if TYPE_CHECKING:
    from homing_core.generation import CallSignals, TokenSignals

    from homing_agent.routing.features import CallFacts, Features


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a score rule says.

    Attributes:
        confidence: in [0, 1]; negative if it cannot tell.
        doubt: why the phone should not be relied on, for a person; empty if it may be.
        invented: whether the call's arguments are the model's own invention.
    """

    confidence: float
    doubt: str
    invented: bool = False


class ScoreRule(Protocol):
    """Judges the phone's call or text. Pure."""

    def judge(self, features: Features) -> Judgement:
        """Look at `features.call` or `features.text`; with neither, it cannot tell."""
        ...


class MarginRule:
    """Every signal against its own threshold; the first that falls short is the doubt.

    Confidence is the probability of the tool's whole name, given that a call was opened, or the
    geometric mean over the first tokens of a text: the model's own belief, not a calibrated chance
    of being right.
    """

    def __init__(self, thresholds: Thresholds = DEFAULT_THRESHOLDS) -> None:
        """Use these thresholds."""
        self._limits = thresholds

    def judge(self, features: Features) -> Judgement:
        """As in `ScoreRule`."""
        if features.call is not None:
            return self._judge_call(features.call)
        if features.text is not None:
            return self._judge_text(features.text)
        return Judgement(UNKNOWN, "")

    def _judge_call(self, call: CallFacts) -> Judgement:
        limits = self._limits
        acts = call.effect is not EffectClass.READ
        needed = limits.said_share if acts else limits.said_share_read
        unsaid = ""
        if call.grounding.lowest_share < needed:
            unsaid = f"the model made up {call.grounding.weakest!r} for {call.name}"
        if call.signals is None:
            return Judgement(UNKNOWN, unsaid, bool(unsaid))
        signals = call.signals
        confidence = signals.name_probability
        doubt = unsaid or self._call_doubt(call, signals)
        return Judgement(_within(confidence), doubt, bool(unsaid))

    def _call_doubt(self, call: CallFacts, signals: CallSignals) -> str:
        limits = self._limits
        best = signals.name_probability
        if signals.name_margin < limits.name_margin:
            second = max(0.0, best - signals.name_margin)
            return f"two tools looked alike: {best:.0%} to {second:.0%}"
        if signals.call_probability < limits.call_probability:
            return f"unsure whether a tool fits: {signals.call_probability:.0%}"
        if best < limits.name_probability:
            return f"unsure which tool fits: {call.name} at {best:.0%}"
        if signals.lowest_argument_probability < limits.argument_probability:
            lowest = signals.lowest_argument_probability
            return f"unsure of an argument of {call.name}: {lowest:.0%}"
        if signals.grammar_share < limits.grammar_share:
            return f"the model wanted to write something else: {signals.grammar_share:.0%} left"
        return ""

    def _judge_text(self, text: TokenSignals) -> Judgement:
        limits = self._limits
        mean = token_probability(text)
        doubt = ""
        if text.first_probability < limits.text_first_probability:
            doubt = f"unsure how to begin: {text.first_probability:.0%}"
        elif mean < limits.text_token_probability:
            doubt = f"unsure of its words: {mean:.0%} each"
        return Judgement(_within(mean), doubt)


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))
