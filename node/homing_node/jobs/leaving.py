"""How an attempt leaves its job where it did not end it: parked, resumable, or in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from homing_core.jobs import JobState

from homing_node.jobs.lease import says_silence
from homing_node.jobs.settling import UNKNOWN_STEPS
from homing_node.jobs.store import Effect, Entry

if TYPE_CHECKING:
    from homing_core.clock import Clock

    from homing_node.jobs.notebook import JobNotebook
    from homing_node.jobs.records import Records
    from homing_node.jobs.store import JobRow, Question

MOST_CRASHES: Final = 5
"""Attempts in a row that began and never ended properly; then the job is given up."""
_EVENTS: Final = 200
"""So many are looked through for what became of the daemon before."""
_PARKED: Final = "parked"
_BEGUN: Final = "begun"


class Leaving:
    """Leaves a job. Every method raises `LostJobError` if another attempt has it.

    Args:
        records: where jobs are kept.
        row: the job, as this attempt has it.
        clock: for events.
    """

    def __init__(self, records: Records, row: JobRow, clock: Clock) -> None:
        """Keep where to write."""
        self._records = records
        self._store = records.store
        self._row = row
        self._clock = clock

    async def park(self, notebook: JobNotebook, question: Question) -> None:
        """Ask a person; the answer puts the job back in the queue."""
        await notebook.put_own(_PARKED, value=True)
        await self._proper_stop(notebook)
        note = "an owner is asked" if question.owners_only else "a person is asked"
        entry = Entry(
            self._clock.now(), JobState.WAITING_APPROVAL, approval_id=question.id, note=note
        )
        await self._records.change(self._row.key, self._store.ask, self._row.fence, question, entry)

    async def resume_later(self, notebook: JobNotebook | None) -> None:
        """The node stops: the job goes on when it is back, or at another."""
        if notebook is not None:
            await self._proper_stop(notebook)
        note = "the node stops; the job goes on when it is back"
        entry = Entry(self._clock.now(), JobState.QUEUED, note=note)
        await self._append(entry)

    async def doubt(self, notebook: JobNotebook, step: int) -> None:
        """Nobody knows whether a step happened: stop, and say so."""
        await self._proper_stop(notebook)
        known = await self._records.call(self._store.effects, self._row.key)
        begun = next((effect for effect in known if effect.step == step), None)
        if begun is None:
            effect = Effect(step, "", "", self._clock.now(), self._row.attempt)
            await self._records.call(self._store.begin_effect, self._row.fence, effect)
        note = "nobody knows whether this happened: "
        silent = await self._silent() if begun and begun.attempt < self._row.attempt else ""
        if silent:
            note += f"{silent}; if it was only paused, it may still do it"
        else:
            note += "the node or the tool ended in the middle of it"
        entry = Entry(self._clock.now(), JobState.UNKNOWN_EFFECT, note=note)
        await self._append(entry)

    async def _silent(self) -> str:
        """Which daemon had the job before this one, and since when it is silent; or nothing."""
        after = max(self._row.last_seq - _EVENTS, 0)
        events = await self._records.call(self._store.events, self._row.key, after, _EVENTS)
        notes = [event.note for event in events if says_silence(event.note)]
        return notes[-1] if notes else ""

    async def next_doubt(self) -> int:
        """Number of a record for something in doubt within a tool."""
        known = await self._records.call(self._store.effects, self._row.key)
        return max([UNKNOWN_STEPS - 1, *(effect.step for effect in known)]) + 1

    async def begin(self, notebook: JobNotebook) -> int:
        """How many attempts in a row before this began and never ended properly; notes this one.

        An attempt that was claimed and could not begin does not count. Whether the very first one
        began is not noted, since nearly every job has no other: it is taken to have.
        """
        if self._row.attempt == 1:
            return 0
        noted = notebook.own(_BEGUN)
        begun = noted if isinstance(noted, int) else 1
        await notebook.put_own(_BEGUN, begun + 1)
        return begun

    async def _proper_stop(self, notebook: JobNotebook) -> None:
        """Note that this attempt ended as it should, and that the job was well until here."""
        await notebook.put_own(_BEGUN, 0)

    async def _append(self, entry: Entry) -> None:
        await self._records.change(self._row.key, self._store.append, self._row.fence, entry)


async def unpark(notebook: JobNotebook) -> bool:
    """Whether the last attempt was stopped where it asked a person; said once.

    Its tool was stopped properly, so that one goes on from what it has noted.
    """
    parked = notebook.own(_PARKED) is True
    if parked:
        await notebook.put_own(_PARKED, value=False)
    return parked
