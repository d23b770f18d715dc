"""A server's schema in the subset that Homing checks (`homing_agent.schema`).

Servers write any JSON Schema. What cannot be checked here is left out, which only loosens: the
server itself checks its calls. Nothing is ever tightened but one thing: an object that lists its
properties is closed, so that a person is not shown what the tool would ignore.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from homing_agent.mcp.schemaparts import (
    are_texts,
    choices_of,
    chosen,
    describe,
    kinds_of,
    merged,
    refuse,
    shown_name,
    take_counts,
    take_numbers,
)
from homing_agent.schema import unsupported

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

_ANYTHING: Final[dict[str, JsonValue]] = {"additionalProperties": True}
_DEPTH: Final = 12
_MOST_NODES: Final = 2000


def simplify(schema: Mapping[str, object]) -> JsonObject:
    """The schema of a tool's arguments, so that every keyword left in it is checked.

    Raises:
        InvalidDataError: it describes nothing that can be called; the text is for a person.
    """
    found = _Simplifier(schema).node(schema, 0, ())
    if "type" not in found and "properties" in found:
        found["type"] = "object"
    problem = unsupported(found)
    if problem:
        refuse(problem)
    return found


class _Simplifier:
    """One reading of a schema; it is from outside and lies as it likes."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self._root = root
        self._nodes = 0

    def node(self, value: object, depth: int, refs: tuple[str, ...]) -> dict[str, JsonValue]:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            refuse("its schema is too large")
        if value is True:
            return dict(_ANYTHING)
        if not isinstance(value, Mapping):
            refuse("its schema is malformed")
        schema = cast("Mapping[str, object]", value)
        if depth > _DEPTH:
            return dict(_ANYTHING)
        if "$ref" in schema:
            return self._referred(schema, depth, refs)
        found = self._plain(schema, depth, refs)
        if not found and "allOf" in schema:
            found = self._all(schema["allOf"], depth, refs)
        for keyword in ("anyOf", "oneOf"):
            if not found and keyword in schema:
                found = self._any(schema[keyword], depth, refs)
        found = found or dict(_ANYTHING)
        describe(schema, found)
        return found

    def _referred(
        self, schema: Mapping[str, object], depth: int, refs: tuple[str, ...]
    ) -> dict[str, JsonValue]:
        target = schema["$ref"]
        if not isinstance(target, str) or not target.startswith("#/"):
            refuse("its schema refers to another document")
        if target in refs:
            return dict(_ANYTHING)  # it contains itself: no depth of it would be enough
        place: object = dict(self._root)
        for part in target[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            inside = cast("Mapping[str, object]", place) if isinstance(place, dict) else None
            if inside is None or name not in inside:
                refuse("its schema refers to what is not there")
            place = inside[name]
        found = self.node(place, depth + 1, (*refs, target))
        describe(schema, found)
        return found

    def _plain(
        self, schema: Mapping[str, object], depth: int, refs: tuple[str, ...]
    ) -> dict[str, JsonValue]:
        """What the node says by itself, without its combinations."""
        found: dict[str, JsonValue] = {}
        kinds = kinds_of(schema.get("type", ()))
        if not kinds and "properties" in schema:
            kinds = ["object"]
        if kinds:
            found["type"] = kinds[0] if len(kinds) == 1 else kinds
        if "enum" in schema:
            found["enum"] = choices_of(schema["enum"])
        if "const" in schema:
            found["const"] = cast("JsonValue", schema["const"])
        take_numbers(schema, found, whole=kinds == ["integer"])
        take_counts(schema, found)
        if "array" in kinds and isinstance(schema.get("items"), Mapping):
            found["items"] = self.node(schema["items"], depth + 1, refs)
        if "object" in kinds:
            self._object(schema, found, depth, refs)
        return found

    def _object(
        self,
        schema: Mapping[str, object],
        found: dict[str, JsonValue],
        depth: int,
        refs: tuple[str, ...],
    ) -> None:
        given = schema.get("properties", {})
        required = schema.get("required", [])
        if not isinstance(given, Mapping) or not are_texts(required):
            refuse("its schema is malformed")
        properties: dict[str, JsonValue] = {
            shown_name(name): self.node(inner, depth + 1, refs)
            for name, inner in cast("Mapping[str, object]", given).items()
        }
        needed = list(dict.fromkeys(cast("Sequence[str]", required)))
        for name in needed:
            # Without a place for it nobody could make a call at all.
            properties.setdefault(shown_name(name), dict(_ANYTHING))
        more = schema.get("additionalProperties", not properties)
        if depth == 0 and "additionalProperties" not in schema:
            more = False
        if properties:
            found["properties"] = properties
        if needed:
            found["required"] = needed
        if more is not False:
            found["additionalProperties"] = True

    def _all(self, branches: object, depth: int, refs: tuple[str, ...]) -> dict[str, JsonValue]:
        parts = self._branches(branches, depth, refs)
        if all(part.get("type") == "object" for part in parts):
            return merged(parts)
        return parts[0] if len(parts) == 1 else {}

    def _any(self, branches: object, depth: int, refs: tuple[str, ...]) -> dict[str, JsonValue]:
        parts = self._branches(branches, depth, refs)
        real = [part for part in parts if part.get("type") != "null"]
        if any("type" not in part and "enum" not in part and "const" not in part for part in parts):
            return {}
        choices = [chosen(part) for part in real]
        if real and all(choice is not None for choice in choices):
            listed = [value for choice in choices for value in choice or ()]
            return {"enum": [*listed, *([None] if len(real) < len(parts) else [])]}
        kinds = list(
            dict.fromkeys(kind for part in parts for kind in kinds_of(part.get("type", ())))
        )
        if not kinds or any("type" not in part for part in real):
            return {}
        found = dict(real[0]) if len(real) == 1 else {}
        if "object" in kinds and len(real) > 1:
            found["additionalProperties"] = True
        found["type"] = kinds[0] if len(kinds) == 1 else kinds
        return found

    def _branches(
        self, branches: object, depth: int, refs: tuple[str, ...]
    ) -> list[dict[str, JsonValue]]:
        if not isinstance(branches, list) or not branches:
            refuse("its schema is malformed")
        return [self.node(branch, depth + 1, refs) for branch in cast("list[object]", branches)]
