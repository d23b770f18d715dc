"""A scheduler that does what a test says, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homing_inference.engine import EngineState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homing_core.errors import HomingError
    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.ids import GenerationId
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec
    from homing_inference.engine import WarmedPrefix


class FakeScheduler:
    """Remembers what it was asked, and plays `steps`.

    Attributes:
        asked: what was called, in order, with what it was about.
        steps: what each step does; without one there is nothing to do.
        sinks: where the events of each generation go.
        taken_at: when each generation is said to have come in.
        warmed: where the end of the last `warm` goes; likewise `scored` and `embedded`.
        state: how busy it claims to be.
    """

    def __init__(self) -> None:
        """Nothing is asked."""
        self.asked: list[tuple[str, object]] = []
        self.steps: list[Callable[[], None]] = []
        self.sinks: dict[GenerationId, Callable[[GenerationEvent], None]] = {}
        self.taken_at: dict[GenerationId, float | None] = {}
        self.warmed: Callable[[WarmedPrefix | HomingError], None]
        self.scored: Callable[[ToolScores | HomingError], None]
        self.embedded: Callable[[tuple[tuple[float, ...], ...] | HomingError], None]
        self.state = EngineState()

    def submit(
        self,
        request: GenerateRequest,
        sink: Callable[[GenerationEvent], None],
        *,
        taken_at: float | None = None,
    ) -> None:
        """Remember it."""
        self.asked.append(("submit", request.id))
        self.sinks[request.id] = sink
        self.taken_at[request.id] = taken_at

    def warm(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        thinking: Thinking,
        done: Callable[[WarmedPrefix | HomingError], None],
    ) -> None:
        """Remember it."""
        self.asked.append(("warm", (messages, tools, thinking)))
        self.warmed = done

    def score(
        self, request: ScoreRequest, done: Callable[[ToolScores | HomingError], None]
    ) -> None:
        """Remember it."""
        self.asked.append(("score", request))
        self.scored = done

    def embed(
        self,
        texts: Sequence[str],
        done: Callable[[tuple[tuple[float, ...], ...] | HomingError], None],
    ) -> None:
        """Remember it."""
        self.asked.append(("embed", texts))
        self.embedded = done

    def cancel(self, id: GenerationId) -> None:  # noqa: A002  # as everywhere
        """Remember it."""
        self.asked.append(("cancel", id))

    def forget(self, owner: str) -> None:
        """Remember it."""
        self.asked.append(("forget", owner))

    def step(self) -> bool:
        """Play the next step."""
        if not self.steps:
            return False
        self.steps.pop(0)()
        return True

    def close(self) -> None:
        """Remember it."""
        self.asked.append(("close", None))
