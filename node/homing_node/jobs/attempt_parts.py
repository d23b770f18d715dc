"""What attempts at jobs are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from homing_core.clock import Clock

    from homing_node.jobs.closing import Closer
    from homing_node.jobs.opening import Opener
    from homing_node.jobs.ports import Brains
    from homing_node.jobs.records import Records
    from homing_node.jobs.section import JobsSection
    from homing_node.jobs.store import JobRow

STOP_S: Final = 10.0
"""How long a tool that was cancelled may take to stop, in seconds."""
GRACE_S: Final = 2.0
"""How long a tool may go on when the node is told to stop, before it is cancelled."""


@dataclass(frozen=True, slots=True)
class AttemptParts:
    """What attempts are made with.

    Attributes:
        records: where jobs are kept.
        opener: looks up what an attempt needs.
        closer: ends jobs.
        brains: the node's models.
        section: `[jobs]` of the configuration.
        clock: for events and ends.
        folder: where each job has a folder of its own while it runs.
        stop_s: as `STOP_S`.
        grace_s: as `GRACE_S`.
    """

    records: Records
    opener: Opener
    closer: Closer
    brains: Brains
    section: JobsSection
    clock: Clock
    folder: Path
    stop_s: float = STOP_S
    grace_s: float = GRACE_S


def folder_of(folder: Path, row: JobRow) -> Path:
    """Where a job has its files while it runs."""
    return folder / f"{row.key.account[:16]}-{row.key.id}"
