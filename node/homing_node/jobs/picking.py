"""Which job runs next. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from homing_core.ids import DeviceId

    from homing_node.jobs.store import JobKey, JobRow


def places_for_others(at_once: int) -> int:
    """How many jobs of devices that are not the household's may run: one place stays free of them.

    Where only one job runs at once, that one may be anybody's.
    """
    return max(at_once - 1, 1)


def next_job(
    queue: Iterable[JobRow],
    running: Iterable[DeviceId],
    held: Collection[JobKey] = (),
    crowded: Collection[DeviceId] = (),
) -> JobRow | None:
    """The job whose turn it is: highest priority, then whose account runs fewest, then oldest.

    Args:
        queue: jobs that wait, oldest first.
        running: the account of each job that runs.
        held: jobs that cannot run just now.
        crowded: accounts that have to wait for a place of their kind.

    Returns:
        None if there is none.
    """
    runs = Counter(running)
    able = (row for row in queue if row.key not in held and row.key.account not in crowded)
    return min(able, key=lambda row: (-row.priority, runs[row.key.account]), default=None)
