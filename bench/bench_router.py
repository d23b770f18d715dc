"""How often the phone is right, what it keeps, what home adds, and what deciding costs.

Everything goes through the product's own path (`homing calibrate`, `homing eval`), with the
stand-ins: 0.5B at four bits on the phone, 1.5B at four bits at home. It takes about an hour and a
half the first time; trials that are done are kept in `.cache/router`, tied to model, prompt and
tools, and a run that was broken off goes on.

What was used for what: the rule is fitted on `fit.jsonl` and its threshold chosen on
`threshold.jsonl`; `test.jsonl` and the BFCL ids in the result file are reported on, and nothing was
ever chosen by them.
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from homing_agent.evaluation.bfcl import read_bfcl
from homing_agent.evaluation.bfcl_running import sample
from homing_agent.evaluation.data import Part, part_file, read_cases
from homing_agent.evaluation.plots import drawn
from homing_client.evaluation import Where, calibrate_phone, evaluate, evaluate_bfcl
from record import RESULTS, report, write_result
from router.house import HOME_MODEL, home, phone
from router.pace import decision_times

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.evaluation.report import Interval
    from homing_client.evaluation import Evaluated

WISH = 0.1
"""Error rate that is promised, and the target; its calibration is what the other figures are of."""
OTHER_WISHES = (0.2, 0.15)
BFCL = {
    "bfcl_simple": "simple_python",
    "bfcl_multiple": "multiple",
    "bfcl_live_multiple": "live_multiple",
    "bfcl_irrelevance": "irrelevance",
}
CASES = 100
"""Of each BFCL category, evenly spread."""
TIMED = 60
"""Requests to fit on that the decision is timed with."""
REACH: dict[str, tuple[str, float]] = {
    "bfcl_simple": (">=", 0.78),
    "bfcl_multiple": (">=", 0.88),
    "bfcl_live_multiple": (">=", 0.50),
    "bfcl_irrelevance": (">=", 0.75),
    "schema_valid": (">=", 1.0),
    "kept_error": ("<=", 0.10),
    "kept_share": ("report", 0.0),
    "gap_closed": (">=", 0.5),
    "with_home_over_alone": (">=", 1.15),
    "decision_over_warm_first_token": ("<=", 0.15),
}


def shows(what: str) -> Callable[[int, int], None]:
    """Progress on one line."""

    def step(done: int, of: int) -> None:
        end = "\n" if done == of else ""
        print(f"\r{what}: {done} of {of}", end=end, file=sys.stderr, flush=True)  # noqa: T201  # progress

    return step


async def promised(where: Where, wish: float) -> tuple[Evaluated, dict[str, Any]]:
    """Calibrate for a wish, and judge the rule on the part that nothing was chosen by."""
    fitting, choosing, testing = (read_cases(part_file(part)) for part in Part)
    calibration, _ = await calibrate_phone(
        where, fitting, choosing, wish, shows("calibrating on the phone")
    )
    done = await evaluate(
        where, testing, Part.TEST.value, shows("on the phone and at home"), at_home=True
    )
    made = calibration.calibrated
    return done, {
        "wish": wish,
        "fitted_on": made.fitted_on,
        "chosen_on": asdict(made.tested),
        "phone_error_there": made.phone_error,
        "least_escalated": made.least_escalated,
        "on_the_test_part": {
            name: asdict(done.report.figures[name])
            for name in ("kept_share", "kept_error", "ours", "gap_closed_at_threshold")
        },
    }


async def timed(where: Where) -> dict[str, list[float]]:
    """What deciding costs, one request at a time, under the promise that keeps most."""
    alone = replace(where, at_once=1)
    cases, choosing = read_cases(part_file(Part.FIT)), read_cases(part_file(Part.THRESHOLD))
    await calibrate_phone(alone, cases, choosing, max(OTHER_WISHES), shows("calibrating"))
    async with alone.laboratory() as lab:
        return await decision_times(lab, where.book(), cases[:: len(cases) // TIMED])


async def main() -> None:
    """Measure, print, and write bench/results/router.json."""
    setup = phone()
    where = Where(setup.paths, setup.load(), every_tool=True, at_once=6)
    with home():
        others = [(await promised(where, wish))[1] for wish in OTHER_WISHES]
        done, chosen = await promised(where, WISH)
    bfcl, model = await evaluate_bfcl(where, list(BFCL.values()), CASES, shows("BFCL"))
    times = await timed(where)
    found: dict[str, Interval] = dict(done.report.figures)
    found |= {key: bfcl[category].right for key, category in BFCL.items()}
    values = {name: one.value for name, one in found.items()}
    calls = [one.valid for one in bfcl.values() if one.valid is not None]
    values["schema_valid"] = min(one.value for one in calls)
    extra, first = times["extra_ms"], times["warm_first_token_ms"]
    values["decision_over_warm_first_token"] = sum(extra) / sum(first)
    facts = {
        "phone_model": model,
        "home_model": HOME_MODEL,
        "figures": {name: round(values[name], 4) for name in REACH},
        "intervals": {name: asdict(one) for name, one in found.items()},
        "calibrations": [chosen, *others],
        "decision_timed_with_wish": max(OTHER_WISHES),
        "report": {
            "cases": done.report.cases,
            "left_out": done.left_out,
            "kinds": done.report.kinds,
            "groups": {name: asdict(one) for name, one in done.report.groups.items()},
            "reliability": done.report.reliability,
        },
        "bfcl": {
            category: {"right": asdict(one.right), "valid": one.valid and asdict(one.valid)}
            for category, one in bfcl.items()
        },
        "ids": {
            "fitted_on": "fit.jsonl",
            "threshold_chosen_on": "threshold.jsonl",
            "reported_on": "test.jsonl",
            "bfcl_reported_on": {
                category: [case.id for case in sample(read_bfcl(category), CASES)]
                for category in BFCL.values()
            },
            "bfcl_second_look_chosen_on": "134 cases of the other ids: see docs/routing.md",
        },
        "cases": [asdict(one) for one in done.judged],
    }
    for name, picture in drawn(done.report, done.judged).items():
        (RESULTS / f"router-{name}").write_bytes(picture)
    report({name: values[name] for name in REACH}, REACH)
    print(f"written: {write_result('router', times, facts)}")  # noqa: T201  # what the command is for


if __name__ == "__main__":
    asyncio.run(main())
