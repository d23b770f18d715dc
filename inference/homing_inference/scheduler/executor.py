"""Carries out steps of the plan on the model's memory, and measures what they take."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homing_inference.scheduler.pace import Pace
    from homing_inference.scheduler.parts import Memory, States, ThreadCount
    from homing_inference.scheduler.tasks import Demand, Task
    from homing_inference.scheduler.writing import Writing
    from homing_inference.states.beginnings import Beginning


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

    def prefill(self, task: Task, tokens: int, share: float) -> bool:
        """Compute the next tokens of a prompt, at most to where a state is to be kept.

        Args:
            task: whose prompt it is.
            tokens: at most.
            share: of its rate alone that it may keep beside answers.

        Returns:
            Whether its prefix was pinned with this.

        Raises:
            HomingError: see `Sequences.prefill`.
        """
        demand = task.demand
        done = self._memory.length(task.ids[0])
        if task.fresh and done < demand.prefix_tokens:
            # While it waited for its turn, somebody else may have computed the same prefix.
            self._memory.close(task.ids[0])
            task.ids = []
            self._memory.use_adapter(demand.adapter)
            begun = self._start(demand)
            self._take_up(task, begun)
            if begun.cached > done:
                return False
        task.fresh = False
        sequence = task.ids[0]
        end = min(done + tokens, *(stop for stop in task.stops if stop > done))
        last = end == demand.until
        began = self._begin(demand.adapter)
        scores = self._memory.prefill(
            sequence,
            demand.tokens[done:end],
            scores_at=(end - done - 1,) if last and task.wants_scores else (),
        )
        self._pace.prefilled(end - done, time.perf_counter() - began, share)
        self.interrupted = task.served = self._steps
        pinned = end == demand.prefix_tokens
        if pinned:
            self._states.pin(sequence, adapter=demand.adapter, sha256=demand.sha256)
        if end in self._states.stops(demand.cuts):
            self._states.keep(sequence, owner=demand.owner, adapter=demand.adapter)
        if last:
            task.prompt_computed(scores[0] if scores else None, self._memory)
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
