"""Which jobs have to wait although there may be room, and why. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_node.jobs.picking import next_job, places_for_others

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from homing_core.ids import DeviceId

    from homing_node.jobs.store import JobKey, JobRow


class Turns:
    """Gives places to jobs. Belongs to one event loop.

    Args:
        at_once: jobs that run at once.
        running: those that run.
    """

    def __init__(self, at_once: int, running: Collection[JobKey]) -> None:
        """Nobody waits."""
        self._at_once = at_once
        self._running = running
        self._held: dict[JobKey, tuple[float, str]] = {}
        self._others: set[JobKey] = set()
        self._outsiders: set[DeviceId] = set()
        self._crowded: set[DeviceId] = set()

    @property
    def full(self) -> bool:
        """Whether as many run as may."""
        return len(self._running) >= self._at_once

    @property
    def _others_full(self) -> bool:
        taken = sum(key in self._running for key in self._others)
        return taken >= places_for_others(self._at_once)

    def look_anew(self) -> None:
        """Places may be free again."""
        self._crowded = set()

    def next(self, queue: Iterable[JobRow], now: float) -> JobRow | None:
        """The job whose turn it is; None if there is none, or no room."""
        if self.full:
            return None
        self._held = {key: held for key, held in self._held.items() if held[0] > now}
        accounts = [key.account for key in self._running]
        return next_job(queue, accounts, self._held, self._crowded)

    def hold(self, key: JobKey, until: float, why: str) -> None:
        """It cannot run before then, in monotonic seconds."""
        self._held[key] = (until, why)

    def free(self, key: JobKey) -> None:
        """It may have its turn again."""
        self._held.pop(key, None)

    def take(self, key: JobKey, *, household: bool) -> bool:
        """Give a job a place of its kind; others leave one to the household. False: none is free.

        A place that was given and not used is free again at the next call.
        """
        if household:
            self._outsiders.discard(key.account)
            return True
        self._outsiders.add(key.account)
        self._others.intersection_update(self._running)
        if self._others_full:
            self._crowded.add(key.account)
            return False
        self._others.add(key)
        return True

    def why(self, key: JobKey) -> str:
        """Why a job of the queue waits, for a person; empty if nothing stands in its way."""
        if key in self._held:
            return self._held[key][1]
        if self.full:
            return "as many jobs run as may at once; its turn comes after one of them"
        if key.account in self._outsiders and self._others_full:
            return "the places for guests' jobs are taken; its turn comes after one of them"
        return ""
