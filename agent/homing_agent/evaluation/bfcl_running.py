"""Tries BFCL's cases on the phone's own path, and counts. Each case brings its own tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from homing_agent.calibration.guarantee import lower_bound, upper_bound
from homing_agent.evaluation.bfcl import BfclTool
from homing_agent.evaluation.judge import Called
from homing_agent.evaluation.records import Record
from homing_agent.evaluation.report import Interval
from homing_agent.evaluation.running import PHONE, RecordFile, read_records
from homing_agent.evaluation.trial import Trials
from homing_agent.registry import Registry
from homing_agent.routing.features import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from homing_agent.evaluation.bfcl import BfclCase, BfclJudge
    from homing_agent.evaluation.trial import Tried
    from homing_agent.parts import Parts

_TAIL: Final = 0.025
"""Chance beyond each end of an interval."""


@dataclass(frozen=True, slots=True)
class BfclResult:
    """What was counted in a category. Shares with 95% intervals (Clopper and Pearson).

    Attributes:
        cases: tried.
        right: by the package's rules.
        valid: of the calls, how many fitted their schema at the first attempt.
    """

    cases: int
    right: Interval
    valid: Interval | None


def sample(cases: Sequence[BfclCase], most: int) -> tuple[BfclCase, ...]:
    """At most so many, evenly spread over the data, always the same ones; 0 takes all."""
    if not most or most >= len(cases):
        return tuple(cases)
    return tuple(cases[number * len(cases) // most] for number in range(most))


async def run_bfcl(
    cases: Sequence[BfclCase], parts: Parts, path: Path, step: Callable[[int, int], None]
) -> dict[tuple[str, str], Tried]:
    """Try every case; what is done already is not done again.

    Args:
        cases: the cases.
        parts: of the phone's agent; its tools are not used.
        path: where the records lie.
        step: told how many of how many are done.

    Raises:
        InvalidDataError: earlier records are damaged.
        HomingError: the model failed.
    """
    known = read_records(path)
    done = sum((case.id, PHONE) in known for case in cases)
    step(done, len(cases))
    with RecordFile(path) as file:
        for case in cases:
            if (case.id, PHONE) in known:
                continue
            tools = [BfclTool(spec) for spec in case.tools]
            # A calibration never holds for tools that were not there, so the hand-made rule does.
            trials = Trials(replace(parts, registry=Registry(tools)), tools, looks=True)
            await trials.warm()
            file.keep([Record(case.id, PHONE, await trials.attempt(case.request))], known)
            done += 1
            step(done, len(cases))
    return known


def count_bfcl(
    cases: Sequence[BfclCase],
    records: Mapping[tuple[str, str], Tried],
    judge: BfclJudge,
) -> BfclResult:
    """Count a category. Pure but for the checker.

    Args:
        cases: that were tried.
        records: what came of it.
        judge: knows what is right.
    """
    right = sum(judge.right(case, records[case.id, PHONE].did) for case in cases)
    calls = [tried for case in cases if isinstance((tried := records[case.id, PHONE]).did, Called)]
    valid = sum(_first_failures(tried) == 0 for tried in calls)
    return BfclResult(
        len(cases),
        _interval(right, len(cases)),
        _interval(valid, len(calls)) if calls else None,
    )


def _first_failures(tried: Tried) -> float:
    """Attempts that had failed before the call that counts."""
    seen = tried.at(Point.CALL)
    return 0.0 if seen is None else seen.numbers.get("failures", 0.0)


def _interval(count: int, cases: int) -> Interval:
    return Interval(
        count / cases, lower_bound(count, cases, _TAIL), upper_bound(count, cases, _TAIL)
    )
