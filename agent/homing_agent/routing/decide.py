"""The routing decision: facts in, a decision out. No I/O, no state.

Hard rules come first, in this order, and no score overrides them:

1. `--route phone`, or content that may not leave the phone: it stays. Together with `--route home`
   the latter is a contradiction and is declined.
2. Two failures on the phone, a broken engine, a call that cannot be read, or a prompt longer than
   the phone can hold: home. Where it cannot go there, the model answers without tools instead of
   the unreadable call, and the rest is declined.
3. `--route home`: home. If home cannot be reached the phone answers, and says so.
4. A call that acts while text from outside is in the context: a person looks at it.

Then the score. Where no tool fits, the call is dropped and the model answers in words. A call or
text that the rule doubts goes home. If a call is not doubted but lacks what nobody said, the person
is asked for it. Where a doubtful step cannot go home, a call whose arguments nobody said is dropped
and the model answers in words, any other call that acts is put to a person with the doubt said, and
the rest goes ahead with its low confidence shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from homing_core.errors import ErrorCode
from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass

from homing_agent.request import RoutePreference
from homing_agent.routing.decisions import (
    UNKNOWN,
    Answer,
    Ask,
    AskFor,
    CallInstead,
    CallTool,
    Decision,
    Decline,
    Escalate,
    Speak,
)
from homing_agent.routing.features import Features, Point, Reach
from homing_agent.routing.score import MarginRule, ScoreRule, made_up
from homing_agent.routing.thresholds import DEFAULT_THRESHOLDS, Thresholds

if TYPE_CHECKING:
    from homing_agent.routing.features import CallFacts
    from homing_agent.routing.score import Judgement


@dataclass(frozen=True, slots=True)
class Rules:
    """What `decide` decides by.

    Attributes:
        thresholds: for the hard rules; a `MarginRule` reads the same table.
        score: the rule that judges calls and texts.
    """

    thresholds: Thresholds = DEFAULT_THRESHOLDS
    score: ScoreRule = field(default_factory=MarginRule)

    @classmethod
    def with_thresholds(cls, thresholds: Thresholds) -> Rules:
        """The margin rule and the hard rules over one table."""
        return cls(thresholds, MarginRule(thresholds))


DEFAULT_RULES = Rules()
_OTHER_WORDS = "Say it in other words, or try again with home in reach."
_BROKEN = "the phone's model wrote a call that cannot be read"
_FIRST = "the phone tries first"


def decide(features: Features, rules: Rules = DEFAULT_RULES) -> Decision:
    """Where this step goes, and why."""
    return _hard(features, rules.thresholds) or _scored(features, rules.score.judge(features))


def _hard(features: Features, limits: Thresholds) -> Decision | None:
    private = features.sensitivity is Sensitivity.PHONE_ONLY
    if private and features.route is RoutePreference.HOME:
        return Decline(
            "this conversation may not leave the phone",
            ErrorCode.REFUSED,
            "Leave out --route home, or start a new conversation that may go home.",
        )
    unable = _unable(features, limits)
    if unable is not None:
        return _elsewhere(features, *unable)
    if features.route is RoutePreference.HOME and features.reach is Reach.UNKNOWN:
        return Escalate("you asked for home")
    if (
        features.call is not None
        and features.call.effect is not EffectClass.READ
        and features.untrusted
    ):
        return Ask("text from outside is in the conversation")
    return None


def _elsewhere(features: Features, reason: str, code: ErrorCode, hint: str) -> Decision:
    """What to do where the phone's own model is useless."""
    stays = _stays(features)
    if not stays:
        return Escalate(reason)
    if reason == _BROKEN and features.tools:
        return Speak(f"{reason}, and {stays}")
    return Decline(f"{reason}, and {stays}", code, hint)


def _unable(features: Features, limits: Thresholds) -> tuple[str, ErrorCode, str] | None:
    """What makes the phone's own model useless here, if anything does."""
    if features.reach is Reach.THERE:
        return None
    if features.engine_failed or features.failures >= limits.failures:
        what = features.failure or "the phone failed"
        return what, ErrorCode.UNAVAILABLE, _OTHER_WORDS
    if features.broken_call and not mendable(features):
        return _BROKEN, ErrorCode.UNAVAILABLE, _OTHER_WORDS
    budget = int(features.context_tokens * limits.context_share)
    if features.context_tokens and features.prompt_tokens > budget:
        reason = f"about {features.prompt_tokens} tokens are more than the phone's {budget}"
        return reason, ErrorCode.TOO_LONG, "Shorten it, or try again with home in reach."
    return None


def mendable(features: Features) -> bool:
    """Whether a call that cannot be read may be written again, held to the tools."""
    able = features.can_require and features.tools
    return features.broken_call and bool(able) and not (features.must_call or features.failures)


def _stays(features: Features) -> str:
    """Why this cannot leave the phone, for a person; empty if it can."""
    if features.sensitivity is Sensitivity.PHONE_ONLY:
        return "this conversation may not leave the phone"
    if features.route is RoutePreference.PHONE:
        return "you asked for the phone"
    if features.reach is Reach.UNREACHABLE:
        return features.home_problem or "home cannot be reached"
    return ""


def _scored(features: Features, judged: Judgement) -> Decision:
    stays = _stays(features)
    there = features.reach is Reach.THERE
    again = None if there else _second_look(features, judged)
    if again is not None:
        return again
    doubt = judged.doubt or _doubtful_question(features, judged)
    if doubt and not stays and not there:
        return Escalate(doubt, judged.confidence)
    if features.point is Point.FAILURE:
        return Answer(f"{features.failure or 'an attempt failed'}; the phone tries again")
    reason = ", and ".join(part for part in (doubt, "" if there else stays) if part)
    reason = reason or _sure(features, judged, there=there)
    if features.call is None:
        return Answer(reason, judged.confidence)
    if features.point is Point.NAME:
        return CallTool(reason, judged.confidence)
    return _called(features, features.call, judged, doubt, reason)


def _second_look(features: Features, judged: Judgement) -> Decision | None:
    """Words instead of a call, or a call instead of words, before anything else is decided."""
    if judged.idle:
        return Speak(judged.idle, judged.confidence)
    if judged.instead or mendable(features):
        return CallInstead(judged.instead or _BROKEN, judged.confidence)
    return None


def _called(
    features: Features, call: CallFacts, judged: Judgement, doubt: str, reason: str
) -> Decision:
    """What becomes of a call that does not leave the phone, or that home's model has made."""
    there = features.reach is Reach.THERE
    if judged.lacking and not there:  # home's model may well compose what it is to write down
        if doubt:
            return Speak(reason, judged.confidence)
        lacks = f"{call.name} needs what was not said: {', '.join(judged.lacking)}"
        return AskFor(lacks, judged.lacking, judged.confidence)
    # The person who said --route phone has taken the phone's judgement upon themselves.
    chosen = features.route is RoutePreference.PHONE
    if there and judged.lacking:
        doubt = reason = made_up(call, judged.lacking)
    if doubt and call.effect is not EffectClass.READ and not chosen:
        return Ask(reason, judged.confidence)
    return CallTool(reason, judged.confidence)


def _doubtful_question(features: Features, judged: Judgement) -> str:
    """Asking for the same thing twice helps nobody."""
    if judged.lacking and features.asked_before and features.call is not None:
        return made_up(features.call, judged.lacking)
    return ""


def _sure(features: Features, judged: Judgement, *, there: bool) -> str:
    if there:
        return "home's model is at work"
    if judged.confidence == UNKNOWN:
        return _FIRST
    what = "its words" if features.call is None else f"choosing {features.call.name}"
    return f"the phone is sure of {what}: {judged.confidence:.0%}"
