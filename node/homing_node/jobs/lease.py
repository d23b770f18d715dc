"""For how long a daemon may act for a job: by its own clock, whatever the database says later.

A daemon that was paused, or whose machine slept, does not know it. So right before it does what
cannot be taken back, it looks how long ago it last said that it is alive.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from homing_core.clock import boot_time

if TYPE_CHECKING:
    from homing_node.jobs.store import JobRow

_SILENT: Final = "had this job and is silent since"
_NAME_CHARS: Final = 12


class Lease:
    """Of one attempt.

    Args:
        seconds: how long it lasts; 0 is for ever, where no other daemon can have the job.
        since: `boot_time` before it was asked for.
    """

    def __init__(self, seconds: float, since: float) -> None:
        """It was given."""
        self._seconds = seconds
        self._since = since

    def renewed(self, since: float) -> None:
        """It was given once more; asked for at this time."""
        self._since = max(self._since, since)

    @property
    def over(self) -> bool:
        """Whether another daemon may have the job by now."""
        return bool(self._seconds) and boot_time() - self._since >= self._seconds

    @property
    def silence_s(self) -> float:
        """See `ToolContext.silence_s`: with time to end a program before others take the job."""
        return self._seconds / 2


def silence(row: JobRow, lease_s: float) -> str:
    """That the daemon that has a job is not heard of any more, for a person.

    Args:
        row: the job, as that daemon has it.
        lease_s: how long a lease lasts, in seconds.
    """
    since = datetime.fromtimestamp(max(row.lease_until - lease_s, 0.0), UTC)
    return f"daemon {row.runner[:_NAME_CHARS]} {_SILENT} {since:%Y-%m-%d %H:%M:%S} UTC"


def says_silence(note: str) -> bool:
    """Whether an event's note is such a sentence."""
    return note.startswith("daemon ") and _SILENT in note
