"""What a request shows while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from homing_core.generation import TextDelta, ThinkingDelta

from homing_agent.request import FinalAnswer

if TYPE_CHECKING:
    from homing_core.ids import JobId, ToolCallId
    from homing_core.jobs import JobEvent
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
class ToolProgress:
    """A call runs as a job on a node, and has come further.

    Attributes:
        call_id: the call.
        job_id: the job; it can be watched and ended by this, whatever becomes of the request.
        node: the node's name.
        event: what the node said.
    """

    call_id: ToolCallId
    job_id: JobId
    node: str
    event: JobEvent


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call ended, or was refused or could not be read."""

    step: ToolStep


@dataclass(frozen=True, slots=True)
class Note:
    """One quiet line for the person, such as that home could not be reached."""

    text: str


AgentEvent: TypeAlias = (
    RouteChosen
    | TextDelta
    | ThinkingDelta
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Note
    | FinalAnswer
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
    "ToolProgress",
    "ToolStarted",
]
