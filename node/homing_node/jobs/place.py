"""Which daemon this is, among those that may share a job store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Which daemon this is.

    Attributes:
        runner: its name in the job store, the same after each restart.
        shared: whether other daemons may have the same store.
    """

    runner: str
    shared: bool
