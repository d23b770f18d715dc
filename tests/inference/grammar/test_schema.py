"""What of a schema is understood, and what is refused by name."""

from __future__ import annotations

import time
import tracemalloc
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from homing_core.errors import UsageError
from homing_inference.grammar.calls import Opened, Syntax
from homing_inference.grammar.report import HINT
from homing_inference.grammar.schema import check_tool
from homing_inference.grammar.shapes import Literals, Member, Numbers, Objects, Strings, Union
from support.schemas import TOOLS, tool

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue
    from homing_inference.grammar.engine import GrammarEngine


def _with(schema: JsonValue) -> JsonObject:
    return {"type": "object", "properties": {"a": schema}, "required": ["a"]}


@pytest.mark.parametrize("name", TOOLS)
def test_the_usual_schemas_are_understood(name: str) -> None:
    assert check_tool(tool(name, TOOLS[name])).parameters


def test_bfcls_types_are_json_schemas_types() -> None:
    schema: JsonObject = {"type": "dict", "properties": {"x": {"type": "float"}}}
    expected = Objects((Member("x", Numbers(integer=False), required=False),))
    assert check_tool(tool("t", schema)).parameters == expected


def test_a_schema_without_its_type_is_an_object_and_a_nullable_one_may_be_null() -> None:
    schema: JsonObject = {"properties": {"x": {"type": "string", "nullable": True}}}
    shape = check_tool(tool("t", schema)).parameters
    assert shape == Objects((Member("x", Union((Strings(), Literals((None,)))), required=False),))


def test_words_that_say_nothing_about_values_are_no_trouble() -> None:
    schema = _with({"type": "string", "title": "A", "default": "x", "examples": ["y"], "x-a": 1})
    shape = check_tool(tool("t", {**schema, "$schema": "https://json-schema.org/x"})).parameters
    assert shape == Objects((Member("a", Strings(), required=True),))


_REFUSED: list[tuple[JsonValue, str]] = [
    ({"not": {"type": "string"}}, "not"),
    ({"if": {}, "then": {}}, "if"),
    ({"type": "object", "patternProperties": {"a": {}}}, "patternProperties"),
    ({"type": "object", "propertyNames": {}}, "propertyNames"),
    ({"type": "object", "properties": {"x": {}}, "minProperties": 1}, "minProperties"),
    ({"type": "object", "maxProperties": 1}, "maxProperties"),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, "dependentRequired"),
    ({"type": "object", "properties": {}, "required": ["x"]}, "required"),
    ({"type": "array", "uniqueItems": True}, "uniqueItems"),
    ({"type": "array", "contains": {}}, "contains"),
    ({"type": "array", "minItems": 3, "maxItems": 2}, "maxItems"),
    ({"type": "array", "maxItems": 10**9}, "maxItems"),
    ({"type": "string", "pattern": "(?=a)b"}, "pattern"),
    ({"type": "string", "pattern": r"(a)\1"}, "pattern"),
    ({"type": "string", "pattern": "("}, "pattern"),
    ({"type": "string", "format": "idn-email"}, "format"),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "maxLength"),
    ({"type": "string", "maxLength": -1}, "maxLength"),
    ({"type": "integer", "minimum": 5, "maximum": 4}, "minimum"),
    ({"type": "integer", "minimum": "5"}, "minimum"),
    ({"type": "number", "minimum": float("nan")}, "minimum"),
    ({"type": "number", "minimum": 1e300}, "minimum"),
    ({"type": "integer", "multipleOf": 7}, "multipleOf"),
    ({"type": "number", "multipleOf": 0.1}, "multipleOf"),
    ({"type": "string", "enum": []}, "enum"),
    ({"type": "string", "enum": [1]}, "enum"),
    ({"enum": ["\ud800"]}, "enum"),
    ({"enum": ["a"], "minLength": 3}, "minLength"),
    ({"type": "thing"}, "type"),
    ({"type": [{}]}, "type"),
    ({"$ref": "https://example.org/schema"}, "$ref"),
    ({"$ref": "#/nowhere"}, "$ref"),
    ({"anyOf": []}, "anyOf"),
    ({"oneOf": [{"type": "string"}, {"const": "x"}]}, "oneOf"),
    ({"allOf": [{"type": "string"}, {"type": "integer"}]}, "allOf"),
    ("string", "a"),
    (None, "a"),
]


@pytest.mark.parametrize(("schema", "keyword"), _REFUSED)
def test_what_a_call_cannot_be_held_to_is_named(schema: JsonValue, keyword: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_tool(tool("set_it", _with(schema)))
    assert "'set_it'" in caught.value.what
    assert repr(keyword) in caught.value.what
    assert "/properties/a" in caught.value.what
    assert caught.value.hint == HINT


def test_arguments_that_are_no_object_are_refused() -> None:
    schemas: list[JsonObject] = [{"type": "string"}, {"type": ["object", "null"]}]
    for schema in schemas:
        with pytest.raises(UsageError, match="not an object"):
            check_tool(tool("t", schema))


def test_joined_schemas_hold_both() -> None:
    low: JsonObject = {"type": ["integer", "string"], "minimum": 3}
    high: JsonObject = {"type": "number", "minimum": 5, "maximum": 9}
    shape = check_tool(tool("t", _with({"allOf": [low, high]}))).parameters
    assert isinstance(shape, Objects)
    inner = shape.members[0].shape
    assert isinstance(inner, Numbers)
    assert inner == Numbers(integer=True, least=Fraction(5), most=Fraction(9))


def _nested(depth: int) -> JsonValue:
    schema: JsonValue = {"type": "string"}
    for _ in range(depth):
        schema = _with(schema)
    return schema


def _doubling(levels: int) -> JsonObject:
    """Each definition holds the next one twice."""
    definitions: dict[str, JsonValue] = {f"d{levels}": {"type": "string"}}
    for level in range(levels):
        following: JsonObject = {"$ref": f"#/$defs/d{level + 1}", "minLength": 0}
        definitions[f"d{level}"] = {
            "type": "object",
            "properties": {"x": following, "y": following},
        }
    return {**_with({"$ref": "#/$defs/d0"}), "$defs": definitions}


_HOSTILE: dict[str, JsonObject] = {
    "deep": _with(_nested(900)),
    "itself": {**_with({"$ref": "#/$defs/a"}), "$defs": {"a": {"$ref": "#/$defs/a"}}},
    "itself in a choice": {
        **_with({"$ref": "#/$defs/a"}),
        "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}},
    },
    "root": {"$ref": "#"},
    "doubling": _doubling(60),
    "many values": _with({"enum": [f"v{number}" for number in range(2000)]}),
    "too many values": _with({"enum": list(range(100_000))}),
    "a large value": _with({"const": "x" * 200_000}),
    "many properties": {
        "type": "object",
        "properties": {f"p{number}": {"type": "string"} for number in range(200)},
    },
    "counts in counts": _with({"type": "string", "pattern": "^((a{1000}){1000}){1000}$"}),
    "long lookback": _with({"type": "string", "pattern": "a.{40}$"}),
    "stars in stars": _with({"type": "string", "pattern": "^((a*)*b*)*$"}),
    "counts of nothing": _with({"type": "string", "pattern": "^(a{0,70}b{0,1}){0,70}$"}),
    "counts of counts": _with({"type": "string", "pattern": "^(a{1,19}b?){1,19}$"}),
    "many groups": _with({"type": "string", "pattern": "(" * 400 + ")" * 400}),
    "cubes": _with(
        {
            "type": "array",
            "minItems": 1000,
            "items": {
                "type": "array",
                "minItems": 1000,
                "items": {"type": "array", "minItems": 1000, "items": {"type": "null"}},
            },
        }
    ),
    "long string": _with({"type": "string", "minLength": 100_000}),
    "strange names": {
        "type": "object",
        "properties": {"": {"type": "string"}, 'a"</parameter>\n\x00': {"type": "string"}},
    },
}


@pytest.mark.attack
@pytest.mark.parametrize("name", _HOSTILE)
def test_a_hostile_schema_costs_little_and_fails_by_name_if_it_fails(
    engine: GrammarEngine, name: str
) -> None:
    engine.prepare()
    began = time.monotonic()
    tracemalloc.start()
    hints: list[str] = []
    for syntax in Syntax:
        try:
            _written(engine, name, syntax)
        except UsageError as error:
            hints.append(error.hint)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(hints)
    assert peak < 100 << 20
    assert time.monotonic() - began < 20


def _written(engine: GrammarEngine, name: str, syntax: Syntax) -> None:
    """Compile it and write the beginning of a call."""
    matcher = engine.calls([tool("t", _HOSTILE[name])], syntax).start(Opened.MARK)
    opening = "\n<function=t>\n" if syntax is Syntax.XML else '\n{"name": "t", "arguments": {'
    for token in engine.pieces.vocabulary.tokenize(opening):
        assert matcher.advance(token)
    for _ in range(20):
        allowed = matcher.allowed()
        assert allowed.any()
        assert matcher.advance(int(allowed.argmax()))
