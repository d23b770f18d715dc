"""What an alarm is, and the boundaries around it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class AlarmKind(Enum):
    """What rings."""

    TIMER = "timer"
    REMINDER = "reminder"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that rings once.

    Attributes:
        id: chosen by whoever sets it; setting it again changes nothing.
        kind: what it is.
        text: what to say; may be empty.
        due: wall time, seconds since the epoch.
    """

    id: str
    kind: AlarmKind
    text: str
    due: float


class Alarms(Protocol):
    """Where alarms are set."""

    def add(self, alarm: Alarm) -> None:
        """Set an alarm. It is on disk when this returns.

        Raises:
            InternalError: it could not be kept.
        """
        ...

    def pending(self) -> tuple[Alarm, ...]:
        """Alarms that have not rung, soonest first."""
        ...


class Notifier(Protocol):
    """A way to make a person notice."""

    async def notify(self, title: str, text: str) -> None:
        """Show it.

        Raises:
            UnavailableError: nobody can be reached this way now.
        """
        ...
