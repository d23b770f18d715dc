"""Runs what was asked of a model: takes requests, carries out what the plan says, passes events on.

All of it belongs to one thread, and nothing is computed but in `step`. What to do next is decided
by `plan`, a pure function; how long a chunk may be is learned by `Pace`; what a request is and says
at its end is a `Task`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import ConflictError, HomingError, OverloadedError, UnavailableError
from homing_core.generation import Done, Failed, Priority

from homing_inference.engine import EngineState, WarmedPrefix
from homing_inference.llama.executor import Executor
from homing_inference.llama.ledger import Ledger, Machine
from homing_inference.llama.plan import (
    Admit,
    Decode,
    Expire,
    Idle,
    MakeRoom,
    Prefill,
    Work,
    plan,
)
from homing_inference.llama.tasks import broken
from homing_inference.llama.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec

    from homing_inference.llama.intake import Intake
    from homing_inference.llama.pace import Pace
    from homing_inference.llama.parts import Memory, States, ThreadCount
    from homing_inference.llama.plan import Step
    from homing_inference.llama.tasks import Task

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

DEFAULT_WAITING: Final = 64
"""Requests that may wait, where nobody says otherwise."""
_SHORTEST_RETRY_MS: Final = 200
_LONGEST_RETRY_MS: Final = 60_000
_USUAL_ANSWER: Final = 256
"""Tokens that most answers stay under, whatever their limit."""


class Scheduler:
    """Serves many requests with one model. See `open_scheduler`.

    Args:
        intake: turns requests into tasks.
        memory: the model's sequences.
        states: what prompts begin with.
        pace: how fast the machine is.
        threads: how many compute; None leaves them as they are.
        max_waiting: requests that may wait.
        on_close: called once, after everything that was computed is freed.
    """

    def __init__(  # noqa: PLR0913  # each is one independent part
        self,
        intake: Intake,
        memory: Memory,
        states: States,
        pace: Pace,
        *,
        threads: ThreadCount | None = None,
        max_waiting: int = DEFAULT_WAITING,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is asked yet."""
        self._intake = intake
        self._memory = memory
        self._states = states
        self._pace = pace
        self._threads = threads
        self._executor = Executor(memory, states, pace, threads)
        self._max_waiting = max_waiting
        self._on_close = on_close
        self._closed = False
        self._ledger = Ledger()
        self._droppable = True

    @property
    def context_tokens(self) -> int:
        """Prompt and answer together, of one answer."""
        return self._intake.context_tokens

    @property
    def max_sequences(self) -> int:
        """Answers that are written at once."""
        return self._intake.max_sequences

    @property
    def state(self) -> EngineState:
        """How busy it is."""
        return EngineState(
            running=sum(task.sequences for task in self._ledger.running),
            waiting=len(self._ledger.waiting),
            decode_tokens_per_second=self._pace.decode_tokens_per_second,
            prefill_tokens_per_second=self._pace.prefill_tokens_per_second,
            warm=tuple(WarmedPrefix(pin.tokens, pin.sha256) for pin in self._states.pinned),
        )

    def submit(
        self,
        request: GenerateRequest,
        sink: Callable[[GenerationEvent], None],
        *,
        taken_at: float | None = None,
    ) -> None:
        """Take a request. Never raises: `sink` gets all events, the last is `Done` or `Failed`.

        Args:
            request: what is asked.
            sink: takes the events, during `step`, `cancel` or this call.
            taken_at: `time.monotonic()` when it came in; its deadline counts from there.
        """
        try:
            self._check_room()
            if self._ledger.find(request.id) is not None:
                msg = "this request is being answered already"
                raise ConflictError(msg, "Choose a new id for a new request.")  # noqa: TRY301
            self._ledger.put(self._intake.writing(request, sink, taken_at))
        except HomingError as error:
            sink(Failed.from_error(error))
        except Exception:  # noqa: BLE001  # logged; the reader must always get a last event
            _log.exception("engine.request_failed", generation=request.id)
            sink(Failed.from_error(broken()))

    def warm(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        thinking: Thinking,
        done: Callable[[WarmedPrefix | HomingError], None],
    ) -> None:
        """Compute and pin a prefix; see `Engine.warm`. `done` is told how it ended."""
        try:
            self._check_room()
            task = self._intake.warming(messages, tools, thinking, done)
            same = self._ledger.warming(task.prefix)
            if same is not None:
                same.join(done)
            elif task.demand.tokens:
                self._ledger.put(task)
            else:
                task.prompt_computed(None, self._memory)
        except HomingError as error:
            done(error)

    def cancel(self, id: GenerationId) -> None:  # noqa: A002  # as everywhere
        """End a generation now; harmless if there is none of this id."""
        task = self._ledger.find(id)
        if task is not None:
            task.cancel()
            self._sweep()

    def generate(self, request: GenerateRequest) -> Iterator[GenerationEvent]:
        """The events of one generation, computed while they are read; for use in one thread.

        Closing the iterator cancels the generation.
        """
        events: deque[GenerationEvent] = deque()
        self.submit(request, events.append)
        try:
            while True:
                while events:
                    event = events.popleft()
                    yield event
                    if isinstance(event, Done | Failed):
                        return
                self.step()
        finally:
            self.cancel(request.id)

    def step(self) -> bool:
        """Do the next thing; False if there is nothing to do until something is asked."""
        step = plan(self._ledger.view(self._memory, self._machine()))
        if isinstance(step, Idle):
            self._executor.rest()
            return False
        concerned = self._concerned(step)
        try:
            self._do(step, concerned)
        except OverloadedError as error:
            self._relieve(error)
        except HomingError as error:
            self._fail(concerned, error)
        except Exception:  # noqa: BLE001  # logged; whoever asked must get a last word
            _log.exception("engine.step_failed")
            self._fail(concerned, broken())
        self._sweep()
        return True

    def close(self) -> None:
        """End everything and free the model; harmless when repeated."""
        if self._closed:
            return
        self._closed = True
        error = UnavailableError("the engine was closed", "Start it again.")
        for task in self._ledger.all:
            task.fail(error)
        self._sweep()
        self._states.close()
        self._memory.shut()
        if self._threads is not None:
            self._threads.close()
        self._on_close()

    def _do(self, step: Step, concerned: Sequence[Task]) -> None:
        match step:
            case Expire():
                concerned[0].fail(concerned[0].late())
            case Admit():
                self._admit(concerned[0])
            case MakeRoom():
                self._droppable = self._states.make_room(self._executor.free_cells + step.cells)
            case Prefill():
                self._executor.prefill(concerned[0], step.tokens)
            case Decode():
                self._executor.decode([task for task in concerned if isinstance(task, Writing)])
            case Work():
                self._executor.work(concerned[0])
            case Idle():
                pass

    def _admit(self, task: Task) -> None:
        free_cells = self._executor.free_cells - self._ledger.promised(self._memory)
        if self._executor.admit(task, free_cells):
            self._ledger.admit(task)

    def _machine(self) -> Machine:
        return Machine(
            max_sequences=self.max_sequences,
            free_cells=self._executor.free_cells,
            chunk=self._pace.chunk(self._ledger.answers),
            droppable=self._droppable and bool(self._states.pinned),
            owed=self._pace.owed,
            interrupted=self._executor.interrupted,
        )

    def _concerned(self, step: Step) -> list[Task]:
        match step:
            case Decode():
                return [self._ledger.task(number) for number in step.numbers]
            case Expire() | Admit() | Prefill() | Work():
                return [self._ledger.task(step.number)]
            case _:
                return []

    def _fail(self, concerned: Sequence[Task], error: HomingError) -> None:
        """End those whose sequences are gone, or else those that the step was for."""
        lost = [task for task in self._ledger.running if self._executor.lost(task)]
        for task in lost or concerned:
            if not task.ended:
                task.fail(error)

    def _relieve(self, error: OverloadedError) -> None:
        """The memory is full although room was promised: drop pins, or else the newest request."""
        if self._states.make_room(self._executor.free_cells + self._memory.batch_tokens):
            return
        newest = max(
            self._ledger.running,
            key=lambda task: (task.demand.priority is Priority.JOB, task.number),
            default=None,
        )
        if newest is not None:
            newest.fail(error)

    def _sweep(self) -> None:
        """Free what ended."""
        for task in self._ledger.all:
            self._executor.release(task)
            if task.ended:
                self._ledger.remove(task)
                self._droppable = True

    def _check_room(self) -> None:
        if self._closed:
            msg = "the engine was closed"
            raise UnavailableError(msg, "Start it again.")
        if len(self._ledger.waiting) < self._max_waiting:
            return
        prompts = sum(len(task.demand.tokens) for task in self._ledger.waiting)
        answers = _USUAL_ANSWER * len(self._ledger.waiting)
        seconds = self._pace.seconds(prompts, answers, self.max_sequences) / len(
            self._ledger.waiting
        )
        retry_ms = min(max(round(seconds * 1000), _SHORTEST_RETRY_MS), _LONGEST_RETRY_MS)
        msg = f"{len(self._ledger.waiting)} requests wait for this model already"
        raise OverloadedError(msg, "Try again a little later.", retry_ms)
