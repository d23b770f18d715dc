"""A GGUF's own chat template: compiled once, rendered with a conversation in plain values."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from homing_core.clock import SystemClock
from homing_core.errors import InvalidDataError
from homing_core.labels import clean_label

from homing_inference.formats.sandbox import (
    OverBudgetError,
    TemplateRefusalError,
    TemplateSandbox,
    refuse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from homing_core.clock import Clock

MAX_TEMPLATE_CHARS = 256 * 1024
MAX_PROMPT_CHARS = 16 * 1024 * 1024
_MAX_DATE_FORMAT = 64
_MAX_REFUSAL = 160
_HINT = "Use another GGUF of the model: its chat template is broken."


class ChatTemplate:
    """One compiled template. Not for several threads at once.

    Args:
        source: Jinja2 text, as in the GGUF key `tokenizer.chat_template`.
        bos: the model's beginning-of-sequence token, as text; may be empty.
        eos: its end-of-sequence token, as text; may be empty.
        clock: where `strftime_now` takes the date from.

    Raises:
        InvalidDataError: the template is too long or is no Jinja2.
    """

    def __init__(
        self, source: str, bos: str = "", eos: str = "", clock: Clock | None = None
    ) -> None:
        """Compile."""
        self.source = source
        self.bos = bos
        self.eos = eos
        self._clock = SystemClock() if clock is None else clock
        self._sandbox = TemplateSandbox()
        helpers: dict[str, Any] = {"raise_exception": refuse, "strftime_now": self._strftime_now}
        if len(source) > MAX_TEMPLATE_CHARS:
            msg = "the model's chat template is too long"
            raise InvalidDataError(msg, _HINT)
        try:
            self._template = self._sandbox.from_string(source, globals=helpers)
        except Exception as error:  # a template decides what goes wrong
            msg = "the model's chat template cannot be read"
            raise InvalidDataError(msg, _HINT) from error

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        *,
        enable_thinking: bool,
        add_generation_prompt: bool,
    ) -> str:
        """The prompt.

        Args:
            messages: role, content, tool_calls and so on, as OpenAI's API has them, except that a
                call's arguments are a mapping and not a string of JSON.
            tools: OpenAI's function objects; none at all if empty.
            enable_thinking: given to the template in any case, so that its default never counts.
            add_generation_prompt: whether to open the assistant's turn at the end.

        Raises:
            InvalidDataError: the template refuses this conversation, fails, or takes too much.
        """
        self._sandbox.refill()
        try:
            return _bounded(
                self._template.generate(
                    messages=messages,
                    tools=tools or None,
                    enable_thinking=enable_thinking,
                    add_generation_prompt=add_generation_prompt,
                    bos_token=self.bos,
                    eos_token=self.eos,
                )
            )
        except TemplateRefusalError as refusal:
            word = clean_label(str(refusal), _MAX_REFUSAL, "no reason given")
            msg = f"the model's chat template refuses this conversation: {word}"
            raise InvalidDataError(msg) from refusal
        except OverBudgetError as error:
            msg = "the model's chat template takes too much time or memory"
            raise InvalidDataError(msg, _HINT) from error
        except Exception as error:  # a template decides what goes wrong
            msg = "the model's chat template fails on this conversation"
            raise InvalidDataError(msg, _HINT) from error

    def _strftime_now(self, form: object) -> str:
        text = str(form)
        if len(text) > _MAX_DATE_FORMAT:
            raise OverBudgetError
        return datetime.fromtimestamp(self._clock.now()).astimezone().strftime(text)


def _bounded(pieces: Iterable[str]) -> str:
    kept: list[str] = []
    left = MAX_PROMPT_CHARS
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise OverBudgetError
        kept.append(piece)
    return "".join(kept)
