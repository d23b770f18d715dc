"""`[jobs]` of the configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_SCHEMES: Final = ("postgresql+psycopg://", "postgresql://")
_MOST_AT_ONCE: Final = 256
_MOST_DAYS: Final = 3650.0
_MOST_RESULT_MIB: Final = 1 << 14
_MOST_WAITING_MIB: Final = 1 << 20
_LEAST_LEASE_S: Final = 1.0
_MOST_LEASE_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class JobsSection:
    """`[jobs]`: home tools that take long, and where what they need is kept.

    Attributes:
        database: URL of a Postgres that several daemons share, such as
            `postgresql+psycopg://homing@db/homing`; empty keeps jobs in this node's own folder.
        at_once: jobs that run at once, for all devices; the others wait their turn.
        keep_days: days for which an ended job, and a result that nobody fetched, is kept.
        approval_days: days for which a job waits for a person's answer; then it ends as refused.
        result_mib: MiB of one result, text and files together.
        waiting_mib: MiB of unfetched results with which a device or other home submits no more.
        lease_seconds: how long a daemon may be silent before another finishes its jobs.
    """

    database: str = ""
    at_once: int = 2
    keep_days: float = 30.0
    approval_days: float = 7.0
    result_mib: int = 256
    waiting_mib: int = 512
    lease_seconds: float = 15.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.database and not self.database.startswith(_SCHEMES):
            msg = "jobs.database is not a URL such as postgresql+psycopg://user@host/name"
            raise ValueError(msg)
        if not 1 <= self.at_once <= _MOST_AT_ONCE:
            msg = f"jobs.at_once is not between 1 and {_MOST_AT_ONCE}"
            raise ValueError(msg)
        for key in ("keep_days", "approval_days"):
            if not 0 < getattr(self, key) <= _MOST_DAYS:
                msg = f"jobs.{key} is not above 0 and at most {_MOST_DAYS:.0f}"
                raise ValueError(msg)
        if not 1 <= self.result_mib <= _MOST_RESULT_MIB:
            msg = f"jobs.result_mib is not between 1 and {_MOST_RESULT_MIB}"
            raise ValueError(msg)
        if not 1 <= self.waiting_mib <= _MOST_WAITING_MIB:
            msg = f"jobs.waiting_mib is not between 1 and {_MOST_WAITING_MIB}"
            raise ValueError(msg)
        if not _LEAST_LEASE_S <= self.lease_seconds <= _MOST_LEASE_S:
            msg = f"jobs.lease_seconds is not between {_LEAST_LEASE_S:.0f} and {_MOST_LEASE_S:.0f}"
            raise ValueError(msg)
