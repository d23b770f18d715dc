"""The labelled requests that come with the program."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from homing_core.errors import InvalidDataError, NotFoundError

from homing_agent.evaluation.cases import Calls, HandsOver, decode_case

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from homing_agent.evaluation.cases import Case

NOW: Final = datetime(2026, 3, 18, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))
"""When and where everything in them is said."""
_INSTALLED: Final = Path(__file__).parent / "phone_actions"
_CHECKOUT: Final = Path(__file__).parents[3] / "tests" / "data" / "phone_actions"


class Part(Enum):
    """What cases are for."""

    FIT = "fit"
    THRESHOLD = "threshold"
    TEST = "test"


def part_file(part: Part) -> Path:
    """Where a part lies.

    Raises:
        NotFoundError: this installation has no labelled requests.
    """
    for folder in (_INSTALLED, _CHECKOUT):
        path = folder / f"{part.value}.jsonl"
        if path.is_file():
            return path
    msg = "this installation has no labelled requests"
    raise NotFoundError(msg, "Give a file of your own, or install Homing from its wheel.")


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases of a file, one a line.

    Raises:
        InvalidDataError: it cannot be read, a line is no case, or two have one id.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read"
        raise InvalidDataError(
            msg, "It has to be a text file with one JSON object a line."
        ) from error
    cases = tuple(decode_case(line) for line in lines if line.strip())
    if len({case.id for case in cases}) != len(cases):
        msg = f"two cases in {path} have the same id"
        raise InvalidDataError(msg, "Give each its own.")
    return cases


def possible(cases: Sequence[Case], tools: Collection[str]) -> tuple[Case, ...]:
    """Those that can be got right with these tools: by a call, or without any."""
    return tuple(
        case
        for case in cases
        if any(not isinstance(one, Calls) or one.tool in tools for one in case.accepted)
        and not _needs_other(case, tools)
    )


def _needs_other(case: Case, tools: Collection[str]) -> bool:
    """Whether only questions and the like are left of a case whose tools are not there."""
    calls = [one for one in case.accepted if isinstance(one, Calls)]
    handed = any(isinstance(one, HandsOver) for one in case.accepted)
    return bool(calls) and not handed and not any(one.tool in tools for one in calls)
