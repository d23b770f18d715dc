"""From what a person typed to a tool and its arguments, by the tool's own schema. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from homing_agent.schema import check_arguments, unsupported
from homing_core.errors import ConflictError, InvalidDataError, NotFoundError, UsageError
from homing_core.labels import clean_label
from homing_core.tools import Place
from homing_proto.codec.json_text import decode_json_object

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue
    from homing_core.tools import ToolSpec

_YES = {"yes": True, "true": True, "no": False, "false": False}
_ORDER = (Place.HOME, Place.PEER, Place.PHONE)
_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "list",
    "object": "JSON object",
}
_MOST_LISTED = 12


def choose_tool(
    tools: Sequence[tuple[ToolSpec, str]], name: str, node: str
) -> tuple[ToolSpec, str]:
    """The tool that is meant, and its node's name; home comes before peers.

    Args:
        tools: all there are, with their nodes' names.
        name: its name, or `server.name`.
        node: name or beginning of the id of a node; empty takes any.

    Raises:
        NotFoundError: no node that answers has it.
        ConflictError: several of one node are called so.
    """
    wanted = node.strip().casefold()
    here = [
        (tool, called)
        for tool, called in tools
        if not wanted or called.casefold() == wanted or tool.node.startswith(wanted)
    ]
    found = [(tool, called) for tool, called in here if name in (tool.name, full_name(tool))]
    if not found:
        where = f"{clean_label(node)} has no" if node else "no node that answers has a"
        msg = f"{where} tool called {clean_label(name)}"
        raise NotFoundError(msg, _there(here))
    chosen, called = min(found, key=lambda one: _ORDER.index(one[0].place))
    same = [tool for tool, _ in found if tool.node == chosen.node]
    if len(same) > 1:
        names = ", ".join(sorted(full_name(tool) for tool in same))
        msg = f"{called} has {len(same)} tools of this name"
        raise ConflictError(msg, f"Say which: {clean_label(names, 200)}")
    return chosen, called


def full_name(tool: ToolSpec) -> str:
    """The name that no other tool of its node has."""
    return f"{tool.server}.{tool.name}"


def typed_arguments(words: Sequence[str], json_text: str | None, tool: ToolSpec) -> JsonObject:
    """What `key=value` words and a JSON object say together, checked against the schema.

    Args:
        words: each `key=value`; a key that stands for a list may be repeated.
        json_text: a JSON object; what words say comes on top.
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
    properties = _properties(tool.parameters)
    if not properties:
        return "It takes no arguments."
    required = tool.parameters.get("required", ())
    needed = required if isinstance(required, Sequence) else ()
    listed = [
        f"{clean_label(name)} ({_kind_words(schema)}{'' if name in needed else ', optional'})"
        for name, schema in list(properties.items())[:_MOST_LISTED]
    ]
    return f"It takes: {', '.join(listed)}"


def _take(found: dict[str, JsonValue], word: str, schema: JsonObject) -> None:
    key, equals, text = word.partition("=")
    if not equals or not key:
        msg = f"{clean_label(word)!r} is not of the form key=value"
        raise InvalidDataError(msg)
    kind = _properties(schema).get(key)
    if kind is None and schema.get("additionalProperties") is not True:
        msg = f"there is no parameter {clean_label(key)!r}"
        raise InvalidDataError(msg)
    kinds = _kinds(kind or {})
    if "array" in kinds and "string" not in kinds and not text.lstrip().startswith("["):
        items = (kind or {}).get("items", {})
        item = _value(key, text, _kinds(items if isinstance(items, Mapping) else {}))
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
    words = " or ".join(_KINDS.get(kind, kind) for kind in sorted(kinds))
    msg = f"{clean_label(key)!r} must be a {words}"
    raise InvalidDataError(msg)


def _no_constant(_: str) -> JsonValue:
    raise ValueError


def _properties(schema: JsonObject) -> Mapping[str, JsonObject]:
    found = schema.get("properties", {})
    if not isinstance(found, Mapping):
        return {}
    return {name: kind for name, kind in found.items() if isinstance(kind, Mapping)}


def _kinds(schema: JsonObject) -> frozenset[str]:
    kinds = schema.get("type", ())
    if isinstance(kinds, str):
        return frozenset({kinds})
    return frozenset(map(str, kinds)) if isinstance(kinds, Sequence) else frozenset()


def _kind_words(schema: JsonObject) -> str:
    kinds = sorted(_kinds(schema))
    return " or ".join(_KINDS.get(kind, clean_label(kind)) for kind in kinds) or "anything"


def _there(tools: Sequence[tuple[ToolSpec, str]]) -> str:
    names = sorted({tool.name for tool, _ in tools})
    if not names:
        return "See which nodes answer: homing nodes"
    more = f", and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return f"There is: {', '.join(names[:_MOST_LISTED])}{more}. See: homing tools"
