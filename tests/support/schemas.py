"""Tools whose schemas use everything that a call is held to, with calls that are valid and not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.tools import ToolSpec

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue


def tool(name: str, parameters: JsonObject) -> ToolSpec:
    """A tool with this schema."""
    return ToolSpec(name, "Does something.", parameters)


def _object(properties: JsonObject, *required: str, **more: JsonValue) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(required), **more}


TOOLS: Final[dict[str, JsonObject]] = {
    "no_arguments": _object({}),
    "free_object": {"type": "object"},
    "simple": _object(
        {
            "text": {"type": "string", "description": "What to say."},
            "count": {"type": "integer"},
            "loud": {"type": "boolean"},
            "rate": {"type": "number"},
        },
        "text",
    ),
    "bfcl": {
        "type": "dict",
        "properties": {
            "city": {"type": "string", "default": "Paris"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "units": {"type": "string", "enum": ["metric", "imperial"]},
            "spot": {"type": "tuple", "items": {"type": "float"}},
            "more": {"type": "dict", "properties": {"a": {"type": "any"}}},
        },
        "required": ["city", "units"],
    },
    "choices": _object(
        {
            "one": {"enum": ["a", "ab", "a\nb", "5", "x</parameter>y"], "type": "string"},
            "mixed": {"enum": ["a", 1, 2.5, True, None, "1", {"k": [1, "z"]}]},
            "fixed": {"const": "always"},
            "number": {"const": 7},
        },
        "one",
        "mixed",
    ),
    "bounded": _object(
        {
            "code": {"type": "string", "minLength": 2, "maxLength": 5},
            "level": {"type": "integer", "minimum": -12, "exclusiveMaximum": 345},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "heat": {"type": "number", "exclusiveMinimum": -1.5, "exclusiveMaximum": 2.25},
            "list": {
                "type": "array",
                "items": {"type": "integer", "minimum": 0, "maximum": 9},
                "minItems": 2,
                "maxItems": 4,
            },
            "even": {"type": "integer", "multipleOf": 2, "minimum": 0, "maximum": 20},
            "big": {"type": "integer", "format": "int64"},
        },
        "code",
        "level",
        "share",
    ),
    "patterned": _object(
        {
            "time": {"type": "string", "pattern": "^([01]\\d|2[0-3]):[0-5]\\d$"},
            "word": {"type": "string", "pattern": "^[A-Za-zäöüß]{1,8}$"},
            "date": {"type": "string", "format": "date"},
            "id": {"type": "string", "format": "uuid"},
            "mail": {"type": "string", "format": "email"},
        },
        "time",
        "date",
    ),
    "nested": _object(
        {
            "who": _object(
                {
                    "name": {"type": "string"},
                    "age": {"type": ["integer", "null"]},
                    "address": _object({"street": {"type": "string"}}, "street"),
                },
                "name",
            ),
            "steps": {"type": "array", "items": _object({"do": {"type": "string"}}, "do")},
            "pair": {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": False,
                "minItems": 2,
            },
        },
        "who",
    ),
    "unions": _object(
        {
            "any": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "either": {
                "oneOf": [
                    _object({"kind": {"const": "a"}, "x": {"type": "integer"}}, "kind", "x"),
                    _object({"kind": {"const": "b"}, "y": {"type": "string"}}, "kind", "y"),
                ]
            },
            "maybe": {"type": ["string", "null"]},
            "or_list": {"type": ["string", "array"], "items": {"type": "string"}},
            "open": {},
        },
        "any",
    ),
    "joined": {
        **_object({"a": {"type": "string"}, "b": {"type": "string"}}),
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "tree": {
        **_object({"root": {"$ref": "#/$defs/node"}}, "root"),
        "$defs": {
            "node": _object(
                {
                    "label": {"type": "string"},
                    "left": {"$ref": "#/$defs/node"},
                    "right": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                },
                "label",
            )
        },
    },
    "welcoming": _object(
        {"known": {"type": "integer"}}, "known", additionalProperties={"type": "string"}
    ),
    "mapping": _object({"map": {"type": "object", "additionalProperties": {"type": "integer"}}}),
    "many": _object({f"p{number}": {"type": "integer"} for number in range(9)}, "p3", "p7"),
}
"""Schemas by the name of their tool."""

VALID: Final[dict[str, list[JsonObject]]] = {
    "no_arguments": [{}],
    "free_object": [{}, {"x": [1, {"y": None}], "z": "q"}],
    "simple": [
        {"text": "hello"},
        {"loud": True, "text": 'a < b & "c" \\ d\nnext ü 😀', "rate": -0.5},
        {"count": -3, "rate": 1e-07, "text": "", "loud": False},
        {"text": "5"},
        {"text": " true "},
        {"text": '{"a": 1}'},
        {"text": "</parameter> <tool_call> </tool_call>"},
        {"text": '"\\u0041"'},
    ],
    "bfcl": [
        {"city": "Rome", "units": "metric"},
        {"units": "imperial", "city": "X", "days": 14, "spot": [1.5, 2.0], "more": {"a": "b"}},
    ],
    "choices": [
        {"one": "a", "mixed": "a"},
        {"one": "ab", "mixed": 1, "fixed": "always"},
        {"one": "a\nb", "mixed": 2.5, "number": 7},
        {"one": "5", "mixed": True},
        {"mixed": None, "one": "x</parameter>y"},
        {"mixed": {"k": [1, "z"]}, "one": "a"},
        {"mixed": "1", "one": "a"},
    ],
    "bounded": [
        {"code": "ab", "level": -12, "share": 0},
        {"share": 1.0, "level": 344, "code": "äöü😀x", "heat": -1.4999},
        {"share": 0.125, "level": 0, "code": "abc", "heat": 2.2, "list": [0, 9], "even": 18},
        {"share": 0.5, "level": 99, "code": "abc", "big": -(2**63), "list": [1, 2, 3, 4]},
    ],
    "patterned": [
        {"time": "07:30", "date": "2026-02-28"},
        {
            "date": "2024-02-29",
            "time": "23:59",
            "word": "Grüße"[:4],
            "id": "123e4567-e89b-12d3-a456-426614174000",
            "mail": "a.b@example.org",
        },
    ],
    "nested": [
        {"who": {"name": "A"}},
        {"who": {"age": None, "name": "A", "address": {"street": "B"}}, "steps": []},
        {"pair": [1, "x"], "steps": [{"do": "a"}, {"do": "b"}], "who": {"name": "", "age": 3}},
    ],
    "unions": [
        {"any": "x"},
        {"any": 5, "either": {"x": 1, "kind": "a"}},
        {"any": None, "either": {"kind": "b", "y": "z"}, "maybe": None},
        {"any": "5", "maybe": "null", "or_list": ["a", "b"]},
        {"any": "tea for two", "or_list": "a", "open": {"deep": [1, 2]}},
        {"any": "-", "open": "free", "maybe": "true story"},
    ],
    "joined": [{"a": "x"}, {"b": "y"}, {"b": "y", "a": "x"}],
    "tree": [
        {"root": {"label": "a"}},
        {"root": {"left": {"label": "b", "right": None}, "label": "a", "right": {"label": "c"}}},
    ],
    "welcoming": [{"known": 1}, {"extra": "x", "known": 1, "know": "y"}],
    "mapping": [{}, {"map": {}}, {"map": {"a": 1, "b c": 2}}],
    "many": [{"p7": 1, "p3": 2}, {f"p{number}": number for number in reversed(range(9))}],
}
"""Arguments that fit, by tool."""

INVALID: Final[dict[str, list[JsonObject]]] = {
    "no_arguments": [{"a": 1}],
    "simple": [{}, {"text": 5}, {"text": "a", "count": 1.5}, {"text": "a", "other": 1}],
    "bfcl": [{"city": "Rome"}, {"city": "Rome", "units": "kelvin"}],
    "choices": [{"one": "b", "mixed": "a"}, {"one": "a", "mixed": 3}],
    "bounded": [
        {"code": "a", "level": 0, "share": 0},
        {"code": "abcdef", "level": 0, "share": 0},
        {"code": "ab", "level": 345, "share": 0},
        {"code": "ab", "level": -13, "share": 0},
        {"code": "ab", "level": 0, "share": 1.01},
        {"code": "ab", "level": 0, "share": 0, "list": [1]},
        {"code": "ab", "level": 0, "share": 0, "list": [1, 2, 3, 4, 5]},
        {"code": "ab", "level": 0, "share": 0, "even": 3},
        {"code": "ab", "level": 0, "share": 0, "heat": -1.5},
        {"code": "ab", "level": 0, "share": 0, "big": 2**63},
    ],
    "patterned": [{"time": "7:30", "date": "2026-02-28"}, {"time": "07:30", "date": "2026-02-30"}],
    "nested": [
        {"who": {}},
        {"who": {"name": "A", "age": "x"}},
        {"who": {"name": "a"}, "pair": [1]},
    ],
    "unions": [{"any": 1.5}, {"any": 1, "either": {"kind": "a", "y": "z"}}, {"any": 1, "maybe": 3}],
    "joined": [{}],
    "tree": [{"root": {}}, {"root": {"label": "a", "left": None}}],
    "welcoming": [{"known": "x"}, {"known": 1, "extra": 2}],
    "mapping": [{"map": {"a": "x"}}],
    "many": [{"p3": 1}],
}
"""Arguments that do not fit, by tool."""
