"""What the readers of one call say about how far they are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How a reader stands."""

    MORE = "more"
    """Undecided until more text comes."""
    DONE = "done"
    """It read what it was made for."""
    FAILED = "failed"
    """This is no call."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A reader's state.

    Attributes:
        status: how it stands.
        end: where the next reader goes on, as an index into the text; set when done.
    """

    status: Status
    end: int = 0


MORE = Outcome(Status.MORE)
FAILED = Outcome(Status.FAILED)


def done(end: int) -> Outcome:
    """Read up to `end`."""
    return Outcome(Status.DONE, end)
