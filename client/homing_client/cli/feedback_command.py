"""`homing feedback`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from homing_client.cli.options import ConfigFile, DataDir, Json, Setup, choice

_EXAMPLES = """
[bold]Examples[/bold]

homing feedback last wrong

homing feedback last right
"""
_LAST = "last"


class Verdict(Enum):
    """What a person says of an answer."""

    RIGHT = "right"
    WRONG = "wrong"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("feedback", epilog=_EXAMPLES)(feedback)


def feedback(
    which: Annotated[str, typer.Argument(metavar="WHICH", help="last: the last request.")],
    verdict: Annotated[str, typer.Argument(metavar="VERDICT", help="right or wrong.")],
    *,
    as_json: Json = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> None:
    """Say whether the phone did the right thing.

    It is kept on this phone and joins the next calibration (homing calibrate).
    """
    from homing_agent.calibration.corrections import (  # noqa: PLC0415  # keep help quick
        Corrections,
        correction_of,
    )
    from homing_agent.journal.sqlite import SqliteJournal  # noqa: PLC0415  # as above
    from homing_agent.runtime.cli import print_json  # noqa: PLC0415  # as above
    from homing_agent.runtime.paths import prepare_data_dir  # noqa: PLC0415  # as above
    from homing_core.errors import NotFoundError, UsageError  # noqa: PLC0415  # as above

    from homing_client.cli.console import out, printable  # noqa: PLC0415  # as above
    from homing_client.evaluation import FEEDBACK_FILE  # noqa: PLC0415  # as above

    if which != _LAST:
        msg = "feedback is given on the last request"
        raise UsageError(msg, "Say: homing feedback last wrong.")
    said = choice(Verdict, verdict, "VERDICT")
    setup = Setup(data_dir, config)
    setup.load()
    prepare_data_dir(setup.paths)
    journal = SqliteJournal.open(setup.paths.data_dir / "journal.db")
    try:
        record = journal.last_finished()
    finally:
        journal.close()
    if record is None or record.answer is None:
        msg = "nothing was asked yet"
        raise NotFoundError(msg, 'Ask something first: homing ask "what time is it?".')
    found = correction_of(record.answer, right=said is Verdict.RIGHT)
    if found is not None:
        Corrections(setup.paths.data_dir / FEEDBACK_FILE).add(found)
    if as_json:
        print_json(
            {
                "event": "feedback",
                "request_id": record.id,
                "verdict": said.value,
                "kept": found is not None,
            }
        )
        return
    kept = "Kept; it joins the next calibration (homing calibrate)."
    nothing = "The phone's rule did not decide that answer, so there is nothing for it to learn."
    out.print(printable(kept if found else nothing), markup=False, soft_wrap=True)
