"""Messages and their parts. Every part carries its provenance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from homing_core.provenance import MODEL, PERSON, Provenance

if TYPE_CHECKING:
    from homing_core.tools import ToolCall, ToolResult


class Role(Enum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text."""

    text: str
    provenance: Provenance


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """A model's thinking; shown apart and dropped from later turns."""

    text: str
    provenance: Provenance = MODEL


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A call that the model made in this message."""

    call: ToolCall
    provenance: Provenance = MODEL


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """The result of an earlier call; its provenance is the result's own."""

    result: ToolResult

    @property
    def provenance(self) -> Provenance:
        """Where the result came from."""
        return self.result.provenance


Part: TypeAlias = TextPart | ThinkingPart | ToolCallPart | ToolResultPart


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """Its text parts, joined; thinking, calls and results are left out."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


def system(text: str) -> Message:
    """A system message of ours."""
    return Message(Role.SYSTEM, (TextPart(text, PERSON),))


def user(text: str, provenance: Provenance = PERSON) -> Message:
    """What the person said."""
    return Message(Role.USER, (TextPart(text, provenance),))


def assistant(text: str, provenance: Provenance = MODEL) -> Message:
    """What a model said."""
    return Message(Role.ASSISTANT, (TextPart(text, provenance),))
