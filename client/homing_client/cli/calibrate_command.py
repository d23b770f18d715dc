"""`homing calibrate`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from homing_client.cli.options import (
    AtOnce,
    CasesFile,
    ConfigFile,
    DataDir,
    EveryTool,
    Fresh,
    Json,
    Model,
    Setup,
    StandIn,
)

if TYPE_CHECKING:
    from homing_agent.calibration.book import CalibrationBook
    from homing_agent.calibration.file import Calibration

_EXAMPLES = """
[bold]Examples[/bold]

homing calibrate

homing calibrate --at-most 5

homing calibrate --show

homing calibrate --cases mine.jsonl --cases-for-threshold more.jsonl
"""
_PERCENT = 100.0
ThresholdFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--cases-for-threshold",
        metavar="FILE",
        help="Other labelled requests, to choose the threshold on.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate", epilog=_EXAMPLES)(calibrate)


def calibrate(  # noqa: PLR0913  # one for each option
    *,
    at_most: Annotated[
        float,
        typer.Option(
            "--at-most",
            metavar="PERCENT",
            min=0.5,
            max=50,
            help="How often the phone may be wrong among what it keeps.",
        ),
    ] = 10.0,
    cases: CasesFile = None,
    cases_for_threshold: ThresholdFile = None,
    show: Annotated[
        bool, typer.Option("--show", help="Only show what was calibrated before.")
    ] = False,
    every_tool: EveryTool = False,
    at_once: AtOnce = 1,
    fresh: Fresh = False,
    as_json: Json = False,
    stand_in: StandIn = False,
    model: Model = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Learn from labelled requests when the phone can be relied on.

    Some 1,280 requests are tried on the phone's own model; nothing is carried out.

    It takes about 40 minutes on a computer, 25 with --at-once 6, and longer on a phone.

    Ctrl-C is harmless: the next run goes on where this one was.
    """
    from homing_agent.evaluation.data import Part, part_file, read_cases  # noqa: PLC0415  # quick

    from homing_client.cli.trial_bar import TrialBar  # noqa: PLC0415  # as above
    from homing_client.evaluation import Where, calibrate_phone  # noqa: PLC0415  # as above

    setup = Setup(data_dir, config, stand_in, model)
    where = Where(setup.paths, setup.load(), every_tool, fresh, at_once)
    if show:
        _show_all(where.book(), as_json=as_json)
        return
    fitting = read_cases(cases or part_file(Part.FIT))
    choosing = read_cases(cases_for_threshold or part_file(Part.THRESHOLD))
    with TrialBar("trying labelled requests", quiet=as_json) as bar:
        kept, path = asyncio.run(calibrate_phone(where, fitting, choosing, at_most / _PERCENT, bar))
    _show(kept, as_json=as_json)
    if not as_json:
        _print(f"Kept in {path}; it holds from the next start of the phone's process.")


def _show_all(book: CalibrationBook, *, as_json: bool) -> None:
    from homing_core.errors import NotFoundError  # noqa: PLC0415  # keep help quick

    found = book.all()
    if not found:
        msg = "this phone was never calibrated"
        raise NotFoundError(msg, "Run `homing calibrate`.")
    for kept in found:
        _show(kept, as_json=as_json)


def _show(kept: Calibration, *, as_json: bool) -> None:
    from homing_agent.calibration.words import calibration_lines  # noqa: PLC0415  # keep help quick
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above

    if not as_json:
        for line in calibration_lines(kept):
            _print(line)
        return
    made = kept.calibrated
    print_json(
        {
            "event": "calibrated",
            "model": kept.ties.model,
            "made_at": kept.made_at,
            "corrections": kept.corrections,
            "at_most": made.wish,
            "delta": made.delta,
            "threshold": made.tested.threshold,
            "kept_share": made.tested.share,
            "kept": made.tested.kept,
            "wrong": made.tested.wrong,
            "bound": made.tested.bound,
            "cases": made.tested.cases,
            "phone_error": made.phone_error,
            "least_escalated": made.least_escalated,
        }
    )


def _print(line: str) -> None:
    from homing_client.cli.console import out, printable  # noqa: PLC0415  # keep help quick

    out.print(printable(line), markup=False, soft_wrap=True)
