"""Made-up calibrations and trials."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from homing_agent.calibration.calibrate import Trial
from homing_agent.calibration.file import Calibration, Ties
from homing_agent.calibration.guarantee import Tested
from homing_agent.calibration.result import Calibrated, GroupReport
from homing_agent.evaluation.cases import Answers, Calls, Case, Kind
from homing_agent.evaluation.data import NOW
from homing_agent.evaluation.judge import Called, Said
from homing_agent.evaluation.trial import Seen, Tried
from homing_agent.routing.features import Point
from homing_agent.routing.learned import Learned
from homing_agent.routing.linear import Linear, Term
from homing_agent.routing.opinion import ANSWER, BUCKETS, Opinion

if TYPE_CHECKING:
    from homing_agent.evaluation.judge import Did


def linear(intercept: float = 0.0, **weights: float) -> Linear:
    return Linear(intercept, {name: Term(0.5, 0.25, weight) for name, weight in weights.items()})


def learned(*, keep_from: float = 0.8, fits_from: float = 0.0, name_from: float = 0.0) -> Learned:
    rule = linear(name_probability=1.0, text_token_probability=1.0)
    opinion = Opinion((ANSWER, "act"), (0.0, 0.1), (0.5, 0.25), bytes(2 * BUCKETS))
    return Learned(rule, rule, rule, rule, fits_from, name_from, keep_from, opinion)


def calibration(*, keep_from: float = 0.8) -> Calibration:
    return Calibration(
        Ties("phone-model", "a" * 64, "b" * 64),
        1_800_000_000,
        2,
        Calibrated(
            learned(keep_from=keep_from),
            wish=0.1,
            delta=0.05,
            tested=Tested(keep_from, 100, 4, 0.09, 300),
            phone_error=0.4,
            groups={"calls": GroupReport(80, 3, 0.01, 0.09), "words": GroupReport(20, 1, 0.0, 0.2)},
            fitted_on=400,
        ),
    )


def trials(count: int, prefix: str, seed: int = 1) -> list[Trial]:
    """Requests of which the phone gets the easy ones right: the higher a feature, the easier.

    Half want a tool, half words; the phone calls a tool in most of the latter, too.
    """
    chance = random.Random(seed)  # noqa: S311  # made-up data
    found: list[Trial] = []
    for number in range(count):
        ease, wants_tool = chance.random(), number % 2 == 0
        right = chance.random() < ease
        numbers = {"name_log": ease, "call_probability": 0.9 if wants_tool else 0.4}
        accepted = (Calls("act"),) if wants_tool else (Answers((frozenset({"four"}),)),)
        case = Case(f"{prefix}-{number}", "request", Kind.PLAIN, "en", accepted)
        did: Did = Called("act" if right and wants_tool else "other", {})
        phone = Tried(
            did,
            (Seen(Point.NAME, numbers, tool="act"), Seen(Point.CALL, numbers, tool="act")),
            settled=True,
            ttft_ms=100.0,
            total_ms=200.0,
        )
        words = Tried(
            Said("four" if right else "five"),
            (Seen(Point.TEXT, {"text_token_probability": ease}),),
            settled=True,
            ttft_ms=100.0,
            total_ms=300.0,
        )
        found.append(Trial(case, phone, words, NOW))
    return found
