"""Any JSON Schema becomes one that is checked, or is refused; what a server takes still fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from homing_agent.mcp.definitions import define, name_for
from homing_agent.mcp.schemas import simplify
from homing_agent.schema import check_arguments, unsupported
from homing_core.errors import InvalidDataError
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # no stubs here

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue


def of(**properties: JsonValue) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


KEPT: list[tuple[JsonValue, JsonValue]] = [
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": ["string", "null"]}),
    ({"anyOf": [{"const": "a"}, {"enum": ["b"]}]}, {"enum": ["a", "b"]}),
    ({"oneOf": [{"const": "a"}, {"type": "null"}]}, {"enum": ["a", None]}),
    ({"$ref": "#/$defs/colour"}, {"type": "string", "enum": ["red"]}),
    ({"allOf": [{"$ref": "#/$defs/colour"}]}, {"type": "string", "enum": ["red"]}),
    ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
    ({"type": "number", "exclusiveMaximum": 2.5}, {"type": "number", "maximum": 2.5}),
    ({"type": "string", "pattern": "^a$"}, {"type": "string", "description": "(matches ^a$)"}),
    ({"type": "object"}, {"type": "object", "additionalProperties": True}),
    (True, {"additionalProperties": True}),
    ({"type": "array", "prefixItems": [{}]}, {"type": "array"}),
    ({"not": {"type": "string"}}, {"additionalProperties": True}),
    (
        {"anyOf": [of(a={"type": "string"}), of(b={"type": "string"})]},
        {"type": "object", "additionalProperties": True},
    ),
]


@pytest.mark.parametrize(("given", "kept"), KEPT)
def test_what_servers_write_is_kept_as_far_as_it_is_checked(
    given: JsonValue, kept: JsonValue
) -> None:
    schema = {**of(x=given), "$defs": {"colour": {"type": "string", "enum": ["red"]}}}
    assert simplify(schema)["properties"] == {"x": kept}


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "bb"])


def lists_and_objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)


VALUES: st.SearchStrategy[Any] = st.recursive(SCALARS, lists_and_objects, max_leaves=6)
LEAVES: st.SearchStrategy[Any] = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "minLength": 1},
        {"type": "integer", "exclusiveMinimum": 0},
        {"type": ["number", "null"], "maximum": 2},
        {"enum": ["a", 1]},
        {"const": None},
        {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        {},
        True,
    ]
)


def combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    closed = {"type": st.just("object"), "additionalProperties": st.just(value=False)}
    required = st.sampled_from([[], ["a"]])
    properties = st.fixed_dictionaries({"a": inner, "b": inner})
    return st.one_of(
        st.fixed_dictionaries({"anyOf": several}),
        st.fixed_dictionaries({"oneOf": several}),
        st.fixed_dictionaries({"allOf": several}),
        st.fixed_dictionaries({**closed, "properties": properties, "required": required}),
    )


SCHEMAS: st.SearchStrategy[Any] = st.recursive(LEAVES, combined, max_leaves=6)


@settings(max_examples=60)
@given(SCHEMAS, VALUES)
def test_what_the_server_takes_is_never_refused_here(schema: JsonValue, value: JsonValue) -> None:
    whole = of(x=schema)
    kept = simplify(whole)
    assert not unsupported(kept)
    # jsonschema, which comes with the SDK, is the judge of what a server takes.
    judge: Any = Draft202012Validator(whole)
    if judge.is_valid({"x": value}):
        check_arguments(kept, {"x": value})


KEYWORDS = [
    "type",
    "properties",
    "$ref",
    "anyOf",
    "allOf",
    "enum",
    "items",
    "required",
    "minimum",
    "const",
    "description",
]
WORDS = SCALARS | st.sampled_from(["object", "array", "#/a", "#/properties/x", "#/allOf"])


def nested(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(["x", *KEYWORDS])
    return st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)


LIES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(KEYWORDS), st.recursive(WORDS, nested, max_leaves=8)
)


@pytest.mark.attack
@settings(max_examples=60)
@given(LIES)
def test_a_schema_that_lies_is_refused_or_sound(schema: dict[str, Any]) -> None:
    try:
        problem = unsupported(simplify(schema))
    except InvalidDataError:
        problem = ""  # refused: that is sound
    assert not problem


@pytest.mark.attack
def test_a_definition_never_raises_and_its_hash_is_of_all_that_is_said() -> None:
    nan = define("a", "b", {"type": "object", "x": float("nan")}, task=False)
    assert nan.problem == "its schema is malformed"
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"properties": {"a": deep}}
    assert define("a", "b", deep, task=False).problem
    one = define("a", "x" * 2000 + "1", of(x={"type": "string", "pattern": "a"}), task=False)
    two = define("a", "x" * 2000 + "2", of(x={"type": "string", "pattern": "a"}), task=False)
    assert one.description == two.description
    assert one.hash != two.hash


def test_names_are_legal_free_and_stay_short() -> None:
    assert name_for("time", "get.now/v2", ()) == "get_now_v2"
    assert name_for("time", "now", {"now"}) == "time_now"
    assert name_for("time", "now", {"now", "time_now"}) == "time_now_2"
    assert name_for("time", "…", ()) == "tool"
    assert len(name_for("s" * 64, "n" * 200, {"n" * 64, "s" * 64})) <= 64
