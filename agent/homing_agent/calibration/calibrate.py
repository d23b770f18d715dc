"""From trials of labelled cases to a learned rule and what it promises. Pure.

The rule is fitted on one part of the cases, its threshold is chosen on another, and neither looks
at the part that is reported.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError

from homing_agent.calibration.features import AT_CALL, AT_NAME, AT_TEXT
from homing_agent.calibration.fitting import fit
from homing_agent.calibration.guarantee import (
    DELTA,
    NOTHING,
    Scored,
    choose,
    lower_bound,
    upper_bound,
)
from homing_agent.calibration.opinions import learn_opinion, opinions_of_others
from homing_agent.calibration.result import Calibrated, GroupReport
from homing_agent.evaluation.cases import Asks, Calls
from homing_agent.evaluation.judge import Asked, Called, Said, right
from homing_agent.routing.features import Point
from homing_agent.routing.learned import Learned, with_opinion
from homing_agent.routing.opinion import ANSWER, ASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from homing_agent.calibration.corrections import Correction
    from homing_agent.evaluation.cases import Case
    from homing_agent.evaluation.judge import Did
    from homing_agent.evaluation.trial import Seen, Tried

WISH: Final = 0.1
"""How often the phone may be wrong among what it keeps, unless somebody wishes otherwise."""
_LOST_AT_NAME: Final = 0.02
"""Share of the right steps that stay which may be given up to decide at the tool's name."""
_WRONGLY_IDLE: Final = 0.05
"""Share of the requests that a tool fits which may be taken for ones that none does."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A labelled case and what the phone did.

    Attributes:
        case: the case.
        phone: what it did first.
        words: what it said where no tool was to be called; None where it named none anyway.
        now: the moment of all cases.
    """

    case: Case
    phone: Tried
    words: Tried | None
    now: datetime

    @property
    def tool_fits(self) -> bool:
        """Whether any tool of the phone is right, by the labels."""
        return any(isinstance(one, Calls | Asks) for one in self.case.accepted)

    def is_right(self, did: Did) -> bool:
        """Whether the labels accept an action."""
        return right(self.case, did, self.now)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the phone would do with a case under a rule.

    Attributes:
        case: the case.
        score: chance of being right, by the rule; -1 where a hard rule sends it home.
        did: its action if it is kept.
        right: whether the labels accept that.
    """

    case: Case
    score: float
    did: Did
    right: bool

    @property
    def group(self) -> str:
        """What kind of action it is, for the report by classes."""
        if isinstance(self.did, Asked):
            return "questions"
        return "calls" if isinstance(self.did, Called) else "words"


def calibrate(
    fitting: Sequence[Trial],
    choosing: Sequence[Trial],
    wish: float = WISH,
    delta: float = DELTA,
    corrections: Sequence[Correction] = (),
) -> Calibrated:
    """Fit a rule and choose its threshold.

    Args:
        fitting: what the rule is fitted on.
        choosing: what the threshold is chosen on; none of them is among the former.
        wish: how often the phone may be wrong among what it keeps, in (0, 1).
        delta: chance that the promise does not hold, in (0, 1).
        corrections: join what the rule is fitted on.

    Raises:
        InvalidDataError: too few cases, or cases that are in both parts.
    """
    if {trial.case.id for trial in fitting} & {trial.case.id for trial in choosing}:
        msg = "a case is used both for fitting and for choosing the threshold"
        raise InvalidDataError(msg, "Use each case for one of them.")
    opinions = opinions_of_others([trial.case for trial in fitting])
    learned = _learn(fitting, corrections, opinions)
    learned = _decide_at_name(fitting, learned, opinions, wish, delta)
    outcomes = [outcome(trial, learned) for trial in choosing]
    cases = [Scored(one.score, one.right) for one in outcomes]
    tested = choose(cases, wish, delta)
    return Calibrated(
        replace(learned, keep_from=tested.threshold),
        wish,
        delta,
        tested,
        phone_error=1.0 - sum(case.right for case in cases) / max(len(cases), 1),
        groups=group_reports(
            [(one.group, one.right) for one in outcomes if one.score >= tested.threshold], delta
        ),
        fitted_on=len(fitting) + len(corrections),
    )


def group_reports(kept_cases: Iterable[tuple[str, bool]], delta: float) -> dict[str, GroupReport]:
    """What was seen of each kind of action.

    Args:
        kept_cases: of each case that is kept, its kind of action and whether it is right.
        delta: chance that a bound does not hold.
    """
    kept: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for group, is_right in kept_cases:
        kept[group] += 1
        wrong[group] += not is_right
    return {
        group: GroupReport(
            count,
            wrong[group],
            lower_bound(wrong[group], count, delta),
            upper_bound(wrong[group], count, delta),
        )
        for group, count in sorted(kept.items())
    }


def outcome(trial: Trial, learned: Learned, chances: Mapping[str, float] | None = None) -> Outcome:
    """What the phone would do with a case, and how sure the rule is of it.

    Args:
        trial: the case, and what was tried.
        learned: the rule.
        chances: a second opinion on the request; None asks the rule's own.
    """
    if chances is None:
        chances = learned.opinion.chances(trial.case.request)
    tried = trial.phone
    named = [_weighed(seen, chances) for seen in tried.all_at(Point.NAME)]
    if trial.words is not None and any(
        learned.fits.chance(numbers) < learned.fits_from for numbers in named
    ):
        tried, named = trial.words, []
    score = -1.0
    if tried.settled and all(learned.name.chance(one) >= learned.name_from for one in named):
        score = _score(tried, learned, chances)
    return Outcome(trial.case, score, tried.did, trial.is_right(tried.did))


def _score(tried: Tried, learned: Learned, chances: Mapping[str, float]) -> float:
    """The lowest chance at which it could have been sent home: each attempt is judged."""
    rules = {Point.CALL: learned.call, Point.TEXT: learned.text}
    return min(
        (rules[one.point].chance(_weighed(one, chances)) for one in tried.all_at(*rules)),
        default=-1.0,
    )


def _weighed(seen: Seen, chances: Mapping[str, float]) -> dict[str, float]:
    """What a rule weighs of what it was shown, as `LearnedRule.numbers` has it."""
    action = ANSWER if seen.point is Point.TEXT else seen.tool
    return with_opinion(seen.numbers, chances, ASK if seen.lacking else action, seen.lacking)


def _learn(
    trials: Sequence[Trial],
    corrections: Sequence[Correction],
    opinions: Mapping[str, Mapping[str, float]],
) -> Learned:
    """The rules, with a threshold that keeps nothing yet.

    Args:
        trials: the cases.
        corrections: join them.
        opinions: on each case, by id, of a classifier that has not seen it.
    """
    names: list[tuple[Mapping[str, float], bool]] = []
    fits: list[tuple[Mapping[str, float], bool]] = []
    calls: list[tuple[Mapping[str, float], bool]] = []
    texts: list[tuple[Mapping[str, float], bool]] = []
    for trial in trials:
        chances = opinions[trial.case.id]
        named = trial.phone.at(Point.NAME)
        if named is not None:
            numbers = _weighed(named, chances)
            fits.append((numbers, trial.tool_fits))
            names.append((numbers, trial.is_right(trial.phone.did)))
        for tried in (trial.phone, trial.words):
            if tried is None:
                continue
            said = isinstance(tried.did, Said)
            seen = tried.at(Point.TEXT if said else Point.CALL)
            if seen is not None and (said or tried is trial.phone):
                part = texts if said else calls
                part.append((_weighed(seen, chances), trial.is_right(tried.did)))
    for one in corrections:
        (texts if one.words else calls).append((one.numbers, one.right))
    fitting = fit(fits, AT_NAME)
    return Learned(
        fits=fitting,
        name=fit(names, AT_NAME),
        call=fit(calls, AT_CALL),
        text=fit(texts, AT_TEXT),
        fits_from=_quantile([fitting.chance(one) for one, yes in fits if yes], _WRONGLY_IDLE),
        name_from=0.0,
        keep_from=NOTHING,
        opinion=learn_opinion([trial.case for trial in trials]),
    )


def _decide_at_name(
    trials: Sequence[Trial],
    learned: Learned,
    opinions: Mapping[str, Mapping[str, float]],
    wish: float,
    delta: float,
) -> Learned:
    """The same, with a threshold for what need not wait for its arguments.

    It is chosen before the threshold that carries the promise, which therefore holds with it.
    """
    outcomes = [outcome(trial, learned, opinions[trial.case.id]) for trial in trials]
    kept = choose([Scored(one.score, one.right) for one in outcomes], wish, delta).threshold
    chances: list[float] = []
    for trial, one in zip(trials, outcomes, strict=True):
        named = trial.phone.at(Point.NAME)
        if one.right and one.score >= kept and named is not None:
            chances.append(learned.name.chance(_weighed(named, opinions[trial.case.id])))
    return replace(learned, name_from=_quantile(chances, _LOST_AT_NAME))


def _quantile(values: Iterable[float], share: float) -> float:
    """A value below which at most this share of the values lies; 0 if there are none."""
    ordered = sorted(values)
    return ordered[int(share * len(ordered))] if ordered else 0.0
