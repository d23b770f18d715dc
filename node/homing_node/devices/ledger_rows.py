"""Rows of the usage ledger, and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from homing_core.ids import DeviceId

USAGE_FILE: Final = "usage.db"
RUNNING: Final = "running"
"""Outcome of a generation that has not ended."""
LOST: Final = "lost"
"""Outcome of one that the daemon's own end cut off."""
VERSION: Final = 1
DAY_S: Final = 24 * 3600.0
SCHEMA: Final = """
CREATE TABLE generations (
  number INTEGER PRIMARY KEY, id TEXT NOT NULL, account TEXT NOT NULL, introduced_by TEXT NOT NULL,
  model TEXT NOT NULL, started_at REAL NOT NULL, day TEXT NOT NULL, counted_at REAL NOT NULL,
  prompt INTEGER NOT NULL, cached INTEGER NOT NULL, completion INTEGER NOT NULL,
  outcome TEXT NOT NULL
) STRICT;
CREATE INDEX generations_counted ON generations (counted_at);
CREATE TABLE days (
  day TEXT NOT NULL, account TEXT NOT NULL, introduced_by TEXT NOT NULL,
  generations INTEGER NOT NULL DEFAULT 0, prompt INTEGER NOT NULL DEFAULT 0,
  cached INTEGER NOT NULL DEFAULT 0, completion INTEGER NOT NULL DEFAULT 0,
  refusals INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (day, account)
) STRICT;
CREATE TABLE clock (
  one INTEGER PRIMARY KEY CHECK (one = 1), ledger REAL NOT NULL, wall REAL NOT NULL,
  monotonic REAL NOT NULL, boot TEXT NOT NULL
) STRICT;
"""


@dataclass(slots=True, eq=False)
class Use:
    """One generation's use. Belongs to whoever counts it.

    Attributes:
        id: of the generation.
        account: whose it is.
        introduced_by: who vouches for that; empty if paired here.
        model: as it was asked for; empty for the default.
        started_at: wall time, seconds since the epoch.
        prompt: tokens of the prompt; an estimate until the engine says.
        cached: of these, those that had not to be computed.
        completion: tokens written so far.
        outcome: how it ended, in a word.
        number: of its row; 0 before it is written.
    """

    id: str
    account: DeviceId
    introduced_by: str
    model: str
    started_at: float
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    outcome: str = RUNNING
    number: int = 0

    @property
    def tokens(self) -> int:
        """What counts of it: what was computed."""
        return max(self.prompt - self.cached, 0) + self.completion


@dataclass(frozen=True, slots=True)
class DayUse:
    """What one account used on one day of the node's calendar; tokens."""

    account: DeviceId
    introduced_by: str
    day: str
    generations: int = 0
    prompt: int = 0
    cached: int = 0
    completion: int = 0
    refusals: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """Tokens that an earlier run of the daemon counted, and that count still."""

    account: DeviceId
    introduced_by: str
    at: float
    tokens: int


def day_of(wall: float) -> str:
    """The day of the node's calendar at a wall time, such as `2026-11-05`."""
    try:
        return datetime.fromtimestamp(wall, UTC).astimezone().strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return "0000-00-00"
