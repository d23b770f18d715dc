"""Takes what is asked of a model and says what came of it. All of it belongs to one thread.

Nothing is computed but in `step`. What to do next is decided by `plan`, a pure function; `Stepper`
carries it out; how long a chunk may be is learned by `Pace`; what a request is and says at its end
is a `Task`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import structlog
from homing_core.errors import ConflictError, HomingError, OverloadedError
from homing_core.generation import Done, Failed

from homing_inference.engine import EngineState, WarmedPrefix
from homing_inference.scheduler.settings import DEFAULT_WAITING
from homing_inference.scheduler.stepper import Stepper
from homing_inference.scheduler.tasks import broken, closed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec

    from homing_inference.scheduler.intake import Intake
    from homing_inference.scheduler.pace import Pace
    from homing_inference.scheduler.parts import Memory, States, ThreadCount
    from homing_inference.scheduler.tasks import Task

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)


class Scheduler:
    """Serves many requests with one model. See `open_scheduler`.

    Args:
        intake: turns requests into tasks.
        memory: the model's sequences.
        states: what prompts begin with.
        pace: how fast the machine is.
        threads: how many compute; None leaves them as they are.
        keep_answers: whether a next turn can begin with the state behind an answer.
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
        keep_answers: bool = True,
        max_waiting: int = DEFAULT_WAITING,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Nothing is asked yet."""
        self._intake = intake
        self._memory = memory
        self._states = states
        self._pace = pace
        self._threads = threads
        self._max_waiting = max_waiting
        self._on_close = on_close
        self._closed = False
        self._stepper = Stepper(
            memory,
            states,
            pace,
            threads,
            keep_answers=keep_answers,
            max_sequences=intake.max_sequences,
            pinned=self._pinned,
        )
        self._ledger = self._stepper.ledger

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

        def take() -> None:
            if self._ledger.find(request.id) is not None:
                msg = "this request is being answered already"
                raise ConflictError(msg, "Choose a new id for a new request.")
            self._ledger.put(self._intake.writing(request, sink, taken_at))

        self._take(take, lambda error: sink(Failed.from_error(error)))

    def warm(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        thinking: Thinking,
        done: Callable[[WarmedPrefix | HomingError], None],
    ) -> None:
        """Pin a prefix; see `Engine.warm`. Never raises: `done` is told how it ended."""

        def take() -> None:
            task = self._intake.warming(messages, tools, thinking, done)
            same = self._ledger.warming(task.prefix)
            if same is not None:
                same.join(done)
            elif task.demand.tokens:
                self._ledger.put(task)
            else:
                task.prompt_computed(None, self._memory)

        self._take(take, done)

    def score(
        self, request: ScoreRequest, done: Callable[[ToolScores | HomingError], None]
    ) -> None:
        """Score tools; see `Engine.score`. Never raises: `done` is told how it ended."""

        def take() -> None:
            for task in self._intake.scoring(request, self._stepper.spare, done):
                self._ledger.put(task)

        self._take(take, done)

    def embed(
        self,
        texts: Sequence[str],
        done: Callable[[tuple[tuple[float, ...], ...] | HomingError], None],
    ) -> None:
        """Make vectors; see `Engine.embed`. Never raises: `done` is told how it ended."""

        def take() -> None:
            if texts:
                self._ledger.put(self._intake.embedding(texts, done))
            else:
                done(())

        self._take(take, done)

    def cancel(self, id: GenerationId) -> None:  # noqa: A002  # as everywhere
        """End a generation now; harmless if there is none of this id."""
        task = self._ledger.find(id)
        if task is not None:
            task.cancel()
            self._stepper.sweep()

    def forget(self, owner: str) -> None:
        """Drop what conversations of this owner left; see `Engine.forget`."""
        self._states.forget(owner)

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
        return self._stepper.step()

    def close(self) -> None:
        """End everything and free the model; harmless when repeated."""
        if self._closed:
            return
        self._closed = True
        for task in self._ledger.all:
            task.fail(closed())
        self._stepper.sweep()
        self._states.close()
        self._memory.shut()
        if self._threads is not None:
            self._threads.close()
        self._on_close()

    def _take(self, take: Callable[[], None], refuse: Callable[[HomingError], None]) -> None:
        try:
            self._check_room()
            take()
        except HomingError as error:
            refuse(error)
        except Exception:  # noqa: BLE001  # logged; whoever asked must always get a last word
            _log.exception("engine.request_failed")
            refuse(broken())

    def _check_room(self) -> None:
        if self._closed:
            raise closed()
        waiting = len(self._ledger.waiting)
        free = self.max_sequences - sum(task.sequences for task in self._ledger.running)
        if waiting >= self._max_waiting + max(free, 0):  # those with a place do not really wait
            msg = f"{waiting} requests wait for this model already"
            retry_ms = self._stepper.retry_ms()
            raise OverloadedError(msg, "Try again a little later.", retry_ms)

    def _pinned(self, task: Task) -> None:
        """A prefix was pinned: what scores behind it are compared with is computed in time."""
        try:
            for baseline in self._intake.baseline(task, self._stepper.spare):
                self._ledger.put(baseline)
        except HomingError as error:
            _log.debug("engine.no_baseline", what=error.what)
