"""A plain reading of JSON Schema, as far as the tools in `schemas` use it."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = {"dict": "object", "tuple": "array", "float": "number"}


def violations(value: Any, schema: Any, root: Any) -> list[str]:  # noqa: ANN401  # any JSON
    """What of a schema a value breaks: the keywords."""
    if isinstance(schema, bool):
        return [] if schema else ["false"]
    while "$ref" in schema:
        target = root
        for step in schema["$ref"].split("/")[1:]:
            target = target[step]
        schema = target
    return [*_combined(value, schema, root), *_typed(value, schema, root)]


def _combined(value: Any, schema: Any, root: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    for word in ("anyOf", "oneOf"):
        if word in schema:
            fitting = sum(not violations(value, one, root) for one in schema[word])
            if not fitting or (word == "oneOf" and fitting > 1):
                yield word
    if "const" in schema and _key(value) != _key(schema["const"]):
        yield "const"
    if "enum" in schema and _key(value) not in map(_key, schema["enum"]):
        yield "enum"


def _typed(value: Any, schema: Any, root: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    names = schema.get("type", "any")
    allowed = {_NAMES.get(one, one) for one in ([names] if isinstance(names, str) else names)}
    if allowed.isdisjoint(kinds := _kinds(value)):
        yield "type"
    elif "string" in kinds:
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield "length"
        if not re.search(schema.get("pattern", ""), value):
            yield "pattern"
    elif "number" in kinds:
        yield from _bounds(value, schema)
    elif "object" in kinds:
        yield from (f"required {name}" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            known = schema.get("properties", {})
            inner = known.get(name, schema.get("additionalProperties", True))
            yield from violations(item, inner, root)
    elif "array" in kinds:
        yield from _items(value, schema, root)


def _items(value: Any, schema: Any, root: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    first = schema.get("prefixItems", [])
    for place, item in enumerate(value):
        inner = first[place] if place < len(first) else schema.get("items", True)
        yield from violations(item, inner, root)
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        yield "items"


def _bounds(value: float, schema: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    kept = {
        "minimum": value >= schema.get("minimum", value),
        "maximum": value <= schema.get("maximum", value),
        "exclusiveMinimum": value > schema.get("exclusiveMinimum", -math.inf),
        "exclusiveMaximum": value < schema.get("exclusiveMaximum", math.inf),
        "multipleOf": "multipleOf" not in schema or value % schema["multipleOf"] == 0,
        "format": schema.get("format") != "int64" or -(2**63) <= value < 2**63,
    }
    yield from (word for word, fits in kept.items() if not fits)


def _key(value: object) -> tuple[str, str]:
    return type(value).__name__, repr(value)


def _kinds(value: object) -> set[str]:
    names = {"str": "string", "dict": "object", "list": "array", "bool": "boolean"}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"any", "number", *(["integer"] if float(value).is_integer() else [])}
    return {"any", names.get(type(value).__name__, "null")}
