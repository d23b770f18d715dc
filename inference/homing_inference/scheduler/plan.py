"""What to compute next, as a pure function of what waits and what runs.

The rules, first to last:

1. What is past its deadline ends.
2. Persons before jobs; of equals, whoever has least running, then whoever came first. A request
   that was overtaken often goes by its arrival alone. Who is first and does not fit yet is waited
   for, so that small requests never keep a large one out.
3. Jobs leave one sequence to persons, and their prompts stand still while a person waits and
   something else can run.
4. Of prompts, the oldest and the one with least left take turns. What a chunk has room for behind
   one is filled with the next ones of the same class and adapter, where that gains. One whose
   prefix another request is just computing waits for that.
5. Answers take a step together after each slot of prompts, and until their share of the time is
   used. A slot is a chunk, and others behind it as long as there is time for all that the next
   prompt has left. Answers with different adapters cannot share a step: their groups take turns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from homing_core.generation import Priority

from homing_inference.scheduler.batch import next_batch, next_of
from homing_inference.scheduler.view import Phase

if TYPE_CHECKING:
    from collections.abc import Iterable

    from homing_inference.scheduler.batch import Part
    from homing_inference.scheduler.view import Running, View, Waiting

OVERTAKEN_AT_MOST: Final = 8
"""Later requests of the same class that may be let in before one that waits."""


@dataclass(frozen=True, slots=True)
class Expire:
    """Its deadline is over."""

    number: int


@dataclass(frozen=True, slots=True)
class Admit:
    """Let it in."""

    number: int


@dataclass(frozen=True, slots=True)
class MakeRoom:
    """Drop kept prefixes until so many more cells are free."""

    cells: int


@dataclass(frozen=True, slots=True)
class Refuse:
    """There is no room for it, and nothing that could make any."""

    number: int


@dataclass(frozen=True, slots=True)
class Prefill:
    """Compute the next tokens of prompts as one batch: request and how many, in order."""

    parts: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Decode:
    """Compute one token of each answer of these requests."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """Do one unit of it, of so many tokens at most."""

    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing can be done until something arrives."""


Step: TypeAlias = Expire | Admit | MakeRoom | Refuse | Prefill | Decode | Work | Idle

_RANK: Final = {Priority.INTERACTIVE: 0, Priority.JOB: 1}


def plan(view: View) -> Step:
    """The next step. Whatever it is brings something forward, unless it is `Idle`."""
    late = _past_deadline(view)
    if late is not None:
        return Expire(late.number)
    first = first_in_line(view)
    if first is not None and (let_in := _let_in(view, first)) is not None:
        return let_in
    answers = [item for item in view.running if item.phase is Phase.DECODE]
    batch = next_batch(view, _interrupting(view, answers))
    if answers and not (batch and _has_time(view, answers, batch)):
        return Decode(_longest_unserved(answers))
    if not batch:
        return Idle()
    if batch[0].item.phase is Phase.WORK:
        return Work(batch[0].item.number, batch[0].tokens)
    return Prefill(tuple((part.item.number, part.tokens) for part in batch))


def _past_deadline(view: View) -> Running | Waiting | None:
    everything: tuple[Running | Waiting, ...] = (*view.running, *view.waiting)
    return next((item for item in everything if item.deadline <= view.now), None)


def first_in_line(view: View) -> Waiting | None:
    """Who is let in next, as soon as it fits."""
    running = _count(item.owner for item in view.running)

    def rank(item: Waiting) -> tuple[int, int, int]:
        patient = item.overtaken < OVERTAKEN_AT_MOST
        return (
            _RANK[item.priority],
            1 + running.get(item.owner, 0) if patient else 0,
            item.number,
        )

    return min(view.waiting, key=rank, default=None)


def _let_in(view: View, first: Waiting) -> Admit | MakeRoom | Refuse | None:
    taken = sum(item.sequences for item in view.running)
    if first.sequences > view.max_sequences - taken:
        return None
    if first.priority is Priority.JOB and first.sequences:
        jobs = sum(item.sequences for item in view.running if item.priority is Priority.JOB)
        if first.sequences > sequences_for_jobs(view.max_sequences) - jobs:
            return None
    if first.cells <= view.free_cells:
        return Admit(first.number)
    lacking = first.cells - view.free_cells
    if lacking <= view.droppable:
        return MakeRoom(lacking)
    return None if view.running else Refuse(first.number)


def sequences_for_jobs(max_sequences: int) -> int:
    """How many sequences jobs may take; one is left to persons where there are several."""
    return max(max_sequences - 1, 1)


def _interrupting(view: View, answers: list[Running]) -> list[Running]:
    """The prompts and work to go on with, of which any may be next."""
    able = [item for item in view.running if item.phase is not Phase.DECODE]
    ready = [item for item in able if not item.behind]
    persons = [item for item in able if item.priority is Priority.INTERACTIVE]
    if persons:
        persons_ready = [item for item in persons if not item.behind]
        # Where a person waits for the prefix of a job, that comes first, alone.
        return persons_ready or ([next_of(ready)] if ready else persons)
    person_waits = any(item.priority is Priority.INTERACTIVE for item in view.waiting)
    return [] if person_waits and answers else ready or able


def _has_time(view: View, answers: list[Running], batch: list[Part]) -> bool:
    """Whether the batch may come before the answers' next step."""
    unserved = [item.served <= view.interrupted for item in answers]
    if not any(unserved):
        return not view.owed
    first = batch[0]
    whole = first.item.phase is Phase.PREFILL and first.tokens == first.item.reach
    return all(unserved) and whole


def _longest_unserved(answers: list[Running]) -> tuple[int, ...]:
    """The group of one adapter that waits longest, all of it."""
    first = min(answers, key=lambda item: (item.served, item.number))
    return tuple(item.number for item in answers if item.adapter == first.adapter)


def _count(owners: Iterable[str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for owner in owners:
        counts[owner] = counts.get(owner, 0) + 1
    return counts
