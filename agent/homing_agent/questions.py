"""What a person is asked when a call lacks something that nobody said.

The question is a turn of the conversation like any other: the answer comes as the next request, and
the model then finds everything it needs in what the person said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from homing_core.labels import clean_label
from homing_core.messages import Message, Role, TextPart
from homing_core.provenance import Origin, derived

from homing_agent.conversation import provenances

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_core.tools import ToolSpec

    from homing_agent.tool import Tool

_SOURCE: Final = "homing: question"


@runtime_checkable
class Asking(Protocol):
    """A tool that knows how to ask for its parameters."""

    def question(self, parameter: str) -> str:
        """The question for a parameter, a whole sentence; empty if it has none."""
        ...


def question(spec: ToolSpec, tool: Tool | None, parameters: Sequence[str]) -> str:
    """What to ask.

    Args:
        spec: the tool that is called.
        tool: the same, where it is the phone's own.
        parameters: what is lacking, at least one.
    """
    return " ".join(_one(spec, tool, name) for name in parameters)


def _one(spec: ToolSpec, tool: Tool | None, parameter: str) -> str:
    known = tool.question(parameter) if isinstance(tool, Asking) else ""
    if known:
        return known
    properties = spec.parameters.get("properties")
    schema = properties.get(parameter) if isinstance(properties, Mapping) else None
    told = schema.get("description") if isinstance(schema, Mapping) else None
    more = f" ({clean_label(told)})" if isinstance(told, str) and told.strip() else ""
    return f"What is the {clean_label(parameter)}{more}?"


def asking_turn(text: str, context: Sequence[Message]) -> Message:
    """The question as the assistant's turn, so that it can be told from others later."""
    provenance = derived(provenances(context), Origin.TOOL, _SOURCE)
    return Message(Role.ASSISTANT, (TextPart(text, provenance),))


def with_what_it_answers(history: Sequence[Message], text: str) -> str:
    """A request's words; if they answer such a question, behind those that it was asked about."""
    if not history or not is_question(history[-1]):
        return text
    earlier = (message for message in reversed(history) if message.role is Role.USER)
    asked = next(earlier, None)
    words = () if asked is None else (p.text for p in asked.parts if isinstance(p, TextPart))
    return " ".join((*words, text))


def is_question(message: Message) -> bool:
    """Whether a turn is such a question."""
    return message.role is Role.ASSISTANT and any(
        isinstance(part, TextPart) and part.provenance.source == _SOURCE for part in message.parts
    )
