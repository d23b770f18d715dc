"""What the plan sees of the requests and the machine: values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homing_core.generation import Priority

    from homing_inference.scheduler.pace import ChunkSize


class Phase(Enum):
    """What a running request needs next."""

    PREFILL = "prefill"
    """Its prompt is being computed."""
    DECODE = "decode"
    """Its answers are being written."""
    WORK = "work"
    """Units of another kind, such as scoring."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that was not let in yet.

    Attributes:
        number: later ones are higher.
        owner: whose it is.
        priority: person or job.
        sequences: that it takes; 0 for work that needs no memory of the model.
        cells: that it may grow to need.
        deadline: `time.monotonic()` at which it ends.
        overtaken: later requests of its class that were let in before it.
    """

    number: int
    owner: str
    priority: Priority
    sequences: int = 1
    cells: int = 0
    deadline: float = float("inf")
    overtaken: int = 0


@dataclass(frozen=True, slots=True)
class Running:
    """A request that was let in.

    Attributes:
        number: later ones are higher.
        owner: whose it is.
        priority: person or job.
        phase: what it needs next.
        left: tokens of its prompt that are not computed.
        reach: of these, those up to where its computation stops next, to keep a state.
        sequences: that are reserved for it.
        adapter: LoRA adapter; empty for none.
        served: when something of it was last computed, counted in steps; 0 for never.
        behind: whether another one is computing the prefix that it begins with.
        prefix: that it would compute next, as a name; empty once it holds one or needs none.
        deadline: `time.monotonic()` at which it ends.
    """

    number: int
    owner: str
    priority: Priority
    phase: Phase
    left: int = 0
    reach: int = 0
    sequences: int = 1
    adapter: str = ""
    served: int = 0
    behind: bool = False
    prefix: str = ""
    deadline: float = float("inf")


@dataclass(frozen=True, slots=True)
class View:
    """All that the decision depends on.

    Attributes:
        now: `time.monotonic()`.
        waiting: in any order.
        running: in any order.
        max_sequences: that may be reserved at once.
        free_cells: neither in use nor promised to what runs.
        droppable: cells that dropping kept prefixes could free at most.
        chunk: how much of prompts to compute at once.
        owed: whether answers have time due before the next chunk.
        interrupted: when a chunk or a unit was last computed, counted in steps.
        equal_parts: whether prompts share a batch only where they are equally long.
    """

    now: float
    waiting: tuple[Waiting, ...]
    running: tuple[Running, ...]
    max_sequences: int
    free_cells: int
    chunk: ChunkSize
    droppable: int = 0
    owed: bool = False
    interrupted: int = 0
    equal_parts: bool = False
