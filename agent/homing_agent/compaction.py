"""Making a conversation fit a model's context. Pure.

What is newest says most. So first long texts of earlier requests lose their middles: what tools
gave back, and what models wrote. Then the oldest requests go, each with all that belongs to it, so
that no result is left without its call. System message and tools are not touched.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_core.messages import Message, Role, TextPart, ToolResultPart

from homing_agent.conversation import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.messages import Part

_WHOLE: Final = 1
"""Of the newest requests, how many keep every word."""
_LONG: Final = 480
"""Characters of a text in an earlier request."""
_HEAD: Final = 300
_CUT: Final = " … "


def compacted(messages: Sequence[Message], tokens: int) -> tuple[Message, ...]:
    """The conversation, or what of it fits.

    Args:
        messages: earlier turns, oldest first.
        tokens: how many they may take, by estimate.

    Returns:
        All of it if it fits; otherwise the newest requests that do, the earlier ones shortened.
        Empty if not even the newest request fits.
    """
    if estimate_tokens(messages) <= tokens:
        return tuple(messages)
    requests = _requests(messages)
    whole = max(len(requests) - _WHOLE, 0)
    short = [*(_shortened(one) for one in requests[:whole]), *requests[whole:]]
    while short and sum(map(estimate_tokens, short)) > tokens:
        short.pop(0)
    return tuple(message for one in short for message in one)


def _requests(messages: Sequence[Message]) -> list[tuple[Message, ...]]:
    """Each begins with what the person said; what stands before the first of them is left out."""
    starts = [number for number, one in enumerate(messages) if one.role is Role.USER]
    bounds = itertools.pairwise([*starts, len(messages)])
    return [tuple(messages[start:end]) for start, end in bounds]


def _shortened(request: Sequence[Message]) -> tuple[Message, ...]:
    return tuple(
        one if one.role is Role.USER else Message(one.role, tuple(map(_short, one.parts)))
        for one in request
    )


def _short(part: Part) -> Part:
    if isinstance(part, ToolResultPart):
        content = _without_middle(part.result.content)
        return ToolResultPart(replace(part.result, content=content))
    if isinstance(part, TextPart):
        return replace(part, text=_without_middle(part.text))
    return part


def _without_middle(text: str) -> str:
    if len(text) <= _LONG:
        return text
    return f"{text[:_HEAD]}{_CUT}{text[len(text) - (_LONG - _HEAD - len(_CUT)) :]}"
