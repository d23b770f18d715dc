"""Rings alarms when they are due."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

from homing_core.errors import HomingError

from homing_agent.alarms.base import AlarmKind

if TYPE_CHECKING:
    from datetime import tzinfo

    from homing_core.clock import Clock

    from homing_agent.alarms.base import Alarm, Notifier
    from homing_agent.alarms.store import AlarmStore

_LOOK_S = 30.0
"""The wall clock may jump, and a phone sleeps: look again this often."""
_LATE_S = 60.0
_TITLES = {
    AlarmKind.TIMER: "Timer",
    AlarmKind.REMINDER: "Reminder",
    AlarmKind.EVENT: "Event",
}


class Ringer:
    """Keeps alarms and rings each once, late rather than never.

    An alarm counts as rung once the notifier has taken it. If the process dies in between, it rings
    again: twice is better than not at all.

    Args:
        store: keeps them.
        notifier: makes a person notice; asked again later if it cannot.
        clock: where time comes from.
        zone: in which a late alarm says when it was due.
        look_s: seconds between looks at the clock.
    """

    def __init__(
        self,
        store: AlarmStore,
        notifier: Notifier,
        clock: Clock,
        zone: tzinfo,
        look_s: float = _LOOK_S,
    ) -> None:
        """Keep them; `run` does the work."""
        self._store = store
        self._notifier = notifier
        self._clock = clock
        self._zone = zone
        self._look_s = look_s
        self._changed = asyncio.Event()

    def add(self, alarm: Alarm) -> None:
        """As in `Alarms`."""
        self._store.add(alarm)
        self.wake()

    def pending(self) -> tuple[Alarm, ...]:
        """As in `Alarms`. While this is not empty, the process should not leave."""
        return self._store.pending()

    def wake(self) -> None:
        """Look at the clock now."""
        self._changed.set()

    async def run(self) -> None:
        """Ring until cancelled."""
        while True:
            self._changed.clear()
            try:
                soonest = await self.ring_due()
            except HomingError:
                soonest = None  # the file cannot be read just now: look again later
            wait = self._look_s if soonest is None else min(soonest, self._look_s)
            try:
                async with asyncio.timeout(wait):
                    await self._changed.wait()
            except TimeoutError:
                continue

    async def ring_due(self) -> float | None:
        """Ring what is due; the seconds until the next one, or None if there is none.

        Raises:
            InternalError: the alarms cannot be read.
        """
        now = self._clock.now()
        for alarm in self._store.pending():
            if alarm.due > now:
                return alarm.due - now
            try:
                await self._notifier.notify(*self._words(alarm, now))
                self._store.mark_rung(alarm.id)
            except HomingError:
                # Nobody could be reached, or the file is full: it stays pending.
                return self._look_s
        return None

    def _words(self, alarm: Alarm, now: float) -> tuple[str, str]:
        text = alarm.text or "Time is up."
        if now - alarm.due > _LATE_S:
            due = datetime.fromtimestamp(alarm.due, self._zone)
            text = f"{text} (was due {due:%Y-%m-%d %H:%M})"
        return _TITLES[alarm.kind], text
