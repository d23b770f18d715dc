"""How sure the phone's model seems, by hand-made thresholds: the rule of an uncalibrated phone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from homing_core.tools import EffectClass

from homing_agent.routing.decisions import UNKNOWN
from homing_agent.routing.features import Point, token_probability
from homing_agent.routing.second_look import may_call, no_fit
from homing_agent.routing.thresholds import DEFAULT_THRESHOLDS, Thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_core.generation import CallSignals, TokenSignals

    from homing_agent.routing.features import CallFacts, Features

CALIBRATED: Final = "calibrated"
"""Among the numbers: 1 if a learned rule decided, 0 if hand-made thresholds did."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a score rule says.

    Attributes:
        confidence: in [0, 1]; negative if it cannot tell.
        doubt: why the phone should not be relied on, for a person; empty if it may be.
        lacking: required arguments that nobody said, so that the person may be asked for them.
        idle: why no tool fits at all, for a person; empty if one may.
        instead: why words should give way to a call, for a person; empty if they should not.
    """

    confidence: float
    doubt: str
    lacking: tuple[str, ...] = ()
    idle: str = ""
    instead: str = ""


class ScoreRule(Protocol):
    """Judges the phone's call or text. Pure."""

    def judge(self, features: Features) -> Judgement:
        """Look at `features.call` or `features.text`; with neither, it cannot tell.

        At `Point.NAME` a doubt has to be strong: more is known once the arguments are written.
        """
        ...

    def numbers(self, features: Features) -> Mapping[str, float]:
        """What it goes by, for `--explain`."""
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
            if features.point is Point.NAME:
                idle = no_fit(features.call, self._limits, must_call=features.must_call)
                return Judgement(UNKNOWN, "", idle=idle)
            return self._judge_call(features.call)
        if features.text is not None:
            instead = may_call(features, self._limits)
            return replace(self._judge_text(features.text), instead=instead)
        return Judgement(UNKNOWN, "")

    def numbers(self, features: Features) -> Mapping[str, float]:
        """As in `ScoreRule`."""
        return {**features.numbers(), CALIBRATED: 0.0}

    def _judge_call(self, call: CallFacts) -> Judgement:
        lacking = lacking_of(call, self._limits)
        unsaid = made_up(call, lacking)
        if call.signals is None:
            return Judgement(UNKNOWN, unsaid, lacking)
        signals = call.signals
        confidence = signals.name_probability
        doubt = self._call_doubt(call, signals)
        if lacking and not _asks_well(call, lacking):
            doubt = unsaid
        return Judgement(_within(confidence), doubt, lacking)

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


def lacking_of(call: CallFacts, limits: Thresholds) -> tuple[str, ...]:
    """The required arguments that nobody said."""
    if call.grounding is None:
        return ()
    if call.effect is EffectClass.READ:  # nothing happens if a number is worked out wrongly
        return call.grounding.texts_below(limits.said_share_read)
    return call.grounding.below(limits.said_share)


def made_up(call: CallFacts, lacking: tuple[str, ...]) -> str:
    """That they are the model's own, for a person; empty if none is."""
    return f"the model made up {lacking[0]!r} for {call.name}" if lacking else ""


def _asks_well(call: CallFacts, lacking: tuple[str, ...]) -> bool:
    """Whether tool and call were spoken of, so that a question would not come from nowhere."""
    grounding = call.grounding
    return grounding is not None and len(lacking) < len(grounding.shares) and call.overlap > 0


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))
