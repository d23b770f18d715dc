"""Carries out the plan, step by step, and cleans up behind what ended or failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import HomingError, OverloadedError
from homing_core.generation import Priority

from homing_inference.scheduler.executor import Executor
from homing_inference.scheduler.ledger import Ledger, Machine
from homing_inference.scheduler.pace import ALONE, JOB_SHARE, PREFILL_SHARE
from homing_inference.scheduler.plan import (
    Admit,
    Decode,
    Expire,
    Idle,
    MakeRoom,
    Prefill,
    Refuse,
    Work,
    plan,
)
from homing_inference.scheduler.scoring_task import Scoring
from homing_inference.scheduler.tasks import broken
from homing_inference.scheduler.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_inference.scheduler.pace import Pace
    from homing_inference.scheduler.parts import Memory, States, ThreadCount
    from homing_inference.scheduler.plan import Step
    from homing_inference.scheduler.tasks import Task

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

_SHORTEST_RETRY_MS: Final = 200
_LONGEST_RETRY_MS: Final = 60_000
_USUAL_ANSWER: Final = 256
"""Tokens that most answers stay under, whatever their limit."""


class Stepper:
    """Owns what was asked and does the next thing for it. Belongs to the memory's thread.

    Args:
        memory: the model's sequences.
        states: what prompts begin with.
        pace: how fast the machine is.
        threads: how many compute; None leaves them as they are.
        keep_answers: whether a next turn can begin with the state behind an answer.
        max_sequences: answers that are written at once.
        pinned: told of each task whose prefix was just pinned.
    """

    def __init__(  # noqa: PLR0913  # each is one independent part
        self,
        memory: Memory,
        states: States,
        pace: Pace,
        threads: ThreadCount | None,
        *,
        keep_answers: bool,
        max_sequences: int,
        pinned: Callable[[Task], None],
    ) -> None:
        """Nothing is asked yet."""
        self.ledger: Final = Ledger()
        self._memory = memory
        self._states = states
        self._pace = pace
        self._executor = Executor(memory, states, pace, threads, keep_answers=keep_answers)
        self._max_sequences = max_sequences
        self._pinned = pinned
        self._droppable = True

    def step(self) -> bool:
        """Do the next thing; False if there is nothing to do until something is asked."""
        step = plan(self.ledger.view(self._memory, self._machine()))
        if isinstance(step, Idle):
            self._executor.rest()
            return False
        concerned = self._concerned(step)
        try:
            self._do(step, concerned)
        except OverloadedError as error:
            if isinstance(step, Admit | Refuse):
                self._fail(concerned, error)
            else:
                self._relieve(error)
        except HomingError as error:
            self._fail(concerned, error)
        except Exception:  # noqa: BLE001  # logged; whoever asked must get a last word
            _log.exception("engine.step_failed")
            self._fail(concerned, broken())
        self.sweep()
        return True

    def sweep(self) -> None:
        """Free what ended."""
        for task in self.ledger.all:
            self._executor.release(task)
            if task.ended:
                self.ledger.remove(task)
                self._droppable = True

    def spare(self, scoring: Scoring) -> int:
        """Sequences that a scoring may take beside its own, so that nobody who waits lacks one.

        One more than answers need is there for whichever scoring is the only one that forks.
        """
        others = [task for task in self.ledger.running if task is not scoring]
        alone = not any(isinstance(task, Scoring) and task.forks for task in others)
        taken = sum(task.sequences for task in others)
        return self._max_sequences - taken - 1 + alone - scoring.forks

    def retry_ms(self) -> int:
        """When a place in the queue may be free, in milliseconds."""
        waiting = self.ledger.waiting
        prompts = sum(len(task.demand.tokens) for task in waiting)
        answers = _USUAL_ANSWER * len(waiting)
        seconds = self._pace.seconds(prompts, answers, self._max_sequences)
        each_ms = round(seconds * 1000 / max(len(waiting), 1))
        return min(max(each_ms, _SHORTEST_RETRY_MS), _LONGEST_RETRY_MS)

    def _machine(self) -> Machine:
        return Machine(
            max_sequences=self._max_sequences,
            free_cells=self._executor.free_cells,
            chunk=self._pace.chunk(self.ledger.answers),
            droppable=sum(pin.tokens for pin in self._states.pinned) if self._droppable else 0,
            owed=self._pace.owed,
            interrupted=self._executor.interrupted,
            equal_parts=self._memory.equal_parts,
        )

    def _concerned(self, step: Step) -> list[Task]:
        match step:
            case Decode():
                return [self.ledger.task(number) for number in step.numbers]
            case Prefill():
                return [self.ledger.task(number) for number, _ in step.parts]
            case Expire() | Admit() | Refuse() | Work():
                return [self.ledger.task(step.number)]
            case _:
                return []

    def _do(self, step: Step, concerned: Sequence[Task]) -> None:
        match step:
            case Expire():
                concerned[0].fail(concerned[0].late())
            case Admit():
                self._admit(concerned[0])
            case MakeRoom():
                self._droppable = self._states.make_room(self._executor.free_cells + step.cells)
            case Refuse():
                msg = "there is no room for this request in the model's memory"
                raise OverloadedError(msg, "Try again a little later, or shorten it.")
            case Prefill():
                self._prefill([(self.ledger.task(each), tokens) for each, tokens in step.parts])
            case Decode():
                self._executor.decode([task for task in concerned if isinstance(task, Writing)])
            case Work():
                self._executor.work(concerned[0], step.tokens, self._share(concerned[0]))
            case Idle():
                pass

    def _admit(self, task: Task) -> None:
        free_cells = self._executor.free_cells - self.ledger.promised(self._memory)
        if self._executor.admit(task, free_cells):
            self.ledger.admit(task)

    def _prefill(self, parts: Sequence[tuple[Task, int]]) -> None:
        for computed in self._executor.prefill(parts, self._share(parts[0][0])):
            task = computed.task
            try:
                if self._executor.settle(computed):
                    self._pinned(task)
            except HomingError as error:
                self._fail([task], error)
            except Exception:  # noqa: BLE001  # logged; only this one is concerned
                _log.exception("engine.step_failed")
                self._fail([task], broken())

    def _share(self, task: Task) -> float:
        """What prompts and work may keep of their rate beside answers."""
        if not self.ledger.answers:
            return ALONE
        persons_wait = task.demand.priority is Priority.JOB and any(
            isinstance(other, Writing) and other.answers
            for other in self.ledger.running
            if other.demand.priority is Priority.INTERACTIVE
        )
        return JOB_SHARE if persons_wait else PREFILL_SHARE

    def _fail(self, concerned: Sequence[Task], error: HomingError) -> None:
        """End those whose sequences are gone, or else those that the step was for."""
        lost = [task for task in self.ledger.running if self._executor.lost(task)]
        for task in lost or concerned:
            if not task.ended:
                task.fail(error)

    def _relieve(self, error: OverloadedError) -> None:
        """The memory is full although room was promised: drop pins, or else the newest request."""
        if self._states.make_room(self._executor.free_cells + self._memory.batch_tokens):
            return
        newest = max(
            self.ledger.running,
            key=lambda task: (task.demand.priority is Priority.JOB, task.number),
            default=None,
        )
        if newest is not None:
            newest.fail(error)
