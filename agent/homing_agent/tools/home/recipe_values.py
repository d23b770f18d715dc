"""A call's values as arguments of a program: nothing in them becomes a flag, a file or a command.

The program gets each argument as one piece, so a shell's characters mean nothing. What is left is
what programs themselves read into an argument: a dash at its start, `@file`, an address, a path.
"""

from __future__ import annotations

import math
import re
import unicodedata
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, InvalidDataError, RefusedError, UsageError
from homing_core.labels import clean_label

from homing_agent.tools.home import recipe_paths
from homing_agent.tools.home.recipe_parameter import ParameterKind, refuse
from homing_agent.tools.home.recipe_spec import OUT_FOLDER

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from homing_core.canonical import JsonObject, JsonValue

    from homing_agent.tools.home.recipe_parameter import Parameter, Piece, Slot, Value
    from homing_agent.tools.home.recipe_paths import Held
    from homing_agent.tools.home.recipe_spec import Recipe

_FORBIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:\S")
_DASH: Final = "Pd"
"""The class of dashes: some programs take typographic ones for the plain one."""
_HINT: Final = "Give another value and call the tool again."
_MOST_NUMBER: Final = 1e15


@dataclass(frozen=True, slots=True)
class HeldArgument:
    """An argument that ends with a path.

    Attributes:
        before: fixed text before it.
        held: the path.
    """

    before: str
    held: Held


@contextmanager
def filled(
    recipe: Recipe, arguments: JsonObject, out_folder: Path | None
) -> Generator[tuple[str | HeldArgument, ...]]:
    """The program's arguments; paths are held open within the block.

    Args:
        recipe: what is to run.
        arguments: a call's, which fit its schema.
        out_folder: where files for the result go; None where there is no such folder.

    Raises:
        InvalidDataError: a value does not fit.
        RefusedError: a value tries to be something else.
        UnavailableError: a folder is not there.
    """
    with ExitStack() as stack:
        values: dict[str, str | Held | None] = {}
        for name, parameter in recipe.parameters.items():
            value = _value(name, parameter, arguments.get(name))
            if isinstance(value, str) and parameter.kind is ParameterKind.PATH:
                folder = parameter.folder
                if folder is None:  # a recipe is not made without
                    raise _refused(name, "has no folder")
                held = recipe_paths.hold(folder, value, exists=parameter.exists)
                stack.callback(held.close)
                values[name] = held
            else:
                values[name] = value
        yield tuple(_arguments(recipe, values, out_folder))


def check_defaults(recipe: Recipe) -> None:
    """Refuse a default that a call could not give: `UsageError` that begins with the key."""
    for name, parameter in recipe.parameters.items():
        if parameter.default is None:
            continue
        if parameter.kind is ParameterKind.BOOLEAN and not isinstance(parameter.default, bool):
            refuse(f"parameters.{name}.default", "it is neither true nor false")
        try:
            _value(name, parameter, None)
        except HomingError as error:
            refuse(f"parameters.{name}.default", error.what)


def _arguments(
    recipe: Recipe, values: Mapping[str, str | Held | None], out_folder: Path | None
) -> Generator[str | HeldArgument]:
    for piece in recipe.arguments:
        found = piece if isinstance(piece, str) else _filled(piece, values, out_folder)
        if found is not None:
            yield found


def _filled(
    piece: Piece, values: Mapping[str, str | Held | None], out_folder: Path | None
) -> str | HeldArgument | None:
    text = ""
    for slot in piece:
        if isinstance(slot, str):  # a piece with slots has nothing else
            continue
        value = _of(slot, values, out_folder)
        if value is None:
            return None
        text += slot.before
        if not isinstance(value, str):
            return HeldArgument(text, value)
        if not text and value.startswith("-") and not isinstance(value, _Own):
            raise _refused(slot.name, "begins with a dash, which would make it a flag")
        text += value + slot.after
    return text


class _Own(str):
    """A word that the operator wrote; it may be a flag."""

    __slots__ = ()


def _of(
    slot: Slot, values: Mapping[str, str | Held | None], out_folder: Path | None
) -> str | Held | None:
    if slot.name != OUT_FOLDER:
        return values[slot.name]
    if out_folder is None:
        msg = "there is no folder for the files that this makes"
        raise UsageError(msg, "Run it as a job.")
    return str(out_folder)


def _value(name: str, parameter: Parameter, given: JsonValue) -> str | None:
    """A value as text; None if its argument is left out."""
    value = parameter.default if given is None else given
    if value is None:
        if parameter.required:
            msg = f"{name!r} is missing"
            raise InvalidDataError(msg, _HINT)
        return None
    match parameter.kind:
        case ParameterKind.BOOLEAN:
            return _boolean(parameter, value)
        case ParameterKind.INTEGER | ParameterKind.NUMBER:
            return _number(name, parameter, value)
        case ParameterKind.CHOICE:
            if not isinstance(value, str) or value not in parameter.choices:
                raise _refused(name, f"is none of {', '.join(parameter.choices)}")
            return _Own(value)
        case ParameterKind.STRING | ParameterKind.PATH:
            return _text(name, parameter, value)


def _boolean(parameter: Parameter, value: JsonValue | Value) -> str | None:
    if not parameter.flag:
        return "true" if value is True else "false"
    return _Own(parameter.flag) if value is True else None


def _number(name: str, parameter: Parameter, value: JsonValue | Value) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(name, "is not a number")
    if abs(value) > _MOST_NUMBER:
        raise _refused(name, "is too large")
    if parameter.low is not None and value < parameter.low:
        raise _refused(name, f"is below {parameter.low:g}")
    if parameter.high is not None and value > parameter.high:
        raise _refused(name, f"is above {parameter.high:g}")
    if parameter.kind is ParameterKind.INTEGER and value != int(value):
        raise _refused(name, "is not a whole number")
    if value == int(value):
        return str(int(value))
    # Never an exponent: some programs do not know it.
    return f"{value:.12f}".rstrip("0").rstrip(".")


def _text(name: str, parameter: Parameter, value: JsonValue | Value) -> str:
    if not isinstance(value, str):
        raise _refused(name, "is not text")
    if not value.strip():
        msg = f"{name!r} is empty"
        raise InvalidDataError(msg, _HINT)
    if len(value) > parameter.most_chars:
        msg = f"{name!r} is longer than {parameter.most_chars} characters"
        raise InvalidDataError(msg, "Shorten it and call the tool again.")
    if any(unicodedata.category(char) in _FORBIDDEN for char in value):
        raise _refused(name, "holds line breaks or characters that cannot be seen")
    first = value.lstrip()[0]
    if first == "|":
        raise _refused(name, "begins with a |, which some programs take for a command")
    if unicodedata.category(first) == _DASH:
        raise _refused(name, "begins with a dash, which would make it a flag")
    if first == "@" and not parameter.at_file:
        raise _refused(name, "begins with an @, which some programs take for a file")
    if not parameter.url and ("://" in value or _ADDRESS.match(value.lstrip())):
        raise _refused(name, "is or begins like an address")
    if parameter.pattern and not re.fullmatch(parameter.pattern, value):
        msg = f"{name!r} does not have the form that the recipe wants"
        raise InvalidDataError(msg, f"It must match {clean_label(parameter.pattern, 200)}")
    return value


def _refused(name: str, why: str) -> RefusedError:
    return RefusedError(f"{name!r} {why}", _HINT)
