"""Models whose template knows no tools, or writes calls in a way that Homing does not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.formats.parser import AnswerParser
from homing_inference.formats.templated import TemplatedFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.tools import ToolCall, ToolSpec

CHATML = (
    "{% for message in messages %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""For a GGUF without a template whose turns end with `<|im_end|>`."""

LABELLED = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if message.role != 'system' %}{{ message.role | capitalize }}: {% endif %}"
    "{{ message.content }}"
    "{% if not loop.last or add_generation_prompt %}{{ '\\n\\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}Assistant:{% endif %}"
)
"""For a GGUF without a template that was never taught turns: labels, as in a play."""


class PlainFormat(TemplatedFormat):
    """Words only: tools are not offered, and nothing in the answer is a call."""

    name = "plain"
    offers_tools = False

    def render_calls(self, calls: Sequence[ToolCall], tools: Sequence[ToolSpec] = ()) -> str:  # noqa: ARG002  # there is no form for calls
        """Nothing: there is no form for calls."""
        return ""

    def parser(
        self,
        tools: Sequence[ToolSpec],  # noqa: ARG002  # there is no form for calls
        *,
        starts_in_thinking: bool = False,
        continues_text: bool = False,
    ) -> AnswerParser:
        """A parser that knows thinking and text."""
        return AnswerParser(
            (), starts_in_thinking=starts_in_thinking, continues_text=continues_text, calls=False
        )
