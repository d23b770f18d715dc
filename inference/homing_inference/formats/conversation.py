"""From core's messages and tools to the plain values that chat templates know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homing_core.messages import Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart

from homing_inference.formats.marks import defuse, defused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.messages import Message
    from homing_core.tools import ToolCall, ToolSpec


def to_tools(tools: Sequence[ToolSpec], marks: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Tools as OpenAI's function objects; a description may come from outside, so it is defused.

    Args:
        tools: what the model may call.
        marks: control marks of this model beyond the usual ones.
    """
    return [
        {
            "type": "function",
            "function": {
                "name": defuse(tool.name, marks),
                "description": defuse(tool.description, marks),
                "parameters": defused(tool.parameters, marks),
            },
        }
        for tool in tools
    ]


def to_messages(messages: Sequence[Message], marks: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Messages as templates know them. A tool message with several results becomes several.

    Args:
        messages: the conversation.
        marks: control marks of this model beyond the usual ones.
    """
    names = {
        part.call.id: part.call.name
        for message in messages
        for part in message.parts
        if isinstance(part, ToolCallPart)
    }
    plain: list[dict[str, Any]] = []
    for message in messages:
        results = [part.result for part in message.parts if isinstance(part, ToolResultPart)]
        plain += [
            {
                "role": Role.TOOL.value,
                "name": defuse(names.get(result.call_id, ""), marks),
                "tool_call_id": result.call_id,
                "content": defuse(result.content, marks),
            }
            for result in results
        ]
        if message.role is Role.ASSISTANT:
            plain.append(_assistant(message, marks))
        elif not results or message.text:
            _append_text(plain, message.role.value, defuse(message.text, marks))
    return plain


def _append_text(plain: list[dict[str, Any]], role: str, text: str) -> None:
    """System messages in a row become one: most templates allow only one."""
    if role == Role.SYSTEM.value and plain and plain[-1]["role"] == role:
        plain[-1]["content"] += f"\n\n{text}"
    else:
        plain.append({"role": role, "content": text})


def _assistant(message: Message, marks: Sequence[str]) -> dict[str, Any]:
    thinking = "".join(part.text for part in message.parts if isinstance(part, ThinkingPart))
    text = "".join(part.text for part in message.parts if isinstance(part, TextPart))
    plain: dict[str, Any] = {
        "role": Role.ASSISTANT.value,
        "content": defuse(text, marks),
        # Always a string: without one, templates search the text for think marks and cut it.
        "reasoning_content": defuse(thinking, marks),
    }
    calls = [part.call for part in message.parts if isinstance(part, ToolCallPart)]
    if calls:
        plain["tool_calls"] = [_call(call, marks) for call in calls]
    return plain


def _call(call: ToolCall, marks: Sequence[str]) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {
            "name": defuse(call.name, marks),
            "arguments": defused(call.arguments, marks),
        },
    }
