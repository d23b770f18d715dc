from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from homing_core.canonical import canonical_json
from homing_inference.formats.values import (
    ANY,
    as_arguments,
    dump_json,
    load_json,
    parameter_types,
    read_key,
    read_value,
    write_key,
    write_value,
)
from hypothesis import given
from hypothesis import strategies as st
from support.answers import nasty_texts, nasty_values

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

_kinds = st.frozensets(st.sampled_from(sorted(ANY)), min_size=1)


@given(nasty_values)
def test_every_value_comes_back_where_the_schema_allows_all(value: JsonValue) -> None:
    back = read_value(f"\n{write_value(value, ANY)}\n", ANY)
    assert canonical_json(back) == canonical_json(value)


@given(nasty_texts, _kinds)
def test_every_string_comes_back_whatever_the_schema_says(text: str, types: frozenset[str]) -> None:
    assert read_value(f"\n{write_value(text, types)}\n", types) == text


@given(nasty_texts)
def test_every_name_comes_back_and_holds_no_mark(name: str) -> None:
    written = write_key(name)
    assert read_key(written) == name
    assert not set(written) & set("<>\n")


@given(nasty_values)
def test_written_json_holds_no_mark(value: JsonValue) -> None:
    written = dump_json(value)
    assert canonical_json(load_json(written)) == canonical_json(value)
    assert not any(mark in written for mark in ("</tool_call", "</parameter", "</function"))


def test_a_number_where_only_strings_are_allowed_is_the_known_limit() -> None:
    only = frozenset({"string"})
    assert read_value(write_value(5, only), only) == "5"


@pytest.mark.parametrize(
    ("text", "types", "value"),
    [
        ("\n5\n", {"string"}, "5"),
        ("\n 5 \n", {"integer"}, 5),
        ("5.0", {"integer"}, 5),
        ("5.5", {"integer"}, "5.5"),
        ("5", {"number"}, 5),
        ('"5"', {"integer"}, 5),
        ("five", {"integer"}, "five"),
        ("True", {"boolean"}, True),
        ("true", {"boolean"}, True),
        ("True", ANY, "True"),
        ("None", {"string", "null"}, None),
        ("null", {"string", "null"}, None),
        ("5", {"string", "null"}, "5"),
        ('"quoted"', {"string", "null"}, "quoted"),
        ('"quoted"', {"string"}, '"quoted"'),
        ('"{\\"a\\": 1}"', {"object"}, {"a": 1}),
        ("[1, 2]", {"array"}, [1, 2]),
        ("[1, 2", {"array"}, "[1, 2"),
        ("NaN", {"number"}, "NaN"),
        ("1e999", {"number"}, "1e999"),
        ("", {"integer"}, ""),
        ("\n\n two lines \n\n", {"string"}, "\n two lines \n"),
    ],
)
def test_a_text_is_read_by_its_declared_type(
    text: str, types: frozenset[str] | set[str], value: JsonValue
) -> None:
    back = read_value(text, frozenset(types))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    ("schema", "types"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"type": "dict"}, {"object"}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"integer", "null"}),
        ({"$ref": "#/$defs/place"}, {"object"}),
        ({"$ref": "#/$defs/ring"}, ANY),
        ({"$ref": "http://elsewhere"}, ANY),
        ({"enum": ["on", "off"]}, {"string"}),
        ({"const": 3}, {"integer", "number"}),
        ({"type": "nonsense"}, ANY),
        ({}, ANY),
        (None, ANY),
    ],
)
def test_types_are_found_in_a_schema(schema: JsonObject | None, types: frozenset[str]) -> None:
    root: JsonObject = {
        "properties": {"x": schema},
        "$defs": {"place": {"type": "object"}, "ring": {"$ref": "#/$defs/ring"}},
    }
    assert parameter_types(root, "x") == types
    assert parameter_types({"properties": 5}, "x") == ANY


@given(nasty_values)
def test_no_schema_breaks_the_reader(schema: JsonValue) -> None:
    types = parameter_types({"properties": {"x": schema}, "$defs": schema}, "x")
    assert types <= ANY
    assert read_value("plain words", types) == "plain words"


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5_000, "NaN", "-Infinity", "1e999", ""])
def test_json_that_no_encoder_would_write_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # any message
        load_json(text)


def test_lone_surrogates_do_not_reach_the_arguments() -> None:
    assert load_json('{"\\ud800": "\\udfff"}') == {"\ufffd": "\ufffd"}


@pytest.mark.parametrize(
    ("value", "arguments"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        (json.dumps(json.dumps({"a": 1})), {"a": 1}),
        (None, {}),
        ("", {}),
        ([], {}),
        ([1], None),
        (5, None),
        ("words", None),
    ],
)
def test_arguments_are_an_object_also_when_encoded_twice(
    value: JsonValue, arguments: JsonObject | None
) -> None:
    assert as_arguments(value) == arguments
