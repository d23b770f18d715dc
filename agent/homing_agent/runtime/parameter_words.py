"""What a tool takes, in words, alike on the node and on the phone. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.labels import clean_label

if TYPE_CHECKING:
    from homing_core.canonical import JsonObject, JsonValue

_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "yes or no",
    "array": "list",
    "object": "JSON object",
}
_MOST_CHOICES = 12
_VALUE_CHARS = 40
_DESCRIPTION_CHARS = 300


@dataclass(frozen=True, slots=True)
class ParameterWords:
    """One parameter of a tool; everything is cleaned for a terminal.

    Attributes:
        name: its name.
        kind: what it is, such as `whole number`.
        required: whether it must be given.
        bounds: what else must hold, such as `from 0 to 100`; empty if nothing.
        default: what is taken if it is not given; empty if that is not said.
        description: what it means.
    """

    name: str
    kind: str
    required: bool
    bounds: str
    default: str
    description: str

    @property
    def facts(self) -> str:
        """What it is and what holds of it, such as `whole number, from 0 to 100, optional`."""
        default = f"else {self.default}" if self.default else "optional"
        return ", ".join(filter(None, (self.kind, self.bounds, "" if self.required else default)))


def parameter_words(schema: JsonObject) -> tuple[ParameterWords, ...]:
    """The parameters of a tool's JSON Schema, those that must be given first.

    Args:
        schema: as the tool has it; what is not understood is left out.
    """
    needed = _texts(schema.get("required", ()))
    found = [_parameter(name, kind, name in needed) for name, kind in properties(schema).items()]
    return tuple(sorted(found, key=lambda one: not one.required))


def properties(schema: JsonObject) -> Mapping[str, JsonObject]:
    """The schemas of the parameters by name; what is none is left out."""
    found = schema.get("properties", {})
    if not isinstance(found, Mapping):
        return {}
    return {name: kind for name, kind in found.items() if isinstance(kind, Mapping)}


def kinds_of(schema: JsonObject) -> frozenset[str]:
    """The JSON types that a parameter may have; none if it does not say."""
    kinds = schema.get("type", ())
    return frozenset({kinds}) if isinstance(kinds, str) else _texts(kinds)


def kind_words(kinds: frozenset[str]) -> str:
    """JSON types, for a person."""
    return " or ".join(_KINDS.get(kind, clean_label(kind)) for kind in sorted(kinds)) or "anything"


def example_words(schema: JsonObject) -> tuple[str, ...]:
    """`key=VALUE` for each parameter that must be given."""
    return tuple(
        f"{one.name}={one.bounds.split(' | ')[0] if ' | ' in one.bounds else one.name.upper()}"
        for one in parameter_words(schema)
        if one.required
    )


def _parameter(name: str, schema: JsonObject, required: bool) -> ParameterWords:  # noqa: FBT001
    return ParameterWords(
        clean_label(name),
        kind_words(kinds_of(schema)),
        required,
        _bounds(schema),
        _value(schema["default"]) if "default" in schema else "",
        clean_label(str(schema.get("description", "")), _DESCRIPTION_CHARS, fallback=""),
    )


def _bounds(schema: JsonObject) -> str:
    choices = schema.get("enum")
    if isinstance(choices, Sequence) and not isinstance(choices, str) and choices:
        shown = " | ".join(_value(choice) for choice in choices[:_MOST_CHOICES])
        return f"{shown} | …" if len(choices) > _MOST_CHOICES else shown
    least, most = _number(schema.get("minimum")), _number(schema.get("maximum"))
    length = _number(schema.get("maxLength"))
    return ", ".join(
        filter(
            None,
            (
                f"from {least} to {most}"
                if least and most
                else f"at least {least}"
                if least
                else f"at most {most}"
                if most
                else "",
                f"at most {length} characters" if length else "",
            ),
        )
    )


def _number(value: JsonValue) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return clean_label(text, _VALUE_CHARS, fallback='""')


def _texts(value: JsonValue) -> frozenset[str]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return frozenset()
    return frozenset(map(str, value))
