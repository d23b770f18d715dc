"""What the scheduler was asked for, from the queue to its end. None of it decides the order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing_core.errors import InternalError, UnavailableError
from homing_core.generation import Priority

from homing_inference.scheduler.view import Phase, Running, Waiting

if TYPE_CHECKING:
    import numpy as np
    from homing_core.errors import HomingError
    from homing_core.scoring import ScoreRequest
    from numpy.typing import NDArray

    from homing_inference.scheduler.parts import Memory


@dataclass(frozen=True, slots=True)
class Demand:
    """What a task asks of the machine.

    Attributes:
        owner: whose it is.
        priority: person or job.
        adapter: LoRA adapter; empty for none.
        deadline: `time.monotonic()` at which it ends.
        tokens: its prompt.
        prefix_tokens: of these, what system message and tools account for.
        cuts: where its prefill stops to keep a checkpoint.
        until: how many of them the scheduler computes; the task goes on behind them itself.
        sequences: that it takes.
        cells: that it grows to.
        sha256: of its prefix's text, hex.
        offer: what scores behind its prefix would be asked with; None if it offers no tools.
    """

    owner: str = ""
    priority: Priority = Priority.INTERACTIVE
    adapter: str = ""
    deadline: float = float("inf")
    tokens: tuple[int, ...] = ()
    prefix_tokens: int = 0
    cuts: tuple[int, ...] = ()
    until: int = 0
    sequences: int = 1
    cells: int = 0
    sha256: str = ""
    offer: ScoreRequest | None = None


class Task(ABC):
    """One thing asked for.

    Attributes:
        number: by arrival.
        cells: that must be free before it is let in; at first a guess.
        overtaken: later ones that were let in before it.
        phase: what it needs next.
        ids: sequences that it holds.
        stops: counts of tokens, ascending, at which the computation of its prompt stops.
        fresh: whether nothing of its prompt was computed for it yet.
        served: step at which something of it was last computed.
        ended: whether its last word was said.
    """

    def __init__(self, demand: Demand) -> None:
        """It waits."""
        self.demand = demand
        self.number = 0
        # Most prompts begin with a pinned prefix, whose cells they share.
        self.cells = demand.cells - demand.prefix_tokens
        self.overtaken = 0
        self.phase = Phase.PREFILL if demand.tokens else Phase.WORK
        self.ids: list[int] = []
        self.stops: tuple[int, ...] = ()
        self.fresh = True
        self.served = 0
        self.ended = False

    def waiting(self) -> Waiting:
        """As the plan sees it in the queue."""
        demand = self.demand
        return Waiting(
            self.number,
            demand.owner,
            demand.priority,
            demand.sequences,
            self.cells,
            demand.deadline,
            self.overtaken,
        )

    def computes_prefix(self, memory: Memory) -> bool:
        """Whether its prefix is just being computed for it."""
        return (
            self.phase is Phase.PREFILL
            and not self.fresh
            and bool(self.ids)
            and memory.length(self.ids[0]) < self.demand.prefix_tokens
        )

    def running(self, memory: Memory, *, behind: bool = False) -> Running:
        """As the plan sees it once it was let in.

        Args:
            memory: the sequences.
            behind: whether another one is computing its prefix.
        """
        demand = self.demand
        prefilling = self.phase is Phase.PREFILL
        done = memory.length(self.ids[0]) if prefilling else 0
        return Running(
            self.number,
            demand.owner,
            demand.priority,
            self.phase,
            demand.until - done if prefilling else 0,
            next(stop for stop in self.stops if stop > done) - done if prefilling else 0,
            self.sequences,
            demand.adapter,
            self.served,
            behind,
            demand.sha256 if prefilling and done < demand.prefix_tokens else "",
            demand.deadline,
        )

    def growth(self, memory: Memory) -> int:
        """Cells that it may still come to need."""
        return self.demand.cells - memory.length(self.ids[0]) if self.ids else 0

    @property
    def sequences(self) -> int:
        """That are reserved for it while it runs."""
        return self.demand.sequences

    @property
    def wants_scores(self) -> bool:
        """Whether it looks at the scores behind its prompt."""
        return True

    def begin(self, sequence: int, cached: int) -> None:
        """It was let in, and so many tokens of its prompt need not be computed."""
        del cached
        self.ids = [sequence]

    @abstractmethod
    def prompt_computed(self, scores: NDArray[np.float32] | None, memory: Memory) -> None:
        """Its whole prompt is in `ids[0]`; `scores` are a view until the next computation."""

    @abstractmethod
    def fail(self, error: HomingError) -> None:
        """It ends with this."""

    def left(self) -> list[tuple[int, bool]]:
        """Sequences that it needs no more, and whether a next turn may begin with them.

        The task lets go of them: whoever asks closes them.
        """
        return []

    def late(self) -> HomingError:
        """What is said when its deadline is over."""
        return UnavailableError("there was not enough time", "Allow more time.")

    def work(self, tokens: int) -> None:
        """Do one unit; only in phase `WORK`.

        Args:
            tokens: to compute at most, where the unit can be cut.

        Raises:
            HomingError: it failed.
        """
        raise NotImplementedError


def broken() -> HomingError:
    """What a person is told of a fault of ours."""
    msg = "the model stopped on an unforeseen fault"
    return InternalError(msg, "Try again; the log at level debug says more.")


def closed() -> HomingError:
    """What is said once there is no engine any more."""
    return UnavailableError("the engine was closed", "Start it again.")
