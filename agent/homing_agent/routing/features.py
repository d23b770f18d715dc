"""What a routing decision looks at: named facts, no objects to call."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from homing_core.provenance import Sensitivity
from homing_core.tools import EffectClass

from homing_agent.request import RoutePreference
from homing_agent.routing.clues import Clues
from homing_agent.routing.leaning import LEAST, NO_LEANING, Leaning

if TYPE_CHECKING:
    from homing_core.generation import CallSignals, TokenSignals

    from homing_agent.routing.grounding import Grounding


class Point(Enum):
    """When the decision is made."""

    START = "start"
    """Before the phone's model runs."""
    NAME = "name"
    """The model has written a tool's name, and no arguments yet."""
    CALL = "call"
    """The model has written a call that fits a tool."""
    TEXT = "text"
    """The model has begun to answer in text, which nobody has seen yet."""
    FAILURE = "failure"
    """An attempt failed: a malformed call, a tool's error, a broken engine."""


class Reach(Enum):
    """What is known of the way home."""

    UNKNOWN = "unknown"
    """Not tried for this request."""
    UNREACHABLE = "unreachable"
    """Tried in vain, or there is none."""
    THERE = "there"
    """Home's model is already at work on this request."""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """The call that is decided on.

    Attributes:
        name: the tool.
        effect: what it may do.
        signals: how sure the model was; None if the engine cannot tell.
        grounding: how much of the arguments the person said; None while there are none.
        leaning: how the model leans to each tool if nothing is said.
        overlap: share of the tool's own words that the request has.
        rival_overlap: the highest such share of any other tool.
        unused: numbers of the request that are in none of the arguments.
    """

    name: str
    effect: EffectClass
    signals: CallSignals | None
    grounding: Grounding | None
    leaning: Leaning = NO_LEANING
    overlap: float = 0.0
    rival_overlap: float = 0.0
    unused: int = 0

    def numbers(self) -> dict[str, float]:
        """What a rule may weigh; absent facts are absent."""
        found: dict[str, float] = {
            "acts": float(self.effect is not EffectClass.READ),
            "overlap": self.overlap,
            "overlap_lead": self.overlap - self.rival_overlap,
        }
        if self.grounding is not None:
            found["said_share"] = self.grounding.lowest_share
            found["arguments"] = float(len(self.grounding.shares))
            found["unused_numbers"] = float(min(self.unused, 3))
        if self.signals is not None:
            found.update(_of_signals(self.name, self.signals))
            found.update(self._gains(self.signals))
        return found

    @property
    def gain(self) -> float | None:
        """How much the model's belief in this tool rose by what was asked; None if unknown."""
        if self.signals is None:
            return None
        return self.leaning.gain(self.name, self.signals.name_probability)

    def _gains(self, signals: CallSignals) -> dict[str, float]:
        own = self.gain
        others = [
            gain
            for one in signals.names
            if one.name != self.name
            and (gain := self.leaning.gain(one.name, one.probability)) is not None
        ]
        if own is None:
            return {}
        return {"name_gain": own, "rival_gain": max(others, default=0.0)}


@dataclass(frozen=True, slots=True)
class Features:
    """Everything a rule may use.

    Attributes:
        point: when it is asked.
        route: which way the person wants it.
        reach: what is known of the way home.
        home_problem: why home cannot be reached, for a person; empty unless it is so.
        sensitivity: strictest class among everything that would be sent.
        untrusted: whether untrusted text is in the context.
        prompt_tokens: estimated length of the prompt on the phone.
        context_tokens: what the phone's model can hold; 0 if unknown.
        tools: how many tools the model chose from.
        failures: attempts on the phone that failed so far.
        failure: the latest failure, for a person.
        engine_failed: the phone's model cannot run at all.
        call: at `CALL`.
        text: at `TEXT`, if the engine can tell.
        broken_call: at `TEXT`: the text reads like a call that could not be parsed.
        clues: what the words of the request tell.
        request: these words, for a rule that reads them itself.
        asked_before: whether the person was asked for something that this call lacks just now.
        best_overlap: at `TEXT`: the highest `CallFacts.overlap` of any tool that is offered.
        must_call: whether the model wanted to use words and was made to call a tool.
        can_require: whether the engine can hold the model to a call, and no examples taught it when
            to call one.
    """

    point: Point
    route: RoutePreference = RoutePreference.AUTO
    reach: Reach = Reach.UNKNOWN
    home_problem: str = ""
    sensitivity: Sensitivity = Sensitivity.HOME_ONLY
    untrusted: bool = False
    prompt_tokens: int = 0
    context_tokens: int = 0
    tools: int = 0
    failures: int = 0
    failure: str = ""
    engine_failed: bool = False
    call: CallFacts | None = None
    text: TokenSignals | None = None
    broken_call: bool = False
    clues: Clues = field(default_factory=Clues)
    request: str = ""
    asked_before: bool = False
    best_overlap: float = 0.0
    must_call: bool = False
    can_require: bool = False

    def numbers(self) -> dict[str, float]:
        """The same as numbers, for `--explain` and for a learned rule; absent facts are absent."""
        found: dict[str, float] = {
            "prompt_tokens": self.prompt_tokens,
            "context_tokens": self.context_tokens,
            "tools": self.tools,
            "failures": self.failures,
            "untrusted": float(self.untrusted),
            "home_unreachable": float(self.reach is Reach.UNREACHABLE),
        }
        found.update(self.clues.numbers())
        if self.call is not None:
            found.update(self.call.numbers())
            found["must_call"] = float(self.must_call)
        if self.text is not None:
            found["best_overlap"] = self.best_overlap
            found["text_first_probability"] = self.text.first_probability
            found["text_token_probability"] = token_probability(self.text)
        return found


def _of_signals(name: str, signals: CallSignals) -> dict[str, float]:
    rivals = (one.probability for one in signals.names if one.name != name)
    return {
        "call_probability": signals.call_probability,
        "name_probability": signals.name_probability,
        "name_log": math.log(max(signals.name_probability, LEAST)),
        "name_margin": signals.name_margin,
        "rival_probability": max(rivals, default=0.0),
        "argument_probability": signals.lowest_argument_probability,
        "argument_decile": signals.argument_decile,
        "argument_median": signals.argument_median,
        "grammar_share": signals.grammar_share,
    }


def token_probability(signals: TokenSignals) -> float:
    """Geometric mean probability of the first tokens: exp of their mean log-probability."""
    return math.exp(min(0.0, signals.mean_logprob))
