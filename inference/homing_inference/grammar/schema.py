"""Checks a tool's JSON Schema and reduces it to shapes; what no grammar can hold is named.

This module follows references and combinations; `scalars` and `containers` read the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from homing_inference.grammar.containers import ContainerReader
from homing_inference.grammar.disjoint import disjoint
from homing_inference.grammar.keywords import ALIASES, BOUNDS, KEYWORDS, TYPES, UNSUPPORTED
from homing_inference.grammar.merging import ANNOTATIONS, Conflict, merged
from homing_inference.grammar.report import MAX_DEPTH, At, Report
from homing_inference.grammar.scalars import ScalarReader
from homing_inference.grammar.shapes import (
    Anything,
    Literals,
    Nothing,
    Objects,
    Reference,
    Shape,
    ToolShape,
    flattened,
    leads_to,
    union,
)

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.tools import ToolSpec


def check_tool(tool: ToolSpec) -> ToolShape:
    """The shape of a tool's arguments.

    Raises:
        UsageError: the schema is none, or holds what a grammar cannot hold a call to; it names the
            tool, the keyword and its place.
    """
    return _Checker(tool).check()


class _Checker:
    """Walks one tool's schema."""

    def __init__(self, tool: ToolSpec) -> None:
        self._root = tool.parameters
        self._definitions: dict[str, Shape] = {}
        self._report = Report(tool.name)
        self._scalars = ScalarReader(self._report)
        self._containers = ContainerReader(self._report, self._shape)

    def check(self) -> ToolShape:
        top = dict(self._root)
        top.setdefault("type", "object")
        shape = self._shape(top, At(""))
        if not all(isinstance(one, Objects) for one in flattened(shape, self._definitions)):
            self._report.refuse("type", At(""), "the arguments are not an object")
        return ToolShape(shape, self._definitions)

    def _shape(self, schema: JsonValue, at: At) -> Shape:
        self._report.count(at)
        if schema is True:
            return Anything()
        if schema is False:
            return Nothing()
        if not isinstance(schema, Mapping):
            self._report.refuse(at.last, at, "it is no schema")
        for keyword in UNSUPPORTED:
            if keyword in schema:
                self._report.refuse(keyword, at)
        if "$ref" in schema:
            return self._reference(schema, at)
        for keyword in ("allOf", "anyOf", "oneOf"):
            if keyword in schema:
                return self._combined(keyword, schema, at)
        return self._typed(schema, at)

    def _reference(self, schema: JsonObject, at: At) -> Shape:
        reference = schema["$ref"]
        target = self._target(reference, at)
        others = {key: value for key, value in schema.items() if key not in ANNOTATIONS | {"$ref"}}
        others = {k: v for k, v in others.items() if k not in {"$defs", "definitions"}}
        if others and at.pointer:
            if not isinstance(target, Mapping):
                self._report.refuse("$ref", at)
            return self._shape(self._merge(target, others, "$ref", at), at.step("$ref"))
        name = str(reference)
        if name not in self._definitions:
            self._definitions[name] = Reference(name)  # while it is being read
            shape = self._shape(target, At(name))
            if isinstance(shape, Reference) or leads_to(shape, name, self._definitions):
                shape = self._behind(shape, name, at)
            self._definitions[name] = shape
        return Reference(name)

    def _behind(self, shape: Shape, name: str, at: At) -> Shape:
        seen = {name}
        while isinstance(shape, Reference):
            if shape.name in seen:
                self._report.refuse("$ref", at, "it only leads back to itself")
            seen.add(shape.name)
            shape = self._definitions[shape.name]
        if leads_to(shape, name, self._definitions):
            self._report.refuse("$ref", at, "it only leads back to itself")
        return shape

    def _target(self, reference: JsonValue, at: At) -> JsonValue:
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            self._report.refuse("$ref", at, "only references within the schema can be followed")
        here: JsonValue = self._root
        for step in reference.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(here, Mapping) and key in here:
                here = here[key]
            elif isinstance(here, list | tuple) and key.isdecimal() and int(key) < len(here):
                here = here[int(key)]
            else:
                self._report.refuse("$ref", at, "it leads nowhere")
        if reference == "#" and isinstance(here, Mapping):
            return {"type": "object", **here}
        return here

    def _merge(self, one: JsonObject, other: JsonObject, keyword: str, at: At) -> JsonObject:
        try:
            return merged(one, other)
        except Conflict as conflict:
            self._report.refuse(keyword, at, f"its parts cannot be joined at {str(conflict)!r}")

    def _combined(self, keyword: str, schema: JsonObject, at: At) -> Shape:
        parts = schema[keyword]
        if not isinstance(parts, list | tuple) or not parts:
            self._report.refuse(keyword, at, "it is no list of schemas")
        rest = {key: value for key, value in schema.items() if key != keyword}
        constrained = any(key not in ANNOTATIONS for key in rest)
        if keyword == "allOf":
            whole: JsonObject = rest
            for place, part in enumerate(parts):
                whole = self._merge(
                    whole, self._resolved(part, at.step(keyword, place)), keyword, at
                )
            return self._shape(whole, at.step(keyword))
        options: list[Shape] = []
        for place, part in enumerate(parts):
            here = at.step(keyword, place)
            if constrained:
                options.append(
                    self._shape(self._merge(rest, self._resolved(part, here), keyword, at), here)
                )
            else:
                options.append(self._shape(part, here))
        if keyword == "oneOf" and not disjoint(options, self._definitions):
            self._report.refuse(keyword, at, "its options can hold at the same time; use anyOf")
        return union(options)

    def _resolved(self, schema: JsonValue, at: At) -> JsonObject:
        """The schema itself, or what its references lead to, joined with what stands beside."""
        for _ in range(MAX_DEPTH):
            if schema is True:
                return {}
            if not isinstance(schema, Mapping):
                self._report.refuse(at.last, at, "it is no schema that can be joined")
            if "$ref" not in schema:
                return schema
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            target = self._target(schema["$ref"], at)
            schema = (
                self._merge(rest, target, "$ref", at) if isinstance(target, Mapping) else target
            )
        return self._report.refuse("$ref", at, "it leads on and on")

    def _typed(self, schema: JsonObject, at: At) -> Shape:
        declared = schema.get("type")
        names = self._types(declared, schema, at)
        if "const" in schema or "enum" in schema:
            return self._scalars.literals(schema, names, BOUNDS, at)
        shapes = [self._one_type(name, schema, at) for name in names]
        if schema.get("nullable") is True and "null" not in names and declared is not None:
            shapes.append(Literals((None,)))
        return union(shapes) if shapes else Anything()

    def _types(self, declared: JsonValue, schema: JsonObject, at: At) -> list[str]:
        if declared is None:
            present = [
                name
                for name in TYPES
                if name != "number" and not KEYWORDS[name].isdisjoint(schema.keys() - {"format"})
            ]
            present = ["number" if name == "integer" else name for name in present]
            return present or (["string"] if "format" in schema else [])
        names = list(declared) if isinstance(declared, list | tuple) else [declared]
        found: list[str] = []
        for name in names:
            known = ALIASES.get(name, name) if isinstance(name, str) else None
            if known == "any":
                return []
            if known not in TYPES:
                self._report.refuse("type", at, "there is no such type")
            if known not in found:
                found.append(known)
        if not found:
            self._report.refuse("type", at, "it allows nothing")
        if "number" in found and "integer" in found:
            found.remove("integer")
        return found

    def _one_type(self, name: str, schema: JsonObject, at: At) -> Shape:
        match name:
            case "object":
                return self._containers.object(schema, at)
            case "array":
                return self._containers.array(schema, at)
            case "string":
                return self._scalars.string(schema, at)
            case "integer" | "number":
                return self._scalars.number(schema, at, integer=name == "integer")
            case "boolean":
                return Literals((True, False))
            case _:
                return Literals((None,))
