"""Runs cases through a product's path; what is done already is not done again."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from homing_core.errors import InvalidDataError

from homing_agent.evaluation.judge import Called
from homing_agent.evaluation.records import Record, decode_record, record_to_json
from homing_agent.request import RoutePreference

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
    ways: Mapping[str, Trials],
    path: Path,
    step: Callable[[int, int], None],
) -> dict[tuple[str, str], Tried]:
    """Try every case each way.

    Args:
        cases: the cases.
        ways: for `PHONE` and `HOME`, through what; `WORDS` is tried with the phone's where it
            called a tool.
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
    with os.fdopen(
        os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8"
    ) as file:
        for way, trials in ways.items():
            missing = [case for case in cases if (case.id, way) not in known]
            for case in missing:
                for record in await _tried(case, way, trials):
                    known[record.case, record.way] = record.tried
                    file.write(json.dumps(record_to_json(record), ensure_ascii=False) + "\n")
                file.flush()
                done += 1
                step(done, total)
    return known


async def _tried(case: Case, way: str, trials: Trials) -> Iterable[Record]:
    if way == HOME:
        tried = await trials.attempt(case.request, route=RoutePreference.HOME)
        return [Record(case.id, HOME, tried)]
    tried = await trials.attempt(case.request)
    found = [Record(case.id, way, tried)]
    if isinstance(tried.did, Called):
        words = await trials.attempt(case.request, idle=True)
        found.insert(0, Record(case.id, WORDS, words))
    return found
