"""What a request shows while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from homing_core.generation import TextDelta, ThinkingDelta

from homing_agent.request import FinalAnswer

if TYPE_CHECKING:
    from homing_core.tools import Place

    from homing_agent.request import ToolStep


@dataclass(frozen=True, slots=True)
class RouteChosen:
    """Where the work goes. Sent again if that changes.

    Attributes:
        place: where.
        node: the node's name; empty on the phone.
        reason: why, for a person.
        model: the model that does it.
    """

    place: Place
    node: str
    reason: str
    model: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is about to run: it is valid and allowed."""

    step: ToolStep


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call ended, or was refused or could not be read."""

    step: ToolStep


@dataclass(frozen=True, slots=True)
class Note:
    """One quiet line for the person, such as that home could not be reached."""

    text: str


AgentEvent: TypeAlias = (
    RouteChosen | TextDelta | ThinkingDelta | ToolStarted | ToolFinished | Note | FinalAnswer
)
"""The last event of a request is its `FinalAnswer`."""

__all__ = [
    "AgentEvent",
    "FinalAnswer",
    "Note",
    "RouteChosen",
    "TextDelta",
    "ThinkingDelta",
    "ToolFinished",
    "ToolStarted",
]
