"""The learned rule: how likely the phone is right, by what was seen in labelled cases. Pure.

Four small linear rules, each over the features that are known when it is asked: whether any tool
fits, whether a call can still become right once its name is written, whether a whole call (or the
question for what it lacks) is right, and whether words are. The chance of the last two is held
against one threshold, and that threshold carries the promise: see `homing_agent.calibration`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from homing_agent.routing.decisions import UNKNOWN
from homing_agent.routing.features import Point
from homing_agent.routing.opinion import ANSWER, ASK, NO_OPINION, Opinion, opinion_numbers
from homing_agent.routing.score import CALIBRATED, Judgement, lacking_of
from homing_agent.routing.second_look import may_call
from homing_agent.routing.thresholds import DEFAULT_THRESHOLDS, Thresholds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from homing_agent.routing.features import CallFacts, Features
    from homing_agent.routing.linear import Linear

_CLOSE: Final = 0.2
"""Two tools whose probabilities are closer than this look alike to a person."""
_WORDS: Final = {
    "acts": "a tool that changes something is easily the wrong one",
    "argument_decile": "the model was unsure of what it filled in",
    "argument_median": "the model was unsure of what it filled in",
    "argument_probability": "the model was unsure of what it filled in",
    "call_probability": "it is not clear that a tool is wanted",
    "failures": "an attempt failed",
    "grammar_share": "the model wanted to write something else",
    "must_call": "the model wanted to answer in words",
    "best_overlap": "the request names a tool's work",
    "name_gain": "the model likes this tool whatever is asked",
    "rival_gain": "another tool gained more by what was asked",
    "name_log": "another tool may be meant",
    "name_margin": "another tool may be meant",
    "name_probability": "another tool may be meant",
    "rival_probability": "another tool may be meant",
    "opinion_ask": "something needed may not have been said",
    "opinion_home": "its words sound like work for home",
    "opinion_lead": "its words sound like something else",
    "opinion_own": "its words sound like something else",
    "opinion_words": "its words sound like something else",
    "overlap": "nothing in the request names this tool",
    "overlap_lead": "the request names another tool's work",
    "request_digits": "the numbers in it are easily mixed up",
    "request_foreign": "the phone is weaker in this language",
    "request_harm": "it may be about something harmful",
    "request_joins": "it asks for several things",
    "request_link": "it is about a page or a file",
    "request_question": "it is a question",
    "request_repeats": "it asks for something that repeats",
    "request_work": "it asks for a longer piece of work",
    "request_words": "it is a long request",
    "said_share": "the request says it in other words",
    "lacking": "something needed was not said",
    "unused_numbers": "a number in it was left out",
    "text_first_probability": "the model was unsure how to begin",
    "text_token_probability": "the model was unsure of its words",
}
"""What a feature that speaks against the phone means to a person."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned from labelled cases.

    Attributes:
        fits: of a call whose name is written: whether any tool fits.
        name: of the same: whether the call becomes right.
        call: of a whole call, or of the question for what it lacks: whether it is right.
        text: of words: whether they are right.
        fits_from: below this chance no tool fits, and the model answers in words.
        name_from: below this chance the arguments are not waited for.
        keep_from: from this chance on a step stays on the phone; above 1 nothing does.
        opinion: what it thinks of a request by its words alone.
    """

    fits: Linear
    name: Linear
    call: Linear
    text: Linear
    fits_from: float
    name_from: float
    keep_from: float
    opinion: Opinion = NO_OPINION


def with_opinion(
    numbers: Mapping[str, float],
    chances: Mapping[str, float],
    action: str,
    lacking: Sequence[str],
) -> dict[str, float]:
    """All that the learned rules may weigh of a step.

    Args:
        numbers: `Features.numbers`.
        chances: the second opinion on the request.
        action: what would be done; see `opinion_numbers`.
        lacking: required arguments that nobody said.
    """
    return {**numbers, **opinion_numbers(chances, action), "lacking": float(len(lacking))}


class LearnedRule:
    """A `ScoreRule` by what was learned.

    Args:
        learned: what.
        limits: how much of an argument a person has to have said.
    """

    def __init__(self, learned: Learned, limits: Thresholds = DEFAULT_THRESHOLDS) -> None:
        """Keep them."""
        self._learned = learned
        self._limits = limits
        self._asked = ""
        self._answer: Mapping[str, float] = {}

    def judge(self, features: Features) -> Judgement:
        """As in `ScoreRule`."""
        call = features.call
        if call is None and features.text is None:
            return Judgement(UNKNOWN, "")
        numbers = self.numbers(features)
        if call is not None and features.point is Point.NAME:
            return self._at_name(call, numbers)
        rule = self._learned.text if call is None else self._learned.call
        judged = self._whole(rule, numbers, call, self._lacking(features))
        instead = may_call(features, self._limits) if call is None else ""
        return replace(judged, instead=instead)

    def numbers(self, features: Features) -> dict[str, float]:
        """As in `ScoreRule`."""
        base = {**features.numbers(), CALIBRATED: 1.0}
        if features.call is None and features.text is None:
            return base
        lacking = self._lacking(features)
        action = ANSWER if features.call is None else features.call.name
        chances = self._chances(features.request)
        return with_opinion(base, chances, ASK if lacking else action, lacking)

    def _lacking(self, features: Features) -> tuple[str, ...]:
        if features.call is None or features.point is Point.NAME:
            return ()
        return lacking_of(features.call, self._limits)

    def _chances(self, request: str) -> Mapping[str, float]:
        """The second opinion, which one request asks for several times."""
        if request != self._asked:
            self._asked, self._answer = request, self._learned.opinion.chances(request)
        return self._answer

    def _at_name(self, call: CallFacts, numbers: dict[str, float]) -> Judgement:
        learned = self._learned
        fits = learned.fits.chance(numbers)
        if fits < learned.fits_from:
            return Judgement(1.0 - fits, "", idle=f"no tool seems to fit: {fits:.0%}")
        chance = learned.name.chance(numbers)
        if chance < learned.name_from:
            return Judgement(chance, _doubt(learned.name, numbers, call, chance))
        return Judgement(chance, "")

    def _whole(
        self,
        rule: Linear,
        numbers: dict[str, float],
        call: CallFacts | None,
        lacking: tuple[str, ...],
    ) -> Judgement:
        chance = rule.chance(numbers)
        doubt = "" if chance >= self._learned.keep_from else _doubt(rule, numbers, call, chance)
        return Judgement(chance, doubt, lacking)


def _doubt(rule: Linear, numbers: dict[str, float], call: CallFacts | None, chance: float) -> str:
    signals = None if call is None else call.signals
    if signals is not None and signals.names:
        best, rival = signals.name_probability, numbers.get("rival_probability", 0.0)
        if best - rival < _CLOSE:
            return f"two tools looked alike: {best:.0%} to {rival:.0%}"
    why = _WORDS.get(rule.against(numbers), "the phone is often wrong with such requests")
    return f"{why} (right in about {chance:.0%} of such cases)"
