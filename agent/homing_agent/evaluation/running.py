"""Runs cases through a product's path; what is done already is not done again."""

from __future__ import annotations

import json
import os
from collections import deque
from typing import TYPE_CHECKING, Self

from homing_core.errors import InvalidDataError

from homing_agent.evaluation.records import Record, decode_record, record_to_json
from homing_agent.gathering import gathered
from homing_agent.request import RoutePreference
from homing_agent.routing.features import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from homing_agent.evaluation.cases import Case
    from homing_agent.evaluation.trial import Trials, Tried

PHONE = "phone"
WORDS = "words"
HOME = "home"


def read_records(path: Path) -> dict[tuple[str, str], Tried]:
    """What was tried before, by case and way. A last line that was cut off is dropped.

    Raises:
        InvalidDataError: another line is damaged.
    """
    try:
        lines = path.read_text("utf-8").splitlines(keepends=True)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path.name} cannot be read"
        raise InvalidDataError(msg, "Delete it to begin anew.") from error
    if lines and not lines[-1].endswith("\n"):
        path.write_text("".join(lines[:-1]), "utf-8")
        lines.pop()
    records = map(decode_record, lines)
    return {(record.case, record.way): record.tried for record in records}


async def run_cases(
    cases: Sequence[Case],
    ways: Mapping[str, Sequence[Trials]],
    path: Path,
    step: Callable[[int, int], None],
) -> dict[tuple[str, str], Tried]:
    """Try every case each way.

    Args:
        cases: the cases.
        ways: for `PHONE` and `HOME`, through what, each of which tries one case at a time beside
            the others; `WORDS` is tried with the phone's where it names a tool.
        path: where the records lie; made if it is not there.
        step: told how many of how many trials are done.

    Raises:
        InvalidDataError: earlier records are damaged.
        HomingError: an agent failed.
    """
    known = read_records(path)
    total = len(cases) * len(ways)
    done = sum((case.id, way) in known for case in cases for way in ways)
    step(done, total)
    with RecordFile(path) as file:

        async def work(way: str, trials: Trials, missing: deque[Case]) -> None:
            nonlocal done
            attempt = tried_at_home if way == HOME else tried_on_phone
            while missing:
                case = missing.popleft()
                file.keep(await attempt(case.id, case.request, trials), known)
                done += 1
                step(done, total)

        for way, pool in ways.items():
            missing = deque(case for case in cases if (case.id, way) not in known)
            await gathered(work(way, trials, missing) for trials in pool)
    return known


class RecordFile:
    """Where records are added, readable by their user alone.

    Args:
        path: the file; made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        """Open it."""
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._file = os.fdopen(descriptor, "a", encoding="utf-8")

    def __enter__(self) -> Self:
        """It is open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self._file.close()

    def keep(self, records: Iterable[Record], known: dict[tuple[str, str], Tried]) -> None:
        """Add the records of one case, and put them among what is known."""
        for record in records:
            known[record.case, record.way] = record.tried
            self._file.write(json.dumps(record_to_json(record), ensure_ascii=False) + "\n")
        self._file.flush()


async def tried_at_home(name: str, request: str, trials: Trials) -> tuple[Record, ...]:
    """Try one case at home; raises `HomingError`."""
    return (Record(name, HOME, await trials.attempt(request, route=RoutePreference.HOME)),)


async def tried_on_phone(name: str, request: str, trials: Trials) -> tuple[Record, ...]:
    """Try one case on the phone and, if it names a tool, in words as well; raises `HomingError`.

    The words come first: whoever finds the other record finds both.
    """
    tried = await trials.attempt(request)
    found = Record(name, PHONE, tried)
    if tried.at(Point.NAME) is None:
        return (found,)
    return (Record(name, WORDS, await trials.attempt(request, idle=True)), found)
