"""Chooses a chat format by the GGUF's own template, never by a file's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.formats.hermes_json import HermesJsonFormat
from homing_inference.formats.marks import CALL, FUNCTION, PARAMETER
from homing_inference.formats.plain import CHATML, LABELLED, PlainFormat
from homing_inference.formats.qwen35_xml import Qwen35XmlFormat
from homing_inference.formats.template import ChatTemplate

if TYPE_CHECKING:
    from homing_core.clock import Clock

    from homing_inference.formats.base import ChatFormat


def choose(
    template: str | None,
    bos: str = "",
    eos: str = "",
    architecture: str = "",
    *,
    clock: Clock | None = None,
) -> ChatFormat:
    """The format that a model's template speaks.

    Args:
        template: the GGUF key `tokenizer.chat_template`; None or empty if it has none.
        bos: the beginning-of-sequence token, as text; empty if there is none.
        eos: the end-of-sequence token, as text.
        architecture: the GGUF key `general.architecture`; looked at only without a template.
        clock: for templates that write today's date.

    Raises:
        InvalidDataError: the template is no Jinja2, or far too long.
    """
    if not template or not template.strip():
        if eos == "<|im_end|>" or architecture.startswith("qwen"):
            return PlainFormat(ChatTemplate(CHATML, bos, eos, clock), ("<|im_end|>",))
        return PlainFormat(ChatTemplate(LABELLED, bos, eos, clock), ("\nUser:",))
    compiled = ChatTemplate(template, bos, eos, clock)
    if "tools" in template and FUNCTION in template and PARAMETER in template:
        return Qwen35XmlFormat(compiled)
    if "tools" in template and CALL in template and "arguments" in template:
        return HermesJsonFormat(compiled)
    return PlainFormat(compiled)
