"""The marks that structure an answer, and how to look for them in a growing text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homing_core.canonical import JsonValue

THINK = "<think>"
THINK_END = "</think>"
CALL = "<tool_call>"
CALL_END = "</tool_call>"
FUNCTION = "<function="
FUNCTION_END = "</function>"
PARAMETER = "<parameter="
PARAMETER_END = "</parameter>"
FENCE = "```"

WHITE = " \t\r\n"
"""White space as JSON has it; other blanks are text."""

_BLANK = re.compile(f"[{WHITE}]*")
CONTROL_LIKE = r"<(?:\|[^<>|\s]{1,64}\|>|/?tool_response>|(?:start|end)_of_turn>)"
"""What looks like a control mark of some model, as a regular expression."""
LONGEST_CONTROL_LIKE = 68
"""Characters of the longest text that `CONTROL_LIKE` matches."""
_CONTROL = re.compile(f"(?={CONTROL_LIKE})<")


def skip_white(text: str, start: int) -> int:
    """Offset of the first character at or behind `start` that is not white space."""
    blank = _BLANK.match(text, start)
    return start if blank is None else blank.end()


def could_become(text: str, start: int, marks: Iterable[str]) -> bool:
    """Whether the rest of `text` from `start` is a true beginning of one of the marks."""
    rest = text[start : start + 32]
    return any(len(rest) < len(mark) and mark.startswith(rest) for mark in marks)


def held_back(text: str, marks: Sequence[str]) -> int:
    """Offset of the tail of `text` that could still become one of the marks; else its length."""
    longest = max(map(len, marks), default=1)
    start = max(0, len(text) - longest + 1)
    while True:
        start = text.find("<", start)
        if start < 0:
            return len(text)
        if could_become(text, start, marks):
            return start
        start += 1


def defuse(text: str, extra: Sequence[str] = ()) -> str:
    """Break up what a tokenizer would read as a control mark.

    A template's text and the conversation's end up in one string, and the tokenizer turns each
    control mark in it into the control token. A document holding `<|im_end|>` could so end the
    user's turn and speak as the system. One blank behind the `<` keeps it readable and harmless.

    Args:
        text: words of the conversation.
        extra: further control marks of this model, such as its end-of-sequence token.
    """
    text = _CONTROL.sub("< ", text)
    for mark in extra:
        text = text.replace(mark, f"{mark[0]} {mark[1:]}")
    return text


def defused(value: JsonValue, extra: Sequence[str] = ()) -> JsonValue:
    """A plain copy (dicts and lists) of a JSON value with every string in it defused."""
    if isinstance(value, str):
        return defuse(value, extra)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {defuse(key, extra): defused(item, extra) for key, item in value.items()}
    return [defused(item, extra) for item in value]
