"""A request for answers while it waits, is computed and is written."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import structlog
from homing_core.errors import HomingError, UnavailableError
from homing_core.generation import Done, Failed, FinishReason, Sampled, Usage

from homing_inference.scheduler.tasks import Task, broken
from homing_inference.scheduler.view import Phase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from homing_core.generation import GenerateRequest, GenerationEvent, SampleEvent
    from numpy.typing import NDArray

    from homing_inference.answers.run import Run
    from homing_inference.scheduler.parts import Memory
    from homing_inference.scheduler.tasks import Demand

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

_BY_ITSELF: Final = frozenset({FinishReason.STOP, FinishReason.TOOL_CALLS})


class Writing(Task):
    """One or several answers to one prompt.

    Args:
        demand: of all of them.
        request: what was asked.
        runs: the answers; none is begun.
        sink: takes the events.
    """

    def __init__(
        self,
        demand: Demand,
        request: GenerateRequest,
        runs: Sequence[Run],
        sink: Callable[[GenerationEvent], None],
    ) -> None:
        """It waits."""
        super().__init__(demand)
        self.request = request
        self._runs = runs
        self._sink = sink
        self._live: dict[int, int] = {}
        """Number of each answer that is being written, by sequence."""
        self._left: list[tuple[int, bool]] = []
        self._ends: dict[int, Done | Failed] = {}
        self._cached = 0
        self._began_at = self._first_at = self._last_at = 0.0

    @property
    def answers(self) -> int:
        """How many are being written."""
        return len(self._live)

    def begin(self, sequence: int, cached: int) -> None:
        """See `Task`."""
        self.ids = [sequence]
        self._cached = cached
        self._began_at = self._began_at or time.monotonic()

    def growth(self, memory: Memory) -> int:
        """See `Task`."""
        if self._live:
            return sum(self._runs[number].room for number in self._live.values())
        return super().growth(memory)

    def prompt_computed(self, scores: NDArray[np.float32] | None, memory: Memory) -> None:
        """Fork the prompt for each further answer; each chooses its first token."""
        if scores is None:  # never happens: `wants_scores`
            raise broken()
        for _ in self._runs[1:]:
            self.ids.append(memory.fork(self.ids[0]))
        self._live = dict(zip(self.ids, range(len(self._runs)), strict=True))
        self.phase = Phase.DECODE
        self.advance(dict.fromkeys(self.ids, scores))

    def pending(self) -> dict[int, int]:
        """The token to compute next in each sequence."""
        return {sequence: self._runs[number].token for sequence, number in self._live.items()}

    def advance(self, scores: dict[int, NDArray[np.float32]]) -> None:
        """Write one token of each answer; `live` then says which go on."""
        for sequence, number in tuple(self._live.items()):
            self._last_at = time.monotonic()
            self._first_at = self._first_at or self._last_at
            try:
                step = self._runs[number].advance(scores[sequence])
            except HomingError as error:
                self._end(sequence, Failed.from_error(error))
                continue
            except Exception:  # noqa: BLE001  # logged; the reader must always get a last event
                _log.exception("engine.generation_failed", generation=self.request.id)
                self._end(sequence, Failed.from_error(broken()))
                continue
            self._send(number, step.events)
            if step.reason is not None:
                self._end(sequence, Done(step.reason))
        if not self._live:
            self._finish()

    def left(self) -> list[tuple[int, bool]]:
        """Sequences of answers that have ended, and whether the model ended them by itself.

        The task lets go of them: whoever asks closes them.
        """
        left, self._left = self._left, []
        for sequence, _ in left:
            self.ids.remove(sequence)
        return left

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self._break_off(Done(FinishReason.CANCELLED))

    def late(self) -> HomingError:
        """See `Task`."""
        msg = f"the answer was not complete after {self.request.deadline_ms} ms"
        return UnavailableError(msg, "Allow more time, or ask for a shorter answer.")

    def fail(self, error: HomingError) -> None:
        """See `Task`; what was written before a deadline is passed on."""
        end = Failed.from_error(error)
        if isinstance(error, UnavailableError):
            self._break_off(end)
        else:
            self._close(end)

    def _break_off(self, end: Done | Failed) -> None:
        for number in self._live.values():
            self._send(number, self._runs[number].cut_off())
        if self._began_at:
            usage = self._usage()
            self._close(end, usage)
        else:
            self._close(end)

    def _close(self, end: Done | Failed, usage: Usage | None = None) -> None:
        if len(self._runs) > 1:
            for number in self._live.values():
                self._sink(Sampled(number + 1, end))
        self._live.clear()
        self.ended = True
        if usage is not None:
            self._sink(usage)
        self._sink(end)

    def _end(self, sequence: int, end: Done | Failed) -> None:
        number = self._live.pop(sequence)
        self._ends[number] = end
        self._left.append((sequence, isinstance(end, Done) and end.reason in _BY_ITSELF))
        if len(self._runs) > 1:
            self._sink(Sampled(number + 1, end))

    def _finish(self) -> None:
        """All answers have ended: the request did well if any of them did."""
        ends = [self._ends[number] for number in range(len(self._runs))]
        well = [end for end in ends if isinstance(end, Done)]
        if well:
            self._close(well[0], self._usage())
        else:
            self._close(ends[0])

    def _send(self, number: int, events: Sequence[SampleEvent]) -> None:
        several = len(self._runs) > 1
        for event in events:
            self._sink(Sampled(number + 1, event) if several else event)

    def _usage(self) -> Usage:
        first = self._first_at or time.monotonic()
        return Usage(
            prompt_tokens=len(self.demand.tokens),
            cached_tokens=self._cached,
            completion_tokens=sum(run.written for run in self._runs),
            prefill_ms=(first - self._began_at) * 1000,
            decode_ms=max(self._last_at - first, 0.0) * 1000,
        )
