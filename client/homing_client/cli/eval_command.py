"""`homing eval`."""

from __future__ import annotations

import asyncio
from enum import Enum
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
    choice,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from homing_client.evaluation import Evaluated, Where

_EXAMPLES = """
[bold]Examples[/bold]

homing eval phone-actions

homing eval phone-actions --home --out report

homing eval phone-actions --cases mine.jsonl --json

homing eval bfcl --category multiple --most 60
"""
OutFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Write report.json and report.md there, and pictures, if homing[plots] is installed.",
    ),
]


class CaseSet(Enum):
    """What can be measured."""

    PHONE_ACTIONS = "phone_actions"
    BFCL = "bfcl"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval", epilog=_EXAMPLES)(evaluate)


def evaluate(  # noqa: PLR0913  # one for each option
    which: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="phone-actions: requests to a phone. bfcl: the Berkeley leaderboard's cases.",
        ),
    ],
    *,
    part: Annotated[
        str, typer.Option("--part", metavar="PART", help="fit, threshold or test.")
    ] = "test",
    cases: CasesFile = None,
    at_home: Annotated[
        bool, typer.Option("--home", help="Try them at home, too, and compare.")
    ] = False,
    category: Annotated[
        list[str] | None,
        typer.Option("--category", metavar="NAME", help="Of bfcl; repeatable; default all."),
    ] = None,
    most: Annotated[
        int, typer.Option("--most", metavar="N", min=0, help="Of each bfcl category; 0: all.")
    ] = 100,
    every_tool: EveryTool = False,
    fresh: Fresh = False,
    at_once: AtOnce = 1,
    out: OutFolder = None,
    as_json: Json = False,
    stand_in: StandIn = False,
    model: Model = None,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Measure how often the phone is right, and how good its routing is.

    Labelled requests are tried the way the phone works on them; nothing is carried out.

    Ctrl-C is harmless: the next run goes on where this one was.

    The phone has to be calibrated for its model and tools first (homing calibrate).
    """
    from homing_agent.evaluation.data import Part, part_file, read_cases  # noqa: PLC0415  # quick

    from homing_client.cli.trial_bar import TrialBar  # noqa: PLC0415  # as above
    from homing_client.evaluation import Where  # noqa: PLC0415  # as above
    from homing_client.evaluation import evaluate as run  # noqa: PLC0415  # as above

    chosen = choice(CaseSet, which, "SET")
    setup = Setup(data_dir, config, stand_in, model)
    where = Where(setup.paths, setup.load(), every_tool, fresh, at_once)
    if chosen is CaseSet.BFCL:
        _bfcl(where, category, most, as_json=as_json)
        return
    wanted = choice(Part, part, "--part")
    found = read_cases(cases or part_file(wanted))
    name = cases.stem if cases else wanted.value
    with TrialBar("trying labelled requests", quiet=as_json) as bar:
        done = asyncio.run(run(where, found, name, bar, at_home=at_home))
    _show(done, f"phone-actions, {name}", out, as_json=as_json)


def _bfcl(where: Where, category: list[str] | None, most: int, *, as_json: bool) -> None:
    from homing_agent.evaluation.bfcl import CATEGORIES  # noqa: PLC0415  # keep help quick
    from homing_agent.evaluation.markdown import bfcl_lines, bfcl_to_json  # noqa: PLC0415  # above
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above

    from homing_client.cli.console import out as screen  # noqa: PLC0415  # as above
    from homing_client.cli.console import printable  # noqa: PLC0415  # as above
    from homing_client.cli.trial_bar import TrialBar  # noqa: PLC0415  # as above
    from homing_client.evaluation import evaluate_bfcl  # noqa: PLC0415  # as above

    with TrialBar("trying cases", quiet=as_json) as bar:
        found, model = asyncio.run(evaluate_bfcl(where, category or CATEGORIES, most, bar))
    if as_json:
        print_json({"event": "evaluated", "set": "bfcl", "model": model, **bfcl_to_json(found)})
        return
    screen.print(printable("\n".join(bfcl_lines(found))), markup=False, soft_wrap=True)


def _show(done: Evaluated, title: str, out: Path | None, *, as_json: bool) -> None:
    from homing_agent.calibration.words import calibration_lines  # noqa: PLC0415  # keep help quick
    from homing_agent.evaluation.markdown import markdown, report_to_json  # noqa: PLC0415  # above
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above

    from homing_client.cli.console import out as screen  # noqa: PLC0415  # as above
    from homing_client.cli.console import printable  # noqa: PLC0415  # as above

    lines = [
        f"{done.report.cases} requests; {done.left_out} left out, whose tools are not offered.",
        "",
        *calibration_lines(done.calibration),
    ]
    content = report_to_json(done.report)
    text = markdown(done.report, title, lines)
    if out is not None:
        _write(out, text, content, _pictures(done))
    if as_json:
        print_json({"event": "evaluated", "set": title, "model": done.model, **content})
    else:
        screen.print(printable(text), markup=False, soft_wrap=True)


def _pictures(done: Evaluated) -> Mapping[str, bytes]:
    from homing_agent.evaluation.plots import can_draw, drawn  # noqa: PLC0415  # keep help quick

    from homing_client.cli.console import aside  # noqa: PLC0415  # as above

    if can_draw():
        return drawn(done.report, done.judged)
    aside("No pictures: pip install 'homing[plots]' brings what draws them.")
    return {}


def _write(folder: Path, text: str, content: object, pictures: Mapping[str, bytes]) -> None:
    import json  # noqa: PLC0415  # keep help quick

    from homing_core.errors import UsageError  # noqa: PLC0415  # as above

    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.md").write_text(text, "utf-8")
        (folder / "report.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")
        for name, picture in pictures.items():
            (folder / name).write_bytes(picture)
    except OSError as error:
        msg = f"{folder} cannot be written: {error.strerror or 'the system refused it'}"
        raise UsageError(msg, "Choose another folder with --out.") from error
