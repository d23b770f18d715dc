"""Hermes' calls (Qwen2.5's and Qwen3's too): a JSON object between marks.

    <tool_call>
    {"name": "add_reminder", "arguments": {"text": "Water the plants"}}
    </tool_call>

Source of the form: the chat template in these models' GGUF files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.formats.base import CallSyntax
from homing_inference.formats.marks import CALL, CALL_END
from homing_inference.formats.templated import TemplatedFormat
from homing_inference.formats.values import dump_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.tools import ToolCall, ToolSpec


class HermesJsonFormat(TemplatedFormat):
    """The format of Hermes, Qwen2.5 and Qwen3."""

    name = "hermes-json"
    syntax = CallSyntax(CALL, f'{CALL}\n{{"name": "', '"')

    def render_calls(self, calls: Sequence[ToolCall], tools: Sequence[ToolSpec] = ()) -> str:  # noqa: ARG002  # JSON carries its types
        """The calls as this model writes them; exact for all JSON."""
        return "\n".join(
            f"{CALL}\n{dump_json({'name': call.name, 'arguments': call.arguments})}\n{CALL_END}"
            for call in calls
        )
