"""What an operator says of one parameter of a command, and of its place in it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from homing_core.errors import UsageError

from homing_agent.tools.home.recipe_pattern import why_too_slow

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Value: TypeAlias = str | int | float | bool

MOST_CHARS: Final = 4000
NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PLACEHOLDER: Final = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_HINT: Final = "Correct the recipe."


class ParameterKind(Enum):
    """What a value may be."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    PATH = "path"


_PLAIN: Final = frozenset({ParameterKind.INTEGER, ParameterKind.NUMBER, ParameterKind.CHOICE})
"""Kinds whose values can hold nothing that a program would take for something else."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter.

    Attributes:
        kind: what it takes.
        description: for the model.
        required: whether a call must give it; otherwise, without a default, the argument that it
            stands in is left out.
        default: taken where a call gives none.
        low, high: bounds of a number.
        pattern: what a whole string must match (Python's regular expressions).
        most_chars: of a string or path.
        choices: the words of a choice.
        folder: of a path: where it must lie.
        exists: of a path: whether it must exist, or must not.
        flag: of a boolean: the argument that stands for true; false then leaves it out.
        url: of a string: whether it may be an address or begin like one.
        at_file: of a string: whether it may begin with `@`, which many programs take for a file.
    """

    kind: ParameterKind = ParameterKind.STRING
    description: str = ""
    required: bool = True
    default: Value | None = None
    low: float | None = None
    high: float | None = None
    pattern: str = ""
    most_chars: int = 200
    choices: tuple[str, ...] = ()
    folder: Path | None = None
    exists: bool = True
    flag: str = ""
    url: bool = False
    at_file: bool = False


@dataclass(frozen=True, slots=True)
class Slot:
    """A placeholder within an argument, and what stands before and behind it."""

    before: str
    name: str
    after: str


Piece: TypeAlias = "str | tuple[Slot, ...]"
"""An argument: fixed, or with placeholders, each with the fixed text before it."""


def check_place(slot: Slot, parameter: Parameter, *, alone: bool) -> None:
    """Refuse a place where a value could become something else.

    Args:
        slot: the place.
        parameter: what fills it.
        alone: whether its argument has no other.

    Raises:
        UsageError: it could.
    """
    what = f"{{{slot.name}}}"
    whole = alone and not slot.before and not slot.after
    if parameter.flag and not whole:
        refuse("command", f"{what} stands for a flag, so it must be an argument of its own")
    if parameter.kind in _PLAIN:
        return
    if not alone or slot.after:
        refuse("command", f"{what} must be an argument of its own, or the end of one")
    if any(char.isspace() for char in slot.before):
        refuse("command", f"{what} behind white space is part of a script, not an argument")
    if slot.before and not slot.before.strip("-"):
        refuse("command", f"{what} behind nothing but a dash would let a model name any flag")


def check_parameter(key: str, parameter: Parameter) -> None:
    """Refuse words that mean nothing together: `UsageError` that begins with the key."""
    kind = parameter.kind
    allowed = {
        "min": (parameter.low is not None, {ParameterKind.INTEGER, ParameterKind.NUMBER}),
        "max": (parameter.high is not None, {ParameterKind.INTEGER, ParameterKind.NUMBER}),
        "pattern": (bool(parameter.pattern), {ParameterKind.STRING}),
        "choices": (bool(parameter.choices), {ParameterKind.CHOICE}),
        "folder": (parameter.folder is not None, {ParameterKind.PATH}),
        "flag": (bool(parameter.flag), {ParameterKind.BOOLEAN}),
        "url": (parameter.url, {ParameterKind.STRING}),
        "at_file": (parameter.at_file, {ParameterKind.STRING}),
    }
    for name, (given, kinds) in allowed.items():
        if given and kind not in kinds:
            refuse(f"{key}.{name}", f"it means nothing for a {kind.value}")
    if not 1 <= parameter.most_chars <= MOST_CHARS:
        refuse(f"{key}.max_length", f"it is not between 1 and {MOST_CHARS}")
    low, high = parameter.low, parameter.high
    if low is not None and high is not None and low > high:
        refuse(f"{key}.min", "it is above max")
    if kind is ParameterKind.CHOICE:
        _check_choices(key, parameter.choices)
    if kind is ParameterKind.PATH and (
        parameter.folder is None or not parameter.folder.is_absolute()
    ):
        refuse(f"{key}.folder", "a path needs the absolute folder that it must lie in")
    if parameter.flag and not parameter.flag.isprintable():
        refuse(f"{key}.flag", "it holds control characters")
    _check_pattern(f"{key}.pattern", parameter)


def _check_choices(key: str, choices: Sequence[str]) -> None:
    if not choices or len(set(choices)) != len(choices):
        refuse(f"{key}.choices", "a choice needs different words to choose from")
    if not all(word and word.isprintable() for word in choices):
        refuse(f"{key}.choices", "a word is empty or holds control characters")


def _check_pattern(key: str, parameter: Parameter) -> None:
    try:
        re.compile(parameter.pattern)
    except (re.error, OverflowError, RecursionError) as error:
        refuse(key, f"it is no regular expression: {error}")
    why = why_too_slow(parameter.pattern, parameter.most_chars)
    if why:
        refuse(key, why)


def pieces(text: str) -> Piece:
    """Take an argument apart; `{{` and `}}` stand for braces. Raises `UsageError`."""
    slots: list[Slot] = []
    fixed, end = "", 0
    for match in _PLACEHOLDER.finditer(text):
        fixed += text[end : match.start()]
        end = match.end()
        found = match.group()
        if found in {"{{", "}}"}:
            fixed += found[0]
        elif match.group(1) is None or not NAME.fullmatch(match.group(1)):
            refuse("command", f"a brace in {text[:60]!r} is no placeholder; write {{{{ or }}}}")
        else:
            slots.append(Slot(fixed, match.group(1), ""))
            fixed = ""
    fixed += text[end:]
    if not slots:
        return fixed
    last = slots[-1]
    return (*slots[:-1], Slot(last.before, last.name, fixed))


def refuse(key: str, why: str) -> NoReturn:
    """Raise `UsageError` that begins with the key."""
    raise UsageError(f"{key}: {why}" if key else why, _HINT)
