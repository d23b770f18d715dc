"""Trials and labels into what a report counts. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_agent.calibration.calibrate import Trial, outcome
from homing_agent.evaluation.cases import HandsOver
from homing_agent.evaluation.judge import right
from homing_agent.evaluation.report import Judged
from homing_agent.evaluation.running import HOME, PHONE, WORDS
from homing_agent.routing.features import Point

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from homing_agent.evaluation.cases import Case
    from homing_agent.evaluation.trial import Tried
    from homing_agent.routing.learned import Learned


def trials_of(
    cases: Sequence[Case], records: Mapping[tuple[str, str], Tried], now: datetime
) -> tuple[Trial, ...]:
    """The cases that were tried on the phone.

    Args:
        cases: labelled.
        records: what was tried, by case and way.
        now: when everything in them is said.
    """
    return tuple(
        Trial(case, records[case.id, PHONE], records.get((case.id, WORDS)), now)
        for case in cases
        if (case.id, PHONE) in records
    )


def judged(
    trials: Sequence[Trial], records: Mapping[tuple[str, str], Tried], learned: Learned
) -> tuple[Judged, ...]:
    """Each case as the report counts it."""
    return tuple(_judged(trial, records.get((trial.case.id, HOME)), learned) for trial in trials)


def _judged(trial: Trial, home: Tried | None, learned: Learned) -> Judged:
    found = outcome(trial, learned)
    case = trial.case
    handed = any(isinstance(one, HandsOver) for one in case.accepted)
    at_home = None if home is None else handed or right(case, home.did, trial.now)
    return Judged(
        id=case.id,
        kind=case.kind.value,
        group=found.group,
        score=found.score,
        plain=_plain(trial.phone),
        phone=found.right,
        home=at_home,
        phone_ms=trial.phone.ttft_ms,
        home_ms=-1.0 if home is None else home.ttft_ms,
    )


def _plain(tried: Tried) -> float:
    """What a router without a learned rule would go by: the model's own probability."""
    for point, name in ((Point.CALL, "name_probability"), (Point.TEXT, "text_token_probability")):
        seen = tried.at(point)
        if seen is not None and tried.settled and name in seen.numbers:
            return seen.numbers[name]
    return -1.0
