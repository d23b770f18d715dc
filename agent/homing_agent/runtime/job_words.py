"""Jobs in words, alike on the node and on the phone. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from homing_core.errors import UsageError
from homing_core.jobs import JobState

if TYPE_CHECKING:
    from homing_core.jobs import JobProgress

SHORT_JOB = 6
"""Digits of a job's id that are shown; enough to name it among thousands, nearly always."""
_PREFIX = "job-"
_QUESTION = "appr-"
_LEAST = 4
_DIGITS = re.compile(r"[0-9a-f]{1,32}")
_BYTES = frozenset({"byte", "bytes", "B"})
_SIZES = ("B", "kB", "MB", "GB", "TB")
_THOUSAND = 1000
_MINUTE_S = 60
_HOUR_S = 60 * _MINUTE_S
_DAY_S = 24 * _HOUR_S
_MOST_S = 1000 * _DAY_S
_MOST = 1e15
_ROUND = 9.95
"""From here on a number needs no digit behind the point."""
_FULL = 100

STATE_WORDS = {
    JobState.QUEUED: "waits for its turn",
    JobState.RUNNING: "runs",
    JobState.WAITING_APPROVAL: "waits for a yes or no",
    JobState.UNKNOWN_EFFECT: "unknown: did this happen?",
    JobState.SUCCEEDED: "done",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
}
"""Where a job stands, for a person."""


def short_job(job: str) -> str:
    """What is shown of a job's id."""
    return job.removeprefix(_PREFIX)[:SHORT_JOB]


def job_beginning(text: str) -> str:
    """The beginning of a job's id that a person typed, with or without its kind.

    Raises:
        UsageError: no id begins like this.
    """
    digits = text.strip().lower().removeprefix(_PREFIX)
    if not _DIGITS.fullmatch(digits):
        msg = "that is not the beginning of a job's id"
        raise UsageError(msg, "Ids are in: homing jobs")
    return _PREFIX + digits


def short_question(question: str) -> str:
    """What is shown of the id of a job's question."""
    return question.removeprefix(_QUESTION)[:SHORT_JOB]


def question_beginning(text: str) -> str:
    """The beginning of a question's id that a person typed, with or without its kind.

    Never a job's: devices choose those, and could so make one answer another question.

    Raises:
        UsageError: no id begins like this, or too little of it was typed.
    """
    digits = text.strip().lower().removeprefix(_QUESTION)
    if not _DIGITS.fullmatch(digits) or len(digits) < _LEAST:
        msg = "that is not the beginning of a question's id"
        raise UsageError(msg, f"Ids, of which {_LEAST} digits are enough, are in: jobs approvals")
    return _QUESTION + digits


def size_text(size: float) -> str:
    """A number of bytes, such as `1.2 MB`; powers of 1,000."""
    for unit in _SIZES[:-1]:
        if size < _THOUSAND:
            return f"{_number(size)} {unit}"
        size /= _THOUSAND
    return f"{_number(size)} {_SIZES[-1]}"


def duration_text(seconds: float) -> str:
    """A length of time to two units, such as `2 h 10 min`."""
    whole = round(min(max(seconds, 0), _MOST_S))
    if whole < _MINUTE_S:
        return f"{whole} s"
    if whole < _HOUR_S:
        minutes, rest = divmod(whole, _MINUTE_S)
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < _ROUND else "")
    if whole < _DAY_S:
        hours, rest = divmod(whole, _HOUR_S)
        return f"{hours} h" + (f" {rest // _MINUTE_S} min" if rest >= _MINUTE_S else "")
    days, rest = divmod(whole, _DAY_S)
    return f"{days} d" + (f" {rest // _HOUR_S} h" if rest >= _HOUR_S else "")


def count_text(progress: JobProgress) -> str:
    """How far, such as `17 of 40 files` or `12 MB of 40 MB`; empty if nothing is counted."""
    if not progress.total and not progress.done:
        return ""
    if progress.unit in _BYTES:
        done, total = size_text(progress.done), size_text(progress.total)
        return f"{done} of {total}" if progress.total else done
    done, total = _number(progress.done), _number(progress.total)
    counted = f"{done} of {total}" if progress.total else done
    return f"{counted} {progress.unit}".rstrip()


def plain_number(value: float) -> float:
    """A count for a script: whole where it is whole."""
    return int(value) if float(value).is_integer() else value


def rate_text(per_second: float, unit: str) -> str:
    """How fast, such as `3.1 files/s` or `4 files/min`; empty if it is not known."""
    if per_second <= 0:
        return ""
    if unit in _BYTES:
        return f"{size_text(per_second)}/s"
    if per_second >= 1:
        return f"{_number(per_second)}{_spaced(unit)}/s"
    if per_second * _MINUTE_S >= 1:
        return f"{_number(per_second * _MINUTE_S)}{_spaced(unit)}/min"
    return f"{_number(per_second * _HOUR_S)}{_spaced(unit)}/h"


def percent(progress: JobProgress) -> int | None:
    """How much of the whole, in whole percent; None if the whole is not known."""
    if progress.total <= 0:
        return None
    if progress.done >= progress.total:
        return _FULL
    return int(_FULL * (progress.done / progress.total))


def _spaced(unit: str) -> str:
    return f" {unit}" if unit else ""


def _number(value: float) -> str:
    if value >= _MOST:
        return f"{value:.0e}"
    return f"{value:,.0f}" if value >= _ROUND else f"{value:.1f}".removesuffix(".0")
