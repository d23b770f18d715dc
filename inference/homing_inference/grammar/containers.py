"""Objects and arrays of a schema, as shapes.

Where a schema leaves open whether further properties are welcome, none are: an argument that
nobody declared is what a small model invents. `additionalProperties: true` welcomes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from homing_inference.grammar.scalars import is_text
from homing_inference.grammar.shapes import Arrays, Member, Nothing, Objects, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_core.canonical import JsonObject, JsonValue

    from homing_inference.grammar.report import At, Report

MAX_COUNT: Final = 1_000
"""Of the bounds of an array."""
MAX_PROPERTIES: Final = 200
"""Of one object."""


class ContainerReader:
    """Reads what holds further schemas.

    Args:
        report: takes what cannot be held to.
        nested: reads a schema within.
    """

    def __init__(self, report: Report, nested: Callable[[JsonValue, At], Shape]) -> None:
        """Nothing is read yet."""
        self._report = report
        self._shape = nested

    def object(self, schema: JsonObject, at: At) -> Shape:
        """An object's properties, declared and further ones."""
        properties = schema.get("properties", {})
        if not isinstance(properties, Mapping):
            self._report.refuse("properties", at, "it is no object of schemas")
        required = schema.get("required", [])
        if not isinstance(required, list | tuple):
            self._report.refuse("required", at, "it is no list of names")
        names = [name for name in required if isinstance(name, str)]
        if len(names) != len(required):
            self._report.refuse("required", at, "it is no list of names")
        if len(properties) > MAX_PROPERTIES:
            self._report.refuse("properties", at, "there are too many")
        further = schema.get("additionalProperties", None if "properties" in schema else True)
        extra = None
        if further is not None and further is not False:
            extra = self._shape(further, at.step("additionalProperties"))
        members = self._members(properties, names, extra, at)
        fewest = self._report.whole_number(schema.get("minProperties"), "minProperties", at)
        most = self._report.whole_number(schema.get("maxProperties"), "maxProperties", at)
        needed = sum(member.required for member in members)
        if fewest is not None and fewest > needed:
            self._report.refuse("minProperties", at)
        if most is not None and (extra is not None or most < len(members)):
            self._report.refuse("maxProperties", at)
        return Objects(tuple(members), extra)

    def _members(
        self,
        properties: Mapping[str, JsonValue],
        required: Sequence[str],
        extra: Shape | None,
        at: At,
    ) -> list[Member]:
        members: list[Member] = []
        for key, value in properties.items():
            if not is_text(key):
                self._report.refuse("properties", at, "a name holds what is no character")
            shape = self._shape(value, at.step("properties", key))
            if not isinstance(shape, Nothing):
                members.append(Member(key, shape, key in required))
            elif key in required:
                self._report.refuse("required", at, f"{key[:64]!r} may have no value")
        for key in dict.fromkeys(required):
            if key not in properties:
                if extra is None:
                    self._report.refuse("required", at, f"{key[:64]!r} is not among the properties")
                members.append(Member(key, extra, required=True))
        return members

    def array(self, schema: JsonObject, at: At) -> Shape:
        """An array's items and how many there may be."""
        items = schema.get("items", True)
        leading: list[Shape] = []
        prefix = schema.get("prefixItems", items if isinstance(items, list | tuple) else [])
        if not isinstance(prefix, list | tuple):
            self._report.refuse("prefixItems", at, "it is no list of schemas")
        if prefix:
            leading = [
                self._shape(one, at.step("prefixItems", place)) for place, one in enumerate(prefix)
            ]
        if isinstance(items, list | tuple):
            items = schema.get("additionalItems", True)
        further = None if items is False else self._shape(items, at.step("items"))
        least = self._report.whole_number(schema.get("minItems"), "minItems", at) or 0
        most = self._report.whole_number(schema.get("maxItems"), "maxItems", at)
        if max(least, most or 0) > MAX_COUNT:
            self._report.refuse(
                "minItems" if least > MAX_COUNT else "maxItems", at, "it is too large"
            )
        if most is not None and most < least:
            self._report.refuse("maxItems", at, "it is less than minItems")
        if further is None and least > len(leading):
            self._report.refuse("minItems", at, "there are not so many items")
        if schema.get("uniqueItems") is True and (most is None or most > 1):
            self._report.refuse("uniqueItems", at)
        return Arrays(tuple(leading), further, least, most)
