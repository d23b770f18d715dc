r"""Argument values between text and JSON: typed by a JSON Schema, exact in both directions.

In the XML form a string stands raw between its marks and everything else stands as JSON, so the
schema decides how a text is read. Some strings cannot stand raw: one that holds `</parameter>`, or
`5` where the schema allows numbers too. They are written in the *escaped form*, a JSON string whose
first character is a `\u` escape and in which `<` and `>` are escaped as well. No model writes that
by chance, so a text in this form is always read as the string that it encodes.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

Types: TypeAlias = frozenset[str]
"""JSON Schema's names of types."""

ANY: Types = frozenset({"string", "integer", "number", "boolean", "null", "object", "array"})

STRING: Types = frozenset({"string"})

_MAX_DEPTH = 64
_MAX_REFERENCES = 8
_ESCAPED = re.compile(r'"\\u[0-9a-fA-F]{4}')
_RAW_KEY = re.compile(r"[^\s<>\"](?:[^<>\r\n]*[^\s<>])?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_UNSAFE = ("</parameter", "</function", "</tool_call", "<parameter=", "<function=", "<tool_call")
_PYTHON_WORDS: dict[str, bool | None] = {"True": True, "False": False, "None": None}
_ALIASES = {"dict": "object", "list": "array", "int": "integer", "float": "number", "str": "string"}


def load_json(text: str) -> JsonValue:
    """Read JSON that a model wrote.

    Control characters in strings are let through, lone surrogates become U+FFFD, and what no JSON
    encoder could write again (NaN, infinities, more than 64 levels) is refused.

    Raises:
        ValueError: it is not JSON.
    """
    try:
        value: JsonValue = json.loads(
            text, strict=False, parse_constant=_refuse, parse_float=_finite
        )
    except RecursionError as error:
        raise ValueError from error
    return _cleaned(value, _MAX_DEPTH)


def dump_json(value: JsonValue) -> str:
    """One line of JSON that holds no mark: inside strings, `<` of a mark is escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c") if any(mark in text for mark in _UNSAFE) else text


def parameter_types(schema: JsonObject, name: str) -> Types:
    """The types that an object schema allows for one property; all of them if it does not say."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ANY
    return _types(properties.get(name), schema, _MAX_REFERENCES)


def read_value(text: str, types: Types) -> JsonValue:
    """The value that stands between a parameter's marks; never raises.

    One line break on each side belongs to the marks. What is not valid for `types` stays a string.
    """
    text = text.removeprefix("\n").removesuffix("\n")
    word = text.strip()
    escaped = _read_escaped(word)
    if escaped is not None:
        return escaped
    if types == STRING:
        return text
    candidates: list[JsonValue] = []
    try:
        candidates.append(load_json(word))
    except ValueError:
        if word in _PYTHON_WORDS and types != ANY:  # templates write these, models copy them
            candidates.append(_PYTHON_WORDS[word])
    if candidates and isinstance(candidates[0], str) and "string" not in types:
        with contextlib.suppress(ValueError):
            candidates.append(load_json(candidates[0]))  # encoded twice
    for candidate in candidates:
        if _matches(candidate, types):
            return _as_integer(candidate, types)
    return text


def write_value(value: JsonValue, types: Types) -> str:
    """The text that `read_value` reads as this value.

    The one exception: a value whose type contradicts `types` (a number where only a string is
    allowed) comes back as the string of its JSON.
    """
    if not isinstance(value, str):
        return dump_json(value)
    unsafe = any(mark in value for mark in _UNSAFE)
    return _escape(value) if unsafe or read_value(f"\n{value}\n", types) != value else value


def write_key(key: str) -> str:
    """A tool's or parameter's name as it stands behind `=`; `read_key` reads it."""
    return key if _RAW_KEY.fullmatch(key) else _escape(key)


def read_key(text: str) -> str:
    """A name as it stands behind `=`: raw, in quotes or escaped."""
    word = text.strip()
    if word.startswith('"'):
        try:
            value = load_json(word)
        except ValueError:
            return word.strip('"')
        return value if isinstance(value, str) else word
    return word


def as_arguments(value: JsonValue) -> JsonObject | None:
    """The JSON object behind `arguments`, also where it was encoded twice; None if it is none."""
    for _ in range(3):
        if isinstance(value, Mapping):
            return value
        if value is None or value in ("", []):
            return {}
        if not isinstance(value, str):
            return None
        try:
            value = load_json(value)
        except ValueError:
            return None
    return None


def _escape(text: str) -> str:
    if not text:
        return '""'
    head = f"\\u{ord(text[0]):04x}" if text[0].isascii() else json.dumps(text[0])[1:-1]
    tail = json.dumps(text[1:], ensure_ascii=False)[1:]
    return f'"{head}{tail}'.replace("<", "\\u003c").replace(">", "\\u003e")


def _read_escaped(word: str) -> str | None:
    if not _ESCAPED.match(word):
        return None
    try:
        value = load_json(word)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _matches(value: JsonValue, types: Types) -> bool:
    kinds: set[str]
    if isinstance(value, bool):
        kinds = {"boolean"}
    elif isinstance(value, int):
        kinds = {"integer", "number"}
    elif isinstance(value, float):
        kinds = {"number", "integer"} if value.is_integer() else {"number"}
    elif value is None:
        kinds = {"null"}
    elif isinstance(value, str):
        kinds = {"string"}
    else:
        kinds = {"object"} if isinstance(value, Mapping) else {"array"}
    return not kinds.isdisjoint(types)


def _as_integer(value: JsonValue, types: Types) -> JsonValue:
    """5.0 where only integers are allowed is 5."""
    if isinstance(value, float) and "integer" in types and "number" not in types:
        return int(value)
    return value


def _types(schema: JsonValue, root: JsonObject, references: int) -> Types:
    if not isinstance(schema, Mapping) or references == 0:
        return ANY
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _types(_resolve(reference, root), root, references - 1)
    declared = schema.get("type")
    names = [declared] if isinstance(declared, str) else declared
    if isinstance(names, list | tuple):
        found = frozenset(_ALIASES.get(str(name), str(name)) for name in names) & ANY
        return found or ANY
    for word in ("anyOf", "oneOf"):
        choices = schema.get(word)
        if isinstance(choices, list | tuple) and choices:
            return frozenset[str]().union(*(_types(one, root, references - 1) for one in choices))
    if "const" in schema or isinstance(schema.get("enum"), list | tuple):
        values = cast("list[Any]", schema.get("enum") or [schema.get("const")])
        return frozenset(
            name for name in ANY if any(_matches(one, frozenset({name})) for one in values)
        )
    return ANY


def _resolve(reference: str, root: JsonObject) -> JsonValue:
    here: JsonValue = root
    head, *steps = reference.split("/")
    if head != "#":
        return None
    for step in steps:
        if not isinstance(here, Mapping):
            return None
        here = here.get(step.replace("~1", "/").replace("~0", "~"))
    return here


def _refuse(word: str) -> JsonValue:
    raise ValueError(word)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _cleaned(value: JsonValue, depth: int) -> JsonValue:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict | list) and depth == 0:
        msg = "nested too deeply"
        raise ValueError(msg)
    if isinstance(value, dict):
        return {
            _SURROGATE.sub("\ufffd", key): _cleaned(item, depth - 1) for key, item in value.items()
        }
    if isinstance(value, list):
        return [_cleaned(item, depth - 1) for item in value]
    return value
