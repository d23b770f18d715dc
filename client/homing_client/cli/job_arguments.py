"""From what a person typed to a tool and its arguments, by the tool's own schema. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from homing_agent.runtime.parameter_words import (
    kind_words,
    kinds_of,
    parameter_words,
    properties,
)
from homing_agent.schema import check_arguments, unsupported
from homing_core.errors import InvalidDataError, UsageError
from homing_core.labels import clean_label
from homing_proto.codec.json_text import decode_json_object

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.tools import ToolSpec

_YES = {"yes": True, "true": True, "no": False, "false": False}
_MOST_LISTED = 12


def full_name(tool: ToolSpec) -> str:
    """The name that no other tool of its node has."""
    return f"{tool.server}.{tool.name}"


def typed_arguments(words: Sequence[str], json_text: str | None, tool: ToolSpec) -> JsonObject:
    """What `key=value` words and a JSON object say together, checked against the schema.

    Args:
        words: each `key=value`; a key that stands for a list may be repeated.
        json_text: a JSON object, of other arguments.
        tool: whose arguments they are.

    Raises:
        UsageError: they cannot be read, or do not fit.
    """
    found: dict[str, JsonValue] = {}
    try:
        found |= decode_json_object(json_text, "text") if json_text is not None else {}
    except InvalidDataError as error:
        msg = f"--json-args: {error.what}"
        raise UsageError(msg, parameters_text(tool)) from error
    both = sorted(found.keys() & {word.partition("=")[0] for word in words})
    if both:
        msg = f"{clean_label(both[0])!r} is said by --json-args and once more"
        raise UsageError(msg, "Say it once.")
    try:
        for word in words:
            _take(found, word, tool.parameters)
        if not unsupported(tool.parameters):  # else the node checks what it alone understands
            check_arguments(tool.parameters, found)
    except InvalidDataError as error:
        what = clean_label(f"{tool.name}: {error.what}", 300)
        raise UsageError(what, parameters_text(tool)) from error
    return found


def parameters_text(tool: ToolSpec) -> str:
    """What it takes, in words."""
    found = parameter_words(tool.parameters)
    if not found:
        return "It takes no arguments."
    return f"It takes: {'; '.join(f'{one.name} ({one.facts})' for one in found[:_MOST_LISTED])}"


def _take(found: dict[str, JsonValue], word: str, schema: JsonObject) -> None:
    key, equals, text = word.partition("=")
    if not equals or not key:
        msg = f"{clean_label(word)!r} is not of the form key=value"
        raise InvalidDataError(msg)
    kind = properties(schema).get(key)
    if kind is None and schema.get("additionalProperties") is not True:
        msg = f"there is no parameter {clean_label(key)!r}"
        raise InvalidDataError(msg)
    kinds = kinds_of(kind or {})
    if "array" in kinds and "string" not in kinds and not text.lstrip().startswith("["):
        items = (kind or {}).get("items", {})
        item = _value(key, text, kinds_of(items if isinstance(items, Mapping) else {}))
        before = found.get(key, ())
        kept = before if isinstance(before, list) else []
        found[key] = [*kept, item]
    else:
        found[key] = _value(key, text, kinds)


def _value(key: str, text: str, kinds: frozenset[str]) -> JsonValue:
    if "string" in kinds:
        return text
    if "boolean" in kinds and text.lower() in _YES:
        return _YES[text.lower()]
    try:
        return cast("JsonValue", json.loads(text, parse_constant=_no_constant))
    except (ValueError, RecursionError):
        if not kinds:
            return text
    msg = f"{clean_label(key)!r} must be a {kind_words(kinds)}"
    raise InvalidDataError(msg)


def _no_constant(_: str) -> JsonValue:
    raise ValueError
