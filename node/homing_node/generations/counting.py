"""How many tokens something takes, before the engine has said. Pure; on the safe side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.canonical import canonical_json
from homing_core.generation import (
    Sampled,
    TextDelta,
    ThinkingDelta,
    TokenLogprobs,
    ToolCallEvent,
)
from homing_core.messages import TextPart, ThinkingPart, ToolCallPart

if TYPE_CHECKING:
    from homing_core.generation import GenerateRequest, GenerationEvent
    from homing_core.messages import Part
    from homing_core.tools import ToolCall

_LETTERS_A_TOKEN: Final = 3
"""Of plain English there are four or five to a token; of names and code fewer."""
_WRITTEN_A_TOKEN: Final = 4
_CALL_TOKENS: Final = 12
"""What surrounds a call."""
_TURN_TOKENS: Final = 8
"""What surrounds a turn or a tool."""


def prompt_tokens(request: GenerateRequest) -> int:
    """About how many tokens the prompt takes: rather too many than too few."""
    turns = sum(
        _TURN_TOKENS + sum(_part_tokens(part) for part in message.parts)
        for message in request.messages
    )
    offered = sum(
        _TURN_TOKENS
        + text_tokens(tool.name)
        + text_tokens(tool.description)
        + len(canonical_json(tool.parameters)) // _LETTERS_A_TOKEN
        for tool in request.tools
    )
    return turns + offered


def text_tokens(text: str) -> int:
    """Of a text that is read; a character beyond ASCII counts as a token."""
    plain = len(text) if text.isascii() else sum(map(str.isascii, text))
    return -(-plain // _LETTERS_A_TOKEN) + len(text) - plain


def written_tokens(event: GenerationEvent, *, by_logprobs: bool) -> int:
    """Of what an event brings.

    Args:
        event: as the engine sent it.
        by_logprobs: whether it also sends each token with its probability, so that those count.
    """
    match event:
        case Sampled():
            return written_tokens(event.event, by_logprobs=by_logprobs)
        case TokenLogprobs():
            return len(event.tokens) if by_logprobs else 0
        case TextDelta() | ThinkingDelta():
            return 0 if by_logprobs else max(len(event.text) // _WRITTEN_A_TOKEN, 1)
        case ToolCallEvent():
            return 0 if by_logprobs else _call_tokens(event.call)
        case _:
            return 0


def _part_tokens(part: Part) -> int:
    if isinstance(part, TextPart | ThinkingPart):
        return text_tokens(part.text)
    if isinstance(part, ToolCallPart):
        return _call_tokens(part.call)
    return _CALL_TOKENS + text_tokens(part.result.content)


def _call_tokens(call: ToolCall) -> int:
    written = len(call.name) + len(canonical_json(call.arguments))
    return _CALL_TOKENS + written // _LETTERS_A_TOKEN
