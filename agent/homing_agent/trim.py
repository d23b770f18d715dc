"""What a small model adds to a call unasked is taken away before anybody is shown the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from homing_agent.routing.grounding import ground, repeats, words_of

if TYPE_CHECKING:
    from homing_core.canonical import JsonValue
    from homing_core.tools import ToolCall, ToolSpec

_ECHO_WORDS = 3
"""Fewer words may be a value that happens to stand in a description."""


def required_of(spec: ToolSpec) -> Sequence[str]:
    """The parameters that a tool requires."""
    return cast("Sequence[str]", spec.parameters.get("required", ()))


def free_of(spec: ToolSpec) -> Sequence[str]:
    """The same without those whose values the tool lists: a person says them in other words."""
    properties = spec.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return required_of(spec)
    return [name for name in required_of(spec) if not _listed(properties.get(name))]


def _listed(schema: JsonValue) -> bool:
    return isinstance(schema, Mapping) and ("enum" in schema or schema.get("type") == "boolean")


def own_words(spec: ToolSpec) -> str:
    """A tool's name and description: what a person says of it is not yet what they want of it."""
    return f"{spec.name.replace('_', ' ')} {spec.description}"


def trim(call: ToolCall, spec: ToolSpec, said: Sequence[str]) -> ToolCall:
    """The call without arguments that the tool does not have and optional ones that nobody said.

    Small models fill those with something plausible, or with the parameter's own description.

    Args:
        call: as the model wrote it.
        spec: the tool.
        said: where arguments may honestly come from.
    """
    properties = spec.parameters.get("properties")
    known = properties.keys() if isinstance(properties, Mapping) else call.arguments.keys()
    arguments = {name: value for name, value in call.arguments.items() if name in known}
    required = required_of(spec)
    for name in ground(arguments, required, said).unsaid_optional:
        del arguments[name]
    if isinstance(properties, Mapping):
        for name in [name for name in arguments if name not in required]:
            if _echoes(arguments[name], properties[name]) or _repeats(name, arguments, spec):
                del arguments[name]
    return call if len(arguments) == len(call.arguments) else replace(call, arguments=arguments)


def _repeats(name: str, arguments: Mapping[str, JsonValue], spec: ToolSpec) -> bool:
    """Whether an optional text of several words only says the tool and its required arguments."""
    value = arguments[name]
    if not isinstance(value, str) or len(words_of(value)) < _ECHO_WORDS:
        return False
    required = [str(arguments[other]) for other in required_of(spec) if other in arguments]
    return repeats(value, own_words(spec), words_of(" ".join(required)))


def _echoes(value: JsonValue, schema: JsonValue) -> bool:
    """Whether a text is only what the schema says of it."""
    told = schema.get("description") if isinstance(schema, Mapping) else None
    if not isinstance(value, str) or not isinstance(told, str):
        return False
    words = words_of(value)
    return len(words) >= _ECHO_WORDS and " ".join(words) in " ".join(words_of(told))
