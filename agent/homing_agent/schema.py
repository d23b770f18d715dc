"""The subset of JSON Schema that tools use, checked strictly.

An unsupported keyword is named, never ignored: a constraint that nobody checks is a lie. Objects
are closed: a property that the schema does not list is refused unless `additionalProperties` is
true, because what a tool would ignore should not be shown to a person as what they allow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from homing_core.errors import InvalidDataError

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

_ANNOTATIONS = frozenset({"title", "description", "default", "examples", "format", "$schema"})
_CHECKED = frozenset(
    {
        "type",
        "properties",
        "required",
        "additionalProperties",
        "enum",
        "const",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "items",
        "minItems",
        "maxItems",
    }
)
_DEPTH = 16
_HINT = "Correct the arguments and call the tool again."


def unsupported(schema: JsonObject) -> str:
    """What in a schema cannot be checked, for a person; empty if all of it can.

    A schema must describe an object.
    """
    if schema.get("type") != "object":
        return "its parameters are not described as an object"
    return _unsupported(schema, 0)


def check_arguments(schema: JsonObject, arguments: JsonValue) -> None:
    """Check arguments against a schema that `unsupported` has passed.

    Raises:
        InvalidDataError: they do not fit; the text says where and why, for the model.
    """
    problem = _problem(schema, arguments, "the arguments", 0)
    if problem:
        raise InvalidDataError(problem, _HINT)


def _unsupported(schema: JsonValue, depth: int) -> str:
    if not isinstance(schema, Mapping):
        return "its schema is malformed"
    if depth > _DEPTH:
        return "its schema is too deep"
    for keyword in schema:
        if keyword not in _CHECKED and keyword not in _ANNOTATIONS:
            return f"its schema uses {keyword[:40]!r}, which is not supported"
    inner: list[JsonValue] = []
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping) or not _well_formed(schema):
        return "its schema is malformed"
    inner.extend(properties.values())
    if "items" in schema:
        inner.append(schema["items"])
    return next((found for found in (_unsupported(part, depth + 1) for part in inner) if found), "")


def _well_formed(schema: JsonObject) -> bool:
    kinds = schema.get("type", ())
    names = (kinds,) if isinstance(kinds, str) else kinds
    numbers = [schema[k] for k in ("minimum", "maximum") if k in schema]
    counts = [schema[k] for k in ("minLength", "maxLength", "minItems", "maxItems") if k in schema]
    required = schema.get("required", ())
    return (
        isinstance(names, Sequence)
        and all(isinstance(name, str) and name in _TYPE_CHECKS for name in names)
        and isinstance(required, Sequence)
        and not isinstance(required, str)
        and all(isinstance(name, str) for name in required)
        and isinstance(schema.get("enum", ()), Sequence)
        and not isinstance(schema.get("enum", ()), str)
        and isinstance(schema.get("additionalProperties", False), bool)
        and all(_is("number", number) for number in numbers)
        and all(_is("integer", count) for count in counts)
    )


def _is_integer(value: JsonValue) -> bool:
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_array(value: JsonValue) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


_TYPE_CHECKS: Mapping[str, Callable[[JsonValue], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_integer,
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, Mapping),
    "array": _is_array,
    "null": lambda value: value is None,
}


def _is(kind: str, value: JsonValue) -> bool:
    return _TYPE_CHECKS[kind](value)


def _problem(schema: JsonObject, value: JsonValue, where: str, depth: int) -> str:
    if depth > _DEPTH:
        return f"{where} are nested too deeply"
    kinds = schema.get("type")
    if kinds is not None:
        names = (kinds,) if isinstance(kinds, str) else cast("Sequence[str]", kinds)
        if not any(_is(name, value) for name in names):
            return f"{where} must be {_article(' or '.join(names))}"
    if "enum" in schema and not _among(value, cast("Sequence[JsonValue]", schema["enum"])):
        allowed = ", ".join(str(v) for v in cast("Sequence[JsonValue]", schema["enum"]))
        return f"{where} must be one of: {allowed}"
    if "const" in schema and not _among(value, (schema["const"],)):
        return f"{where} must be {schema['const']}"
    return _size_problem(schema, value, where) or _inner_problem(schema, value, where, depth)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _among(value: JsonValue, choices: Sequence[JsonValue]) -> bool:
    # In Python True == 1; in JSON it is not.
    return any(value == choice and _is_bool(value) == _is_bool(choice) for choice in choices)


def _is_bool(value: JsonValue) -> bool:
    return isinstance(value, bool)


def _size_problem(schema: JsonObject, value: JsonValue, where: str) -> str:
    if isinstance(value, bool):
        return ""
    size: float
    if isinstance(value, int | float):
        low, high, size, unit = "minimum", "maximum", value, ""
    elif isinstance(value, str):
        low, high, size, unit = "minLength", "maxLength", len(value), " characters"
    elif isinstance(value, Sequence):
        low, high, size, unit = "minItems", "maxItems", len(value), " items"
    else:
        return ""
    if low in schema and size < cast("float", schema[low]):
        return f"{where} must be at least {_bound(schema[low], unit)}"
    if high in schema and size > cast("float", schema[high]):
        return f"{where} must be at most {_bound(schema[high], unit)}"
    return ""


def _bound(value: JsonValue, unit: str) -> str:
    """A bound for a person: `600`, not `600.0`; `1 character`."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return f"{whole}{unit[:-1] if unit and whole == 1 else unit}"


def _inner_problem(schema: JsonObject, value: JsonValue, where: str, depth: int) -> str:
    if isinstance(value, Mapping):
        missing = [n for n in cast("Sequence[str]", schema.get("required", ())) if n not in value]
        if missing:
            return f"{missing[0]!r} is missing"
        problems = (_member_problem(schema, name, value[name], depth) for name in value)
        return next((found for found in problems if found), "")
    if _is_array(value) and "items" in schema:
        items = cast("JsonObject", schema["items"])
        problems = (
            _problem(items, item, f"item {number} of {where}", depth + 1)
            for number, item in enumerate(cast("Sequence[JsonValue]", value), start=1)
        )
        return next((found for found in problems if found), "")
    return ""


def _member_problem(schema: JsonObject, name: str, value: JsonValue, depth: int) -> str:
    properties = cast("Mapping[str, JsonObject]", schema.get("properties", {}))
    if name in properties:
        return _problem(properties[name], value, repr(name), depth + 1)
    if schema.get("additionalProperties") is True:
        return ""
    return f"there is no parameter {name[:40]!r}"
