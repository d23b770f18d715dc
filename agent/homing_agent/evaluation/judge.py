"""Whether what was done first is what a label accepts. Pure.

Words for times and lengths are read as the tools read them, so that "tomorrow at nine" and
"2026-03-19 09:00" are equally right, and what no tool would understand is wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from homing_core.errors import HomingError

from homing_agent.evaluation.cases import Answers, Asks, Calls, Declines, HandsOver
from homing_agent.tools.durations import parse_duration
from homing_agent.tools.when import parse_when

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from homing_core.canonical import JsonObject, JsonValue

    from homing_agent.evaluation.cases import Action, Case, Constraint, Words

_LONGEST: Final = timedelta(days=400)
_NUMBER: Final = re.compile(r"[\d.,]*\d")
_SPACE: Final = re.compile(r"\s+")
_GROUPING: Final = re.compile(r"[\s()./-]")
_QUESTION_MARKS: Final = ("?", "\N{FULLWIDTH QUESTION MARK}")


@dataclass(frozen=True, slots=True)
class Called:
    """A tool was called first.

    Attributes:
        tool: its name.
        arguments: as it would run.
    """

    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Asked:
    """The person was asked first.

    Attributes:
        parameters: for what; empty where the question is the model's own words.
    """

    parameters: frozenset[str] = field(default=frozenset())


@dataclass(frozen=True, slots=True)
class Said:
    """There were words only.

    Attributes:
        text: the words.
    """

    text: str


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The step went to a node."""


Did: TypeAlias = Called | Asked | Said | HandedOver


def right(case: Case, did: Did, now: datetime) -> bool:
    """Whether a label accepts what was done.

    Args:
        case: the label.
        did: what was done first.
        now: the moment at which it was asked, with its zone.
    """
    return any(_accepts(action, did, now) for action in case.accepted)


def _accepts(action: Action, did: Did, now: datetime) -> bool:
    match action, did:
        case Calls(tool, arguments), Called(called, given):
            fits = tool == called and _fit(arguments, given, now)
        case Asks(wanted), Asked(parameters):
            fits = not parameters or bool(wanted & parameters)
        case Asks(), Said(text):
            fits = any(mark in text for mark in _QUESTION_MARKS)
        case Answers(has, lacks), Said(text):
            fits = bool(text.strip()) and _occur(has, lacks, text, _said)
        case Declines(), Said(text):
            fits = bool(text.strip())
        case _:
            fits = isinstance(action, HandsOver) and isinstance(did, HandedOver)
    return fits


def _fit(wanted: Mapping[str, Constraint], given: JsonObject, now: datetime) -> bool:
    if given.keys() - wanted.keys():
        return False
    return all(
        _holds(constraint, given[name], now) if name in given else constraint.optional
        for name, constraint in wanted.items()
    )


def _holds(wanted: Constraint, value: JsonValue, now: datetime) -> bool:
    if wanted.among and not any(_same(value, one) for one in wanted.among):
        return False
    text = value if isinstance(value, str) else str(value)
    if not _occur(wanted.has, wanted.lacks, text, _given):
        return False
    if wanted.moments or wanted.days:
        try:
            moment = parse_when(text, now)
        except HomingError:
            return False
        if wanted.moments and not (
            moment.has_time and f"{moment.at:%Y-%m-%dT%H:%M}" in wanted.moments
        ):
            return False
        if wanted.days and f"{moment.at:%Y-%m-%d}" not in wanted.days:
            return False
    return not wanted.seconds or _seconds(text) == wanted.seconds


def _seconds(text: str) -> float:
    try:
        return parse_duration(text, _LONGEST).total_seconds()
    except HomingError:
        return 0.0


def _same(value: JsonValue, wanted: JsonValue) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value.strip().casefold() == wanted.strip().casefold()
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _occur(has: Words, lacks: Words, text: str, occurs: Callable[[str, str], bool]) -> bool:
    plain = _SPACE.sub(" ", text).lower()
    return all(any(occurs(word, plain) for word in words) for words in has) and not any(
        occurs(word, plain) for words in lacks for word in words
    )


def _said(word: str, text: str) -> bool:
    """Whether an answer says it; a number only as a whole: `4` is not in `42`."""
    if not _NUMBER.fullmatch(word):
        return word in text
    return re.search(rf"(?<![\d.,]){re.escape(word)}(?![.,]?\d)", text) is not None


def _given(word: str, text: str) -> bool:
    """Whether an argument has it; a number of a telephone is grouped in any way."""
    return word in text or (word.isdigit() and word in _GROUPING.sub("", text))
