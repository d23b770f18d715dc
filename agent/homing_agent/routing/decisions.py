"""What can come of a routing decision. Each carries a reason that a person can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from homing_core.errors import ErrorCode

UNKNOWN = -1.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Go on, on the phone: run the model, or let its text be seen."""

    reason: str
    confidence: float = UNKNOWN


@dataclass(frozen=True, slots=True)
class CallTool:
    """Put the call to the permission policy."""

    reason: str
    confidence: float = UNKNOWN


@dataclass(frozen=True, slots=True)
class Ask:
    """Put the call to the permission policy, with the doubt said: a person should look at it."""

    reason: str
    confidence: float = UNKNOWN


@dataclass(frozen=True, slots=True)
class AskFor:
    """Drop the call and ask the person for what it lacks.

    Attributes:
        reason: why, for a person.
        parameters: what was not said, in the order in which the tool requires it; at least one.
        confidence: as in the others.
    """

    reason: str
    parameters: tuple[str, ...]
    confidence: float = UNKNOWN


@dataclass(frozen=True, slots=True)
class Speak:
    """Drop the call, which the model made up, and let it answer in words instead."""

    reason: str
    confidence: float = UNKNOWN


@dataclass(frozen=True, slots=True)
class CallInstead:
    """Drop the words, which nobody has seen yet, and have the model write a call."""

    reason: str
    confidence: float = UNKNOWN


@dataclass(frozen=True, slots=True)
class Decline:
    """Neither the phone nor home may or can do it.

    Attributes:
        reason: why, for a person.
        code: the error that this is.
        hint: what to try.
        confidence: as in the others.
    """

    reason: str
    code: ErrorCode
    hint: str = ""
    confidence: float = UNKNOWN


@dataclass(frozen=True, slots=True)
class Escalate:
    """Send this step home, if home can be reached; if not, ask again with that known."""

    reason: str
    confidence: float = UNKNOWN


Decision: TypeAlias = Answer | CallTool | CallInstead | Ask | AskFor | Speak | Decline | Escalate
