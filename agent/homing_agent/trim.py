"""What a small model adds to a call unasked is taken away before anybody is shown the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from homing_agent.routing.grounding import ground

if TYPE_CHECKING:
    from homing_core.tools import ToolCall, ToolSpec


def required_of(spec: ToolSpec) -> Sequence[str]:
    """The parameters that a tool requires."""
    return cast("Sequence[str]", spec.parameters.get("required", ()))


def trim(call: ToolCall, spec: ToolSpec, said: Sequence[str]) -> ToolCall:
    """The call without arguments that the tool does not have and optional ones that nobody said.

    Small models fill those with something plausible.

    Args:
        call: as the model wrote it.
        spec: the tool.
        said: where arguments may honestly come from.
    """
    properties = spec.parameters.get("properties")
    known = properties.keys() if isinstance(properties, Mapping) else call.arguments.keys()
    arguments = {name: value for name, value in call.arguments.items() if name in known}
    for name in ground(arguments, required_of(spec), said).unsaid_optional:
        del arguments[name]
    return call if len(arguments) == len(call.arguments) else replace(call, arguments=arguments)
