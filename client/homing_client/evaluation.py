"""`homing eval` and `homing calibrate`, without the command line."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_agent.calibration.book import CalibrationBook
from homing_agent.calibration.calibrate import calibrate
from homing_agent.calibration.corrections import Corrections
from homing_agent.calibration.file import Calibration
from homing_agent.evaluation.bfcl import BfclJudge, read_bfcl
from homing_agent.evaluation.bfcl_running import count_bfcl, run_bfcl, sample
from homing_agent.evaluation.data import NOW, possible
from homing_agent.evaluation.judging import judged, trials_of
from homing_agent.evaluation.report import report
from homing_agent.evaluation.running import HOME, PHONE, run_cases
from homing_core.errors import InvalidDataError

from homing_client.assembly import CALIBRATION_FOLDER
from homing_client.laboratory import laboratory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from homing_agent.evaluation.bfcl_running import BfclResult
    from homing_agent.evaluation.cases import Case
    from homing_agent.evaluation.report import Judged, Report
    from homing_agent.runtime.model_host import ModelSource
    from homing_agent.runtime.paths import ProgramPaths

    from homing_client.config import ClientConfig
    from homing_client.laboratory import Laboratory

EVALUATION_FOLDER: Final = "evaluation"
FEEDBACK_FILE: Final = "feedback.jsonl"


@dataclass(frozen=True, slots=True)
class Where:
    """Whose phone is evaluated, and how.

    Attributes:
        paths: its places.
        config: how it is set.
        every_tool: whether to offer also the tools that cannot act on this device.
        fresh: whether to forget earlier trials.
        at_once: requests that are tried side by side.
        source: where the phone's model comes from; None takes the catalog.
    """

    paths: ProgramPaths
    config: ClientConfig
    every_tool: bool = False
    fresh: bool = False
    at_once: int = 1
    source: ModelSource | None = None

    def laboratory(self) -> AbstractAsyncContextManager[Laboratory]:
        """The phone, put together for trials."""
        return laboratory(
            self.paths,
            self.config,
            NOW,
            every_tool=self.every_tool,
            at_once=self.at_once,
            source=self.source,
        )

    def book(self) -> CalibrationBook:
        """The calibrations of this phone."""
        return CalibrationBook(self.paths.data_dir / CALIBRATION_FOLDER)

    def corrections(self) -> Corrections:
        """What this phone's person said of its answers."""
        return Corrections(self.paths.data_dir / FEEDBACK_FILE)

    def records(self, lab: Laboratory, name: str) -> Path:
        """Where the trials of a set of cases are kept, for this model, prompt and set of tools."""
        folder = self.paths.data_dir / EVALUATION_FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        stem = CalibrationBook.name(lab.ties).removesuffix(".json")
        path = folder / f"{name}-{stem}.jsonl"
        if self.fresh:
            path.unlink(missing_ok=True)
        return path


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came of an evaluation.

    Attributes:
        report: the figures.
        judged: what they were counted from.
        calibration: the rule that was judged.
        model: the phone's model.
        left_out: cases whose tools are not offered.
    """

    report: Report
    judged: tuple[Judged, ...]
    calibration: Calibration
    model: str
    left_out: int


async def evaluate(
    where: Where,
    cases: Sequence[Case],
    name: str,
    step: Callable[[int, int], None],
    *,
    at_home: bool,
) -> Evaluated:
    """Try cases on the phone and, if wanted, at home, and judge the rule that holds for it.

    Args:
        where: the phone.
        cases: labelled.
        name: of this set of cases, for the file of trials.
        step: told how many of how many trials are done.
        at_home: whether to try them at home, too.

    Raises:
        InvalidDataError: the phone is not calibrated, or no case is left.
        HomingError: the model or the node failed.
    """
    async with where.laboratory() as lab:
        calibration = where.book().find(lab.ties)
        if calibration is None:
            msg = "the phone is not calibrated for this model and these tools"
            raise InvalidDataError(msg, "Run `homing calibrate` with the same options first.")
        usable = _usable(cases, lab)
        ways = {PHONE: lab.phone}
        if at_home:
            ways[HOME] = lab.home
        records = await run_cases(usable, ways, where.records(lab, name), step)
        learned = calibration.calibrated.learned
        found = judged(trials_of(usable, records, NOW), records, learned)
        return Evaluated(
            report(found, learned.keep_from),
            found,
            calibration,
            lab.engine.info.model,
            len(cases) - len(usable),
        )


async def evaluate_bfcl(
    where: Where,
    categories: Sequence[str],
    most: int,
    step: Callable[[int, int], None],
) -> tuple[dict[str, BfclResult], str]:
    """Try cases of BFCL on the phone alone.

    Args:
        where: the phone.
        categories: which.
        most: cases of each, evenly spread; 0 takes all.
        step: told how many of how many trials are done.

    Returns:
        What was counted, by category, and the phone's model.

    Raises:
        NotFoundError: the package with the cases is not installed, or there is no such category.
        HomingError: the model failed.
    """
    judge = BfclJudge()
    wanted = {name: sample(read_bfcl(name), most) for name in categories}
    cases = [case for some in wanted.values() for case in some]
    async with where.laboratory() as lab:
        records = await run_bfcl(cases, lab.parts, where.records(lab, "bfcl"), step)
        counted = {name: count_bfcl(some, records, judge) for name, some in wanted.items()}
        return counted, lab.engine.info.model


async def calibrate_phone(
    where: Where,
    fitting: Sequence[Case],
    choosing: Sequence[Case],
    wish: float,
    step: Callable[[int, int], None],
) -> tuple[Calibration, Path]:
    """Run labelled cases through the phone's model, fit its rule, and keep it.

    Args:
        where: the phone.
        fitting: what the rule is fitted on.
        choosing: what the threshold is chosen on.
        wish: how often the phone may be wrong among what it keeps.
        step: told how many of how many trials are done.

    Returns:
        The calibration, and its file.

    Raises:
        InvalidDataError: too few cases are left.
        HomingError: the model failed, or the file cannot be written.
    """
    async with where.laboratory() as lab:
        fit_cases, choose_cases = _usable(fitting, lab), _usable(choosing, lab)
        both = (*fit_cases, *choose_cases)
        records = await run_cases(both, {PHONE: lab.phone}, where.records(lab, "calibrate"), step)
        corrections = where.corrections().of(lab.ties.model)
        made = calibrate(
            trials_of(fit_cases, records, NOW),
            trials_of(choose_cases, records, NOW),
            wish,
            corrections=corrections,
        )
        kept = Calibration(lab.ties, int(time.time()), len(corrections), made)
        return kept, where.book().save(kept)


def _usable(cases: Sequence[Case], lab: Laboratory) -> tuple[Case, ...]:
    usable = possible(cases, lab.tools)
    if not usable:
        msg = "there is no case that these tools could get right"
        raise InvalidDataError(msg, "Offer every tool with --every-tool, or give other cases.")
    return usable
