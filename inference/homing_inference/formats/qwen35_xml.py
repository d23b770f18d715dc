"""Qwen3.5's calls (BotPsy's too): functions and parameters as marks, strings raw.

    <tool_call>
    <function=add_reminder>
    <parameter=text>
    Water the plants
    </parameter>
    </function>
    </tool_call>

Source of the form: the chat template in these models' GGUF files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.formats.base import CallSyntax
from homing_inference.formats.marks import (
    CALL,
    CALL_END,
    FUNCTION,
    FUNCTION_END,
    PARAMETER,
    PARAMETER_END,
)
from homing_inference.formats.templated import TemplatedFormat
from homing_inference.formats.values import parameter_types, write_key, write_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.canonical import JsonObject
    from homing_core.tools import ToolCall, ToolSpec


class Qwen35XmlFormat(TemplatedFormat):
    """The format of Qwen3.5 and BotPsy."""

    name = "qwen35-xml"
    syntax = CallSyntax(CALL, f"{CALL}\n{FUNCTION}", ">")

    def render_calls(self, calls: Sequence[ToolCall], tools: Sequence[ToolSpec] = ()) -> str:
        """The calls as this model writes them; see `homing_inference.formats.values` for limits."""
        schemas = {tool.name: tool.parameters for tool in tools}
        return "\n".join(_render(call, schemas.get(call.name, {})) for call in calls)


def _render(call: ToolCall, schema: JsonObject) -> str:
    parameters = "".join(
        f"{PARAMETER}{write_key(key)}>\n{write_value(value, parameter_types(schema, key))}\n"
        f"{PARAMETER_END}\n"
        for key, value in call.arguments.items()
    )
    return f"{CALL}\n{FUNCTION}{write_key(call.name)}>\n{parameters}{FUNCTION_END}\n{CALL_END}"
