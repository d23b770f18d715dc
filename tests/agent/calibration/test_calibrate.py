"""From trials to a rule: fitted on one part, its threshold chosen on another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from homing_agent.calibration.calibrate import calibrate, outcome
from homing_agent.calibration.corrections import Correction
from homing_agent.calibration.guarantee import NOTHING
from homing_agent.calibration.words import calibration_lines
from homing_agent.evaluation.judge import Called
from homing_core.errors import InvalidDataError
from support.calibrations import calibration, learned, trials

FITTING = trials(400, "fit", 1)
CHOOSING = trials(400, "choose", 2)


def test_the_promise_holds_on_cases_that_nobody_looked_at() -> None:
    made = calibrate(FITTING, CHOOSING, wish=0.3)
    assert made.tested.cases == 400
    assert made.tested.bound <= 0.3
    assert made.tested.share > 0.2
    assert made.fitted_on == 400
    fresh = [outcome(one, made.learned) for one in trials(4000, "fresh", 3)]
    kept = [one for one in fresh if one.score >= made.learned.keep_from]
    assert len(kept) / len(fresh) == pytest.approx(made.tested.share, abs=0.08)
    assert sum(not one.right for one in kept) / len(kept) <= 0.3
    assert 0.3 < made.phone_error < 0.7
    assert made.least_escalated == pytest.approx((made.phone_error - 0.3) / 0.7)


def test_a_wish_that_cannot_be_kept_keeps_nothing() -> None:
    made = calibrate(FITTING, CHOOSING, wish=0.001)
    assert made.learned.keep_from == NOTHING
    assert made.tested.kept == 0
    assert made.groups == {}
    lines = "\n".join(calibration_lines(replace(calibration(), calibrated=made)))
    assert "the phone keeps nothing by itself" in lines


def test_what_is_kept_is_reported_by_kind_of_action() -> None:
    made = calibrate(FITTING, CHOOSING, wish=0.3)
    assert sum(group.kept for group in made.groups.values()) == made.tested.kept
    assert sum(group.wrong for group in made.groups.values()) == made.tested.wrong
    lines = "\n".join(calibration_lines(replace(calibration(), calibrated=made)))
    assert f"The phone keeps {made.tested.share:.0%}" in lines
    assert "calls: " in lines


def test_no_case_is_used_twice() -> None:
    with pytest.raises(InvalidDataError, match="both for fitting and for choosing"):
        calibrate(FITTING, [*CHOOSING, FITTING[0]])


def test_corrections_move_the_rule_and_not_the_cases_of_the_threshold() -> None:
    wrong = Correction("r", right=False, model="m", words=False, numbers={"name_log": 0.9})
    plain = calibrate(FITTING, CHOOSING, wish=0.3)
    taught = calibrate(FITTING, CHOOSING, wish=0.3, corrections=[wrong] * 100)
    assert taught.tested.cases == plain.tested.cases
    assert taught.fitted_on == 500
    sure = {"name_log": 0.9}
    assert taught.learned.call.chance(sure) < plain.learned.call.chance(sure) - 0.05


def test_where_no_tool_fits_the_words_are_what_counts() -> None:
    trial = FITTING[1]
    assert trial.words is not None
    kept = outcome(trial, learned(fits_from=0.0))
    words = outcome(trial, learned(fits_from=1.0))
    assert isinstance(kept.did, Called)
    assert words.did == trial.words.did
    assert words.group == "words"


def test_what_is_doubted_at_the_name_is_not_kept() -> None:
    assert outcome(FITTING[0], learned(name_from=1.0)).score == -1.0
    assert outcome(FITTING[0], learned()).score > 0


def test_what_a_hard_rule_ended_is_not_kept() -> None:
    broken = replace(FITTING[0], phone=replace(FITTING[0].phone, settled=False))
    assert outcome(broken, learned()).score == -1.0
