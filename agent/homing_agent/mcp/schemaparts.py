"""The single keywords of a schema from outside, each read on its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn, cast

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue

_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_MOST_CHOICES: Final = 512
_DESCRIPTION_CHARS: Final = 400
_PATTERN_CHARS: Final = 120
_NAME_CHARS: Final = 128


def merged(parts: Sequence[Mapping[str, JsonValue]]) -> dict[str, JsonValue]:
    """All of several object schemas at once."""
    properties: dict[str, JsonValue] = {}
    required: dict[str, None] = {}
    for part in parts:
        properties.update(cast("Mapping[str, JsonValue]", part.get("properties", {})))
        required.update(dict.fromkeys(cast("Sequence[str]", part.get("required", ()))))
    found: dict[str, JsonValue] = {"type": "object", "properties": properties}
    if required:
        found["required"] = list(required)
    if any(part.get("additionalProperties") is True for part in parts):
        found["additionalProperties"] = True
    return found


def chosen(part: Mapping[str, JsonValue]) -> list[JsonValue] | None:
    """The values that a node lists; None if it lists none."""
    if "const" in part:
        return [part["const"]]
    listed = part.get("enum")
    return list(cast("Sequence[JsonValue]", listed)) if listed is not None else None


def kinds_of(given: object) -> list[str]:
    """The types that a node allows; none if it does not say."""
    kinds = [given] if isinstance(given, str) else given
    if not are_texts(kinds):
        refuse("its schema is malformed")
    names = list(dict.fromkeys(cast("Sequence[str]", kinds)))
    for name in names:
        if name not in _TYPES:
            refuse(f"its schema uses the type {clean_label(name)!r}, which JSON has not")
    return names


def choices_of(given: object) -> list[JsonValue]:
    """The values of an `enum`."""
    if not isinstance(given, list) or not given:
        refuse("its schema is malformed")
    choices = cast("list[JsonValue]", given)
    if len(choices) > _MOST_CHOICES:
        refuse(f"its schema lists more than {_MOST_CHOICES} choices")
    return choices


def take_numbers(schema: Mapping[str, object], found: dict[str, JsonValue], *, whole: bool) -> None:
    """Bounds of numbers; an exclusive one becomes the next whole number, or itself."""
    for bound, exclusive, step in (
        ("minimum", "exclusiveMinimum", 1),
        ("maximum", "exclusiveMaximum", -1),
    ):
        limit = schema.get(bound)
        if number(limit):
            found[bound] = cast("JsonValue", limit)
            continue
        beyond = schema.get(exclusive)
        if number(beyond):
            edge = cast("float", beyond)
            nearest = (math.floor(edge) if step > 0 else math.ceil(edge)) + step
            found[bound] = nearest if whole else cast("JsonValue", beyond)


def take_counts(schema: Mapping[str, object], found: dict[str, JsonValue]) -> None:
    """Bounds of lengths."""
    for keyword in ("minLength", "maxLength", "minItems", "maxItems"):
        count = schema.get(keyword)
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            found[keyword] = count


def describe(schema: Mapping[str, object], found: dict[str, JsonValue]) -> None:
    """What a model is told: the description, and a pattern, which is told instead of checked."""
    said = schema.get("description")
    text = clean_label(said, _DESCRIPTION_CHARS, "") if isinstance(said, str) else ""
    pattern = schema.get("pattern")
    if isinstance(pattern, str) and pattern.isprintable() and len(pattern) <= _PATTERN_CHARS:
        text = f"{text} (matches {pattern})".strip()
    if text:
        found["description"] = text
    default = schema.get("default")
    if isinstance(default, str | int | float | bool) and len(str(default)) <= _PATTERN_CHARS:
        found["default"] = default


def number(value: object) -> bool:
    """Whether this is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def are_texts(value: object) -> bool:
    """Whether this is a list of texts."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(item, str) for item in cast("Sequence[object]", value))
    )


def shown_name(name: str) -> str:
    """A parameter's name, which a person will read."""
    if not name or len(name) > _NAME_CHARS or not name.isprintable():
        refuse("a parameter's name cannot be shown")
    return name


def refuse(why: str) -> NoReturn:
    """Raises `InvalidDataError`."""
    raise InvalidDataError(why)
