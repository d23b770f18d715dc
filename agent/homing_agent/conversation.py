"""What is in a model's context: its length, its provenance, and what was said in it. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from homing_core.canonical import canonical_json, sha256_json
from homing_core.messages import Message, Role, TextPart, ToolCallPart, ToolResultPart
from homing_core.provenance import Origin, Provenance, Sensitivity, Trust, derived, strictest

from homing_agent.journal.json_form import message_to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homing_core.generation import Thinking
    from homing_core.tools import ToolCall, ToolResult, ToolSpec

_BYTES_A_TOKEN = 3.5
"""English has four to five bytes a token in these vocabularies; code and other languages fewer."""
_TOKENS_A_MESSAGE = 6
_OURS = Provenance(Origin.PERSON, Trust.TRUSTED, Sensitivity.ANY_PAIRED, "homing")


def system_message(text: str) -> Message:
    """A system message of ours: trusted, and nothing to protect."""
    return Message(Role.SYSTEM, (TextPart(text, _OURS),))


def provenances(messages: Iterable[Message]) -> tuple[Provenance, ...]:
    """Of every part."""
    return tuple(part.provenance for message in messages for part in message.parts)


def is_untrusted(messages: Iterable[Message]) -> bool:
    """Whether any part may carry instructions of others."""
    return any(part.trust is Trust.UNTRUSTED for part in provenances(messages))


def sensitivity_of(messages: Iterable[Message]) -> Sensitivity:
    """The strictest class of any part."""
    return strictest(part.sensitivity for part in provenances(messages))


def estimate_tokens(messages: Iterable[Message]) -> int:
    """About how many tokens they render to; rather too many than too few."""
    return sum(_TOKENS_A_MESSAGE + _tokens(_size(message)) for message in messages)


def estimate_tool_tokens(tools: Iterable[ToolSpec]) -> int:
    """About how many tokens the tools' descriptions render to."""
    shown = (
        canonical_json([spec.name, spec.description, spec.parameters]) + b" " * 40 for spec in tools
    )
    return sum(_tokens(len(text)) for text in shown)


def said(messages: Iterable[Message]) -> list[str]:
    """What the person said and tools found: where a call's arguments may honestly come from."""
    texts: list[str] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResultPart) and not part.result.is_error:
                texts.append(part.result.content)
            elif isinstance(part, TextPart) and message.role is Role.USER:
                texts.append(part.text)
    return texts


def assistant_turn(text: str, calls: Sequence[ToolCall], context: Sequence[Message]) -> Message:
    """What a model wrote, no better trusted than what it read."""
    provenance = derived(provenances(context), Origin.MODEL)
    parts = [ToolCallPart(call, provenance) for call in calls]
    head = (TextPart(text, provenance),) if text or not calls else ()
    return Message(Role.ASSISTANT, (*head, *parts))


def tool_turn(results: Sequence[ToolResult]) -> Message:
    """What the tools gave back."""
    return Message(Role.TOOL, tuple(ToolResultPart(result) for result in results))


def told(text: str, context: Sequence[Message]) -> Message:
    """Words of the tools or of the agent itself, put as the assistant's."""
    provenance = derived(provenances(context), Origin.TOOL, "homing")
    return Message(Role.ASSISTANT, (TextPart(text, provenance),))


def content_hash(messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking) -> str:
    """SHA-256 (hex) of what a generation is asked with."""
    return sha256_json(
        [
            [message_to_json(message) for message in messages],
            [spec.schema_hash for spec in tools],
            thinking.value,
        ]
    )


def _size(message: Message) -> int:
    size = 0
    for part in message.parts:
        if isinstance(part, ToolCallPart):
            size += len(part.call.name) + len(canonical_json(part.call.arguments)) + 40
        elif isinstance(part, ToolResultPart):
            size += len(part.result.content.encode("utf-8", "replace")) + 40
        else:
            size += len(part.text.encode("utf-8", "replace"))
    return size


def _tokens(size: int) -> int:
    return math.ceil(size / _BYTES_A_TOKEN)
