"""What all formats share: the model's own template renders, the answer's parser reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from homing_inference.formats.parser import AnswerParser
from homing_inference.formats.rendering import Renderer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.generation import Thinking
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec

    from homing_inference.formats.base import CallSyntax, Prompt
    from homing_inference.formats.template import ChatTemplate

_TURN_ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end|>", "<end_of_turn>")


class TemplatedFormat:
    """A `ChatFormat` without `render_calls`.

    Args:
        template: the model's own.
        stop: strings that end a turn; the usual ones that the template itself writes if left out.
    """

    name: ClassVar[str] = ""
    offers_tools: ClassVar[bool] = True
    syntax: ClassVar[CallSyntax | None] = None

    def __init__(self, template: ChatTemplate, stop: Sequence[str] | None = None) -> None:
        """Nothing is rendered yet."""
        self._renderer = Renderer(template, offers_tools=self.offers_tools)
        self._can_think = "enable_thinking" in template.source
        if stop is None:
            stop = [mark for mark in _TURN_ENDS if mark in template.source or mark == template.eos]
        self._stop = tuple(stop)

    @property
    def can_think(self) -> bool:
        """Whether the template knows a thinking flag."""
        return self._can_think

    @property
    def call_syntax(self) -> CallSyntax | None:
        """How calls begin; None if the format knows none."""
        return self.syntax

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings that end a turn, beside the model's own end-of-turn tokens."""
        return self._stop

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        thinking: Thinking,
        *,
        continue_last: bool = False,
    ) -> Prompt:
        """See `ChatFormat.render`."""
        return self._renderer.render(messages, tools, thinking, continue_last=continue_last)

    def prefix(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> str:
        """See `ChatFormat.prefix`."""
        return self._renderer.prefix(messages, tools, thinking)

    def parser(
        self,
        tools: Sequence[ToolSpec],
        *,
        starts_in_thinking: bool = False,
        continues_text: bool = False,
    ) -> AnswerParser:
        """A fresh parser for one answer; it reads both call syntaxes, since models mix them."""
        return AnswerParser(
            tools, starts_in_thinking=starts_in_thinking, continues_text=continues_text
        )
