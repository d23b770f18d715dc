"""Joins two JSON Schemas that must both hold, where that is plainly another schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

ANNOTATIONS: Final = frozenset(
    {
        "$anchor",
        "$comment",
        "$defs",
        "$id",
        "$schema",
        "default",
        "definitions",
        "deprecated",
        "description",
        "discriminator",
        "example",
        "examples",
        "readOnly",
        "title",
        "writeOnly",
    }
)
"""Keywords that say nothing about which values are valid."""

_PROPERTIES: Final = "properties"
_FURTHER: Final = "additionalProperties"
_TYPE: Final = "type"
_HIGHER: Final = frozenset({"minimum", "minLength", "minItems", "minProperties"})
_LOWER: Final = frozenset({"maximum", "maxLength", "maxItems", "maxProperties"})


class Conflict(ValueError):  # noqa: N818  # the caller turns it into an error for a person
    """The keyword at which two schemas cannot be joined."""


def merged(one: JsonObject, other: JsonObject) -> JsonObject:
    """A schema that holds where both hold.

    Raises:
        Conflict: they cannot be joined keyword by keyword.
    """
    result = dict(one)
    for key, value in other.items():
        if key not in result or result[key] == value:
            result[key] = value
        elif key not in ANNOTATIONS:
            result[key] = _joined(key, result[key], value)
    for mine, theirs in ((one, other), (other, one)):
        known = mine.get(_PROPERTIES, {})
        added = theirs.get(_PROPERTIES, {})
        if not isinstance(known, Mapping) or not isinstance(added, Mapping):
            raise Conflict(_PROPERTIES)
        if _FURTHER in mine and added.keys() - known.keys():
            raise Conflict(_FURTHER)
    return result


def _joined(key: str, one: JsonValue, other: JsonValue) -> JsonValue:
    match key:
        case "required" if isinstance(one, list | tuple) and isinstance(other, list | tuple):
            return [*one, *(name for name in other if name not in one)]
        case "properties" if isinstance(one, Mapping) and isinstance(other, Mapping):
            both = dict(one)
            for name, schema in other.items():
                mine = both.get(name)
                if isinstance(mine, Mapping) and isinstance(schema, Mapping):
                    both[name] = merged(mine, schema)
                elif mine is None or mine is True:
                    both[name] = schema
                elif schema is not True:
                    raise Conflict(key)
            return both
        case "type":
            return _common_type(one, other)
        case "enum" if isinstance(one, list | tuple) and isinstance(other, list | tuple):
            return [value for value in one if value in other]
        case _ if _is_number(one) and _is_number(other) and key in _HIGHER | _LOWER:
            pick = max if key in _HIGHER else min
            return pick(cast("float", one), cast("float", other))
        case _:
            raise Conflict(key)


def _common_type(one: JsonValue, other: JsonValue) -> JsonValue:
    mine, theirs = (
        list(each) if isinstance(each, list | tuple) else [each] for each in (one, other)
    )
    common = [name for name in mine if name in theirs]
    for some, others in ((mine, theirs), (theirs, mine)):  # a whole number is a number
        if "integer" in some and "number" in others and "integer" not in common:
            common.append("integer")
    if not common:
        raise Conflict(_TYPE)
    return common


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
