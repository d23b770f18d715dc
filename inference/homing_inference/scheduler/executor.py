"""Carries out steps of the plan on the model's memory, and measures what they take."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from homing_inference.scheduler.pace import Pace
    from homing_inference.scheduler.parts import Memory, States, ThreadCount
    from homing_inference.scheduler.tasks import Demand, Task
    from homing_inference.scheduler.writing import Writing
    from homing_inference.states.beginnings import Beginning


@dataclass(frozen=True, slots=True)
class Computed:
    """What a batch did for one prompt.

    Attributes:
        task: whose it is.
        end: tokens of it that are computed now.
        scores: behind it, if it is complete and they are wanted; a view.
    """

    task: Task
    end: int
    scores: NDArray[np.float32] | None


class Executor:
    """The hands of the scheduler. Belongs to the memory's thread.

    Args:
        memory: the sequences.
        states: what prompts begin with.
        pace: learns from every step.
        threads: how many compute; None leaves them as they are.
        keep_answers: whether a next turn can begin with the state behind an answer.
    """

    def __init__(
        self,
        memory: Memory,
        states: States,
        pace: Pace,
        threads: ThreadCount | None = None,
        *,
        keep_answers: bool = True,
    ) -> None:
        """Nothing is computed yet."""
        self._memory = memory
        self._states = states
        self._pace = pace
        self._threads = threads
        self._keep_answers = keep_answers
        self._thread_count = 0
        self._steps = 0
        self.interrupted = 0
        """Step at which answers last had to wait for something else."""

    @property
    def free_cells(self) -> int:
        """Cells that nothing uses."""
        return self._memory.cells - self._memory.used_cells

    def admit(self, task: Task, free_cells: int) -> bool:
        """Find a beginning for a task's prompt; False if it has no room after all.

        How many cells a request needs of its own shows only here: what it shares with a pinned
        prefix costs nothing. A task without room is told what it needs and goes on waiting.

        Args:
            task: that waits.
            free_cells: that are not promised to others.

        Raises:
            HomingError: it cannot run at all.
        """
        demand = task.demand
        if not demand.tokens:
            return True
        self._memory.use_adapter(demand.adapter)
        if not task.wants_scores and self._states.renew(demand.tokens, adapter=demand.adapter):
            task.prompt_computed(None, self._memory)
            return True
        used = self._memory.used_cells
        begun = self._start(demand)
        needed = demand.cells - begun.cached
        if needed > free_cells - (self._memory.used_cells - used):
            task.cells = needed + self._memory.own_cells(begun.sequence)
            self._memory.close(begun.sequence)
            return False
        self._take_up(task, begun)
        return True

    def prefill(self, parts: Sequence[tuple[Task, int]], share: float) -> list[Computed]:
        """Compute the next tokens of prompts as one batch, at most to where a state is to be kept.

        Args:
            parts: whose prompts, and how many tokens at most; all with the same adapter.
            share: of its rate alone that a prompt may keep beside answers.

        Returns:
            What was computed, each to be settled with `settle` before the next computation; nothing
            if the rest of a prompt turned out to be shorter.

        Raises:
            HomingError: see `Sequences.prefill`.
        """
        if any([self._found_more(task) for task, _ in parts]):  # noqa: C419  # asks every one
            return []
        ends: list[tuple[Task, int]] = []
        batch: dict[int, tuple[int, ...]] = {}
        for task, tokens in parts:
            task.fresh = False
            done = self._memory.length(task.ids[0])
            end = min(done + tokens, *(stop for stop in task.stops if stop > done))
            ends.append((task, end))
            batch[task.ids[0]] = task.demand.tokens[done:end]
        wanted = [
            task.ids[0] for task, end in ends if end == task.demand.until and task.wants_scores
        ]
        began = self._begin(parts[0][0].demand.adapter)
        scores = self._memory.prefill_many(batch, scores_at=wanted)
        count = sum(map(len, batch.values()))
        self._pace.prefilled(count, time.perf_counter() - began, share)
        self.interrupted = self._steps
        for task, _ in parts:
            task.served = self._steps
        return [Computed(task, end, scores.get(task.ids[0])) for task, end in ends]

    def settle(self, computed: Computed) -> bool:
        """Keep the states that a prompt has reached, and go on with its task if it is complete.

        Returns:
            Whether its prefix was pinned with this.

        Raises:
            HomingError: the task cannot go on.
        """
        task, demand, end = computed.task, computed.task.demand, computed.end
        pinned = end == demand.prefix_tokens
        if pinned:
            self._states.pin(task.ids[0], adapter=demand.adapter, sha256=demand.sha256)
        if end in self._states.stops(demand.cuts):
            self._states.keep(task.ids[0], owner=demand.owner, adapter=demand.adapter)
        if end == demand.until:
            task.prompt_computed(computed.scores, self._memory)
        return pinned

    def decode(self, tasks: Sequence[Writing]) -> None:
        """Compute and write one token of each answer of these tasks, which share an adapter.

        Raises:
            HomingError: see `Sequences.step`; nothing was written.
        """
        began = self._begin(tasks[0].demand.adapter)
        tokens = {sequence: token for task in tasks for sequence, token in task.pending().items()}
        scores = self._memory.step(tokens)
        for task in tasks:
            task.served = self._steps
            task.advance(scores)
        self._pace.decoded(len(tokens), time.perf_counter() - began)

    def work(self, task: Task, tokens: int, share: float) -> None:
        """One unit of a task's own work.

        Args:
            task: whose it is.
            tokens: to compute at most.
            share: of its rate alone that it may keep beside answers.

        Raises:
            HomingError: it failed.
        """
        began = self._begin(task.demand.adapter)
        task.work(tokens)
        self._pace.worked(time.perf_counter() - began, share)
        self.interrupted = task.served = self._steps

    def release(self, task: Task) -> None:
        """Close what a task holds and needs no more; keep what its owner's next turn can use."""
        for sequence, by_itself in task.left():
            if by_itself and self._keep_answers and self._memory.is_open(sequence):
                self._states.keep(sequence, owner=task.demand.owner, adapter=task.demand.adapter)
            self._memory.close(sequence)
        if task.ended:
            for sequence in task.ids:
                self._memory.close(sequence)
            task.ids = []

    def lost(self, task: Task) -> bool:
        """Whether a failed computation closed any of its sequences."""
        return not all(map(self._memory.is_open, task.ids))

    def rest(self) -> None:
        """Nothing is to compute for now."""
        if self._threads is not None:
            self._threads.idle()

    def _found_more(self, task: Task) -> bool:
        """Begin again if somebody else computed the same prefix meanwhile; whether that helped."""
        done = self._memory.length(task.ids[0])
        if not task.fresh or done >= task.demand.prefix_tokens:
            return False
        self._memory.close(task.ids[0])
        task.ids = []
        self._memory.use_adapter(task.demand.adapter)
        begun = self._start(task.demand)
        self._take_up(task, begun)
        return begun.cached > done

    def _start(self, demand: Demand) -> Beginning:
        return self._states.start(
            demand.tokens,
            owner=demand.owner,
            adapter=demand.adapter,
            prefix_tokens=demand.prefix_tokens,
            cuts=demand.cuts,
        )

    def _take_up(self, task: Task, begun: Beginning) -> None:
        kept = self._states.stops(task.demand.cuts)
        task.stops = tuple(sorted({task.demand.prefix_tokens, *kept, task.demand.until}))
        task.begin(begun.sequence, begun.cached)
        if begun.cached >= task.demand.until:
            task.prompt_computed(None, self._memory)

    def _begin(self, adapter: str) -> float:
        self._steps += 1
        if self._threads is not None:
            self._threads.busy()
            threads = self._threads.now()
            if threads != self._thread_count:
                self._thread_count = threads
                self._memory.use_threads(threads)
        began = time.perf_counter()
        self._memory.use_adapter(adapter)
        return began
