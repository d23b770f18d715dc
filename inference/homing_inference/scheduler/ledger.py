"""Everything that was asked and has not ended, by number of arrival."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_inference.scheduler.view import View
from homing_inference.scheduler.warming import Warming
from homing_inference.scheduler.writing import Writing

if TYPE_CHECKING:
    from homing_core.ids import GenerationId

    from homing_inference.engine import WarmedPrefix
    from homing_inference.scheduler.pace import ChunkSize
    from homing_inference.scheduler.parts import Memory
    from homing_inference.scheduler.tasks import Task
    from homing_inference.scheduler.view import Running


@dataclass(frozen=True, slots=True)
class Machine:
    """What the plan has to know beside the tasks; see `View`.

    Attributes:
        max_sequences: that may be reserved at once.
        free_cells: that nothing uses.
        chunk: how much of prompts to compute at once.
        droppable: cells that dropping kept prefixes could free at most.
        owed: whether answers have time due before the next chunk.
        interrupted: step at which answers last had to wait.
        equal_parts: whether prompts share a batch only where they are equally long.
    """

    max_sequences: int
    free_cells: int
    chunk: ChunkSize
    droppable: int
    owed: bool
    interrupted: int
    equal_parts: bool


class Ledger:
    """The tasks."""

    def __init__(self) -> None:
        """Nothing was asked."""
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Task] = {}
        self._running: dict[int, Task] = {}

    @property
    def waiting(self) -> tuple[Task, ...]:
        """Those that were not let in yet, by arrival."""
        return tuple(self._waiting.values())

    @property
    def running(self) -> tuple[Task, ...]:
        """Those that were let in."""
        return tuple(self._running.values())

    @property
    def all(self) -> tuple[Task, ...]:
        """All of them."""
        return self.running + self.waiting

    @property
    def answers(self) -> int:
        """How many are being written, one token after the other."""
        return sum(task.answers for task in self._running.values() if isinstance(task, Writing))

    def put(self, task: Task) -> None:
        """Give it a number and let it wait."""
        task.number = next(self._numbers)
        self._waiting[task.number] = task

    def task(self, number: int) -> Task:
        """The one of this number."""
        return self._running.get(number) or self._waiting[number]

    def find(self, id: GenerationId) -> Writing | None:  # noqa: A002  # as everywhere
        """The generation of this id."""
        found = (task for task in self.all if isinstance(task, Writing))
        return next((task for task in found if task.request.id == id), None)

    def warming(self, prefix: WarmedPrefix) -> Warming | None:
        """The task that computes this prefix already."""
        found = (task for task in self.all if isinstance(task, Warming))
        return next((task for task in found if task.prefix == prefix), None)

    def admit(self, task: Task) -> None:
        """It was let in."""
        self._running[task.number] = self._waiting.pop(task.number)
        for other in self._waiting.values():
            if other.demand.priority is task.demand.priority and other.number < task.number:
                other.overtaken += 1

    def remove(self, task: Task) -> None:
        """It has ended."""
        self._running.pop(task.number, None)
        self._waiting.pop(task.number, None)

    def promised(self, memory: Memory) -> int:
        """Cells that those who run may still come to need."""
        return sum(task.growth(memory) for task in self._running.values())

    def view(self, memory: Memory, machine: Machine) -> View:
        """What the plan sees now."""
        return View(
            now=time.monotonic(),
            waiting=tuple(task.waiting() for task in self._waiting.values()),
            running=self._seen(memory),
            max_sequences=machine.max_sequences,
            free_cells=machine.free_cells - self.promised(memory),
            chunk=machine.chunk,
            droppable=machine.droppable,
            owed=machine.owed,
            interrupted=machine.interrupted,
            equal_parts=machine.equal_parts,
        )

    def _seen(self, memory: Memory) -> tuple[Running, ...]:
        coming = {_prefix(task) for task in self._running.values() if task.computes_prefix(memory)}
        return tuple(
            task.running(memory, behind=task.fresh and _prefix(task) in coming)
            for task in self._running.values()
        )


def _prefix(task: Task) -> tuple[str, str]:
    return task.demand.sha256, task.demand.adapter
