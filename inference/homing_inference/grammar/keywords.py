"""JSON Schema's words: types, what bounds values of each, and what no grammar can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ALIASES: Final = {
    "dict": "object",
    "list": "array",
    "tuple": "array",
    "int": "integer",
    "float": "number",
    "double": "number",
    "str": "string",
    "bool": "boolean",
}
TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")
KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset(
        {"properties", "required", "additionalProperties", "minProperties", "maxProperties"}
    ),
    "array": frozenset(
        {"items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"}
    ),
    "string": frozenset({"minLength", "maxLength", "pattern", "format"}),
    "integer": frozenset(
        {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}
    ),
    "number": frozenset(
        {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "format"}
    ),
    "boolean": frozenset(),
    "null": frozenset(),
}
BOUNDS: Final = frozenset[str]().union(*KEYWORDS.values())
UNSUPPORTED: Final = (
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "maxContains",
    "contentSchema",
    "$dynamicRef",
    "$recursiveRef",
)
