from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest
from homing_agent.schema import check_arguments, unsupported
from homing_core.errors import InvalidDataError
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue

SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1, "maxLength": 5},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": ["number", "null"]},
        "state": {"enum": ["on", "off", True]},
        "kind": {"const": 1},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "more": {
            "type": "object",
            "properties": {"x": {"type": "integer"}},
            "required": ["x"],
            "additionalProperties": True,
        },
    },
    "required": ["text"],
}


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "a"},
        {"text": "abcde", "count": 9, "share": None, "state": "on", "kind": 1, "flag": False},
        {"text": "a", "count": 3.0, "share": 1, "list": ["x", "y"], "more": {"x": 1, "y": "z"}},
    ],
)
def test_what_fits_passes(arguments: dict[str, JsonValue]) -> None:
    assert unsupported(SCHEMA) == ""
    check_arguments(SCHEMA, arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "'text' is missing"),
        ([], "must be an object"),
        ({"text": ""}, "at least 1 character"),
        ({"text": "abcdef"}, "at most 5 characters"),
        ({"text": 5}, "must be a string"),
        ({"text": "a", "count": 0}, "at least 1"),
        ({"text": "a", "count": 10}, "at most 9"),
        ({"text": "a", "count": 1.5}, "must be an integer"),
        ({"text": "a", "count": True}, "must be an integer"),
        ({"text": "a", "share": "x"}, "must be a number or null"),
        ({"text": "a", "state": "maybe"}, "one of: on, off, True"),
        ({"text": "a", "state": 1}, "one of"),
        ({"text": "a", "kind": True}, "must be 1"),
        ({"text": "a", "flag": 0}, "must be a boolean"),
        ({"text": "a", "list": []}, "at least 1 item"),
        ({"text": "a", "list": ["x", 1]}, "item 2 of 'list'"),
        ({"text": "a", "list": "x"}, "must be an array"),
        ({"text": "a", "more": {}}, "'x' is missing"),
        ({"text": "a", "unheard_of": 1}, "there is no parameter 'unheard_of'"),
    ],
)
def test_what_does_not_fit_says_where(arguments: JsonValue, says: str) -> None:
    with pytest.raises(InvalidDataError, match=says) as caught:
        check_arguments(SCHEMA, arguments)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "object", "properties": {"x": {"pattern": "a+"}}}, "'pattern'"),
        ({"type": "object", "anyOf": []}, "'anyOf'"),
        ({"type": "string"}, "not described as an object"),
        ({}, "not described as an object"),
        ({"type": "object", "properties": []}, "malformed"),
        ({"type": "object", "required": "text"}, "malformed"),
        ({"type": "object", "properties": {"x": {"type": "dict"}}}, "malformed"),
        ({"type": "object", "properties": {"x": {"type": [["a"]]}}}, "malformed"),
        ({"type": "object", "properties": {"x": {"minimum": "1"}}}, "malformed"),
        ({"type": "object", "properties": {"x": {"items": {"oneOf": []}}}}, "'oneOf'"),
        ({"type": "object", "properties": {"x": 3}}, "malformed"),
    ],
)
def test_a_schema_that_cannot_be_checked_is_named(schema: dict[str, JsonValue], says: str) -> None:
    assert says in unsupported(schema)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
words = st.sampled_from(["type", "properties", "required", "items", "enum", "minimum", "object"])


@given(
    st.dictionaries(
        words, json_values | words | st.dictionaries(st.text(), st.dictionaries(words, words))
    ),
    json_values,
)
def test_any_schema_is_checkable_or_named(
    schema: dict[str, JsonValue], arguments: JsonValue
) -> None:
    full: dict[str, JsonValue] = {**schema, "type": "object"}
    reason = unsupported(full)
    if reason:
        assert "schema" in reason
        return
    with contextlib.suppress(InvalidDataError):
        check_arguments(full, arguments)


def test_a_bound_is_said_as_a_person_writes_it() -> None:
    seconds: JsonValue = {"type": "number", "maximum": 600.0}
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"seconds": seconds}}
    with pytest.raises(InvalidDataError, match=r"at most 600\. "):
        check_arguments(schema, {"seconds": 601})
