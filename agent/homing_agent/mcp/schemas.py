"""A server's schema in the subset that Homing checks (`homing_agent.schema`).

Servers write any JSON Schema. What cannot be checked here is left out, which only loosens: the
server itself checks its calls. Nothing is ever tightened but one thing: an object that lists its
properties is closed, so that a person is not shown what the tool would ignore.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NoReturn, cast

from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label

from homing_agent.schema import unsupported

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

_ANYTHING: Final[dict[str, JsonValue]] = {"additionalProperties": True}
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "object", "array", "null"})
_DEPTH: Final = 12
_MOST_NODES: Final = 2000
_MOST_CHOICES: Final = 512
_DESCRIPTION_CHARS: Final = 400
_PATTERN_CHARS: Final = 120
_NAME_CHARS: Final = 128


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
        _refuse(problem)
    return found


class _Simplifier:
    """One reading of a schema; it is from outside and lies as it likes."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self._root = root
        self._nodes = 0

    def node(self, value: object, depth: int, refs: tuple[str, ...]) -> dict[str, JsonValue]:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            _refuse("its schema is too large")
        if value is True:
            return dict(_ANYTHING)
        if not isinstance(value, Mapping):
            _refuse("its schema is malformed")
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
        _describe(schema, found)
        return found

    def _referred(
        self, schema: Mapping[str, object], depth: int, refs: tuple[str, ...]
    ) -> dict[str, JsonValue]:
        target = schema["$ref"]
        if not isinstance(target, str) or not target.startswith("#/"):
            _refuse("its schema refers to another document")
        if target in refs:
            return dict(_ANYTHING)  # it contains itself: no depth of it would be enough
        place: object = self._root
        for part in target[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(place, Mapping) or name not in place:
                _refuse("its schema refers to what is not there")
            place = cast("Mapping[str, object]", place)[name]
        found = self.node(place, depth + 1, (*refs, target))
        _describe(schema, found)
        return found

    def _plain(
        self, schema: Mapping[str, object], depth: int, refs: tuple[str, ...]
    ) -> dict[str, JsonValue]:
        """What the node says by itself, without its combinations."""
        found: dict[str, JsonValue] = {}
        kinds = _kinds(schema.get("type", ()))
        if not kinds and "properties" in schema:
            kinds = ["object"]
        if kinds:
            found["type"] = kinds[0] if len(kinds) == 1 else kinds
        if "enum" in schema:
            found["enum"] = _choices(schema["enum"])
        if "const" in schema:
            found["const"] = cast("JsonValue", schema["const"])
        _numbers(schema, found, whole=kinds == ["integer"])
        _counts(schema, found)
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
        if not isinstance(given, Mapping) or not _texts(required):
            _refuse("its schema is malformed")
        properties: dict[str, JsonValue] = {
            _name(name): self.node(inner, depth + 1, refs)
            for name, inner in cast("Mapping[str, object]", given).items()
        }
        needed = list(dict.fromkeys(cast("Sequence[str]", required)))
        for name in needed:
            # Without a place for it nobody could make a call at all.
            properties.setdefault(_name(name), dict(_ANYTHING))
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
            return _merged(parts)
        return parts[0] if len(parts) == 1 else {}

    def _any(self, branches: object, depth: int, refs: tuple[str, ...]) -> dict[str, JsonValue]:
        parts = self._branches(branches, depth, refs)
        real = [part for part in parts if part.get("type") != "null"]
        if any("type" not in part and "enum" not in part and "const" not in part for part in parts):
            return {}
        choices = [_chosen(part) for part in real]
        if real and all(choice is not None for choice in choices):
            listed = [value for choice in choices for value in choice or ()]
            return {"enum": [*listed, *([None] if len(real) < len(parts) else [])]}
        kinds = list(dict.fromkeys(kind for part in parts for kind in _kinds(part.get("type", ()))))
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
            _refuse("its schema is malformed")
        return [self.node(branch, depth + 1, refs) for branch in cast("list[object]", branches)]


def _merged(parts: Sequence[Mapping[str, JsonValue]]) -> dict[str, JsonValue]:
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


def _chosen(part: Mapping[str, JsonValue]) -> list[JsonValue] | None:
    if "const" in part:
        return [part["const"]]
    listed = part.get("enum")
    return list(cast("Sequence[JsonValue]", listed)) if listed is not None else None


def _kinds(given: object) -> list[str]:
    kinds = [given] if isinstance(given, str) else given
    if not _texts(kinds):
        _refuse("its schema is malformed")
    names = list(dict.fromkeys(cast("Sequence[str]", kinds)))
    for name in names:
        if name not in _TYPES:
            _refuse(f"its schema uses the type {clean_label(name)!r}, which JSON has not")
    return names


def _choices(given: object) -> list[JsonValue]:
    if not isinstance(given, list) or not given:
        _refuse("its schema is malformed")
    choices = cast("list[JsonValue]", given)
    if len(choices) > _MOST_CHOICES:
        _refuse(f"its schema lists more than {_MOST_CHOICES} choices")
    return choices


def _numbers(schema: Mapping[str, object], found: dict[str, JsonValue], *, whole: bool) -> None:
    for bound, exclusive, step in (
        ("minimum", "exclusiveMinimum", 1),
        ("maximum", "exclusiveMaximum", -1),
    ):
        limit = schema.get(bound)
        if _number(limit):
            found[bound] = cast("JsonValue", limit)
            continue
        beyond = schema.get(exclusive)
        if _number(beyond):
            edge = cast("float", beyond)
            nearest = (math.floor(edge) if step > 0 else math.ceil(edge)) + step
            found[bound] = nearest if whole else cast("JsonValue", beyond)


def _counts(schema: Mapping[str, object], found: dict[str, JsonValue]) -> None:
    for keyword in ("minLength", "maxLength", "minItems", "maxItems"):
        count = schema.get(keyword)
        if isinstance(count, int) and not isinstance(count, bool) and count >= 0:
            found[keyword] = count


def _describe(schema: Mapping[str, object], found: dict[str, JsonValue]) -> None:
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


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _texts(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(item, str) for item in cast("Sequence[object]", value))
    )


def _name(name: str) -> str:
    if not name or len(name) > _NAME_CHARS or not name.isprintable():
        _refuse("a parameter's name cannot be shown")
    return name


def _refuse(why: str) -> NoReturn:
    raise InvalidDataError(why)
