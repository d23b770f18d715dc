"""How many tokens something takes, before the engine has said. Pure.

Too many rather than too few: for what people write about twice as many as there are, and for
digits, random letters and binary noise no fewer. It is no bound: only the bytes of a text are one,
four times what people write takes. Whoever makes up words from the tokenizer's own list of rare
ones is charged too little until the engine has counted; `Usage` then puts that right.
"""

from __future__ import annotations

import re
from collections import Counter
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
    from collections.abc import Iterator

    from homing_core.generation import GenerateRequest, GenerationEvent
    from homing_core.messages import Part
    from homing_core.tools import ToolCall

_LETTERS_A_TOKEN: Final = 3
"""Of a word that can be spoken; in English there are four or five to a token."""
_SPOKEN: Final = re.compile(
    r"(?<![A-Za-z])(?=(?i:(?:[b-df-hj-np-tv-z]{0,3}[aeiouy]{1,2}){1,6}[b-df-hj-np-tv-z]{0,3})"
    r"(?![A-Za-z]))(?:[A-Z]?[a-z]+|[A-Z]+)(?![A-Za-z])"
)
"""Other runs of letters take up to two tokens for three: counted with three for four."""
_LETTERS: Final = re.compile(r"[A-Za-z]+")
_SPACES: Final = re.compile(r"[ \n]+")
_BEFORE_A_WORD: Final = re.compile(r"(?<![ \n]) (?![ \n])")
_IDEOGRAMS: Final = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_MOST_TWO_BYTES: Final = 2
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
        + text_tokens(canonical_json(tool.parameters).decode())
        for tool in request.tools
    )
    return turns + offered


def text_tokens(text: str) -> int:
    """Of a text that is read.

    A digit, a mark or a control character is one; a space before a word none. Beyond ASCII, a
    character of two bytes is one, of Chinese, Japanese and Korean two, any other as many as it has
    bytes in UTF-8.
    """
    spoken = Counter(map(len, _SPOKEN.findall(text)))
    runs = Counter(map(len, _LETTERS.findall(text)))
    letters = sum(length * count for length, count in runs.items())
    spaces = [len(run) for run in _SPACES.findall(text)]
    words = sum(-(-length // _LETTERS_A_TOKEN) * count for length, count in spoken.items())
    noise = sum(-(-length * 3 // 4) * count for length, count in (runs - spoken).items())
    plain = len(text) if text.isascii() else sum(map(str.isascii, text))
    marks = plain - letters - sum(spaces)
    gaps = sum(max(length // 2, 1) for length in spaces) - len(_BEFORE_A_WORD.findall(text))
    return words + noise + marks + gaps + (0 if plain == len(text) else _beyond_ascii(text))


def _beyond_ascii(text: str) -> int:
    ideograms = len(_IDEOGRAMS.findall(text))
    others = (len(character.encode("utf-8", "replace")) for character in _other(text))
    return 2 * ideograms + sum(1 if size <= _MOST_TWO_BYTES else size for size in others)


def _other(text: str) -> Iterator[str]:
    return (one for one in _IDEOGRAMS.sub("", text) if not one.isascii())


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
    return _CALL_TOKENS + text_tokens(call.name + canonical_json(call.arguments).decode())
