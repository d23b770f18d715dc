"""The boundary to whatever runs a model: llama.cpp in a child process, a server, or a script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What an engine serves.

    Attributes:
        model: name under which it is served.
        quantization: weights' format, such as `Q4_K_M` or `BF16`.
        context_tokens: prompt and answer together.
        chat_format: `qwen35-xml`, `hermes-json` or `plain`.
        can_think: whether the template knows a thinking flag.
        architecture: GGUF architecture, such as `qwen35`; empty for a server.
        stand_in: whether the model stands in for the product's own.
        max_sequences: answers that are written at once.
        adapters: names of the LoRA adapters that requests may ask for.
        sha256: of the model's file, hex; empty where it is not known.
    """

    model: str
    quantization: str
    context_tokens: int
    chat_format: str
    can_think: bool
    architecture: str = ""
    stand_in: bool = False
    max_sequences: int = 1
    adapters: tuple[str, ...] = ()
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class WarmedPrefix:
    """A pinned system-and-tools prefix.

    Attributes:
        tokens: its length.
        sha256: of the rendered text, hex.
    """

    tokens: int
    sha256: str


@dataclass(frozen=True, slots=True)
class EngineState:
    """How busy an engine is. Speeds are recent ones of a single answer; 0 if unknown.

    Attributes:
        running: answers that are being written.
        waiting: requests that wait.
        decode_tokens_per_second: new tokens of one answer.
        prefill_tokens_per_second: tokens of a prompt.
        memory_bytes: of main memory that it takes; 0 if unknown.
        warm: the pinned prefixes.
    """

    running: int = 0
    waiting: int = 0
    decode_tokens_per_second: float = 0.0
    prefill_tokens_per_second: float = 0.0
    memory_bytes: int = 0
    warm: tuple[WarmedPrefix, ...] = ()


class Engine(Protocol):
    """Runs one model. All methods belong to one event loop.

    Errors reach the reader of `generate` as a `Failed` event, never as an exception; the other
    methods raise `HomingError`.
    """

    @property
    def info(self) -> EngineInfo:
        """What it serves."""
        ...

    @property
    def state(self) -> EngineState:
        """How busy it is, as last heard."""
        ...

    def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """The events of one generation; the last is `Done` or `Failed`.

        Closing the generator (`aclose`) cancels the generation.
        """
        ...

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """Compute and pin the prefix that `messages` (system) and `tools` render to.

        Raises:
            TooLongError: the prefix alone does not fit the context.
            UnavailableError: the engine is gone; it may come back.
        """
        ...

    async def score(self, request: ScoreRequest) -> ToolScores:
        """How much the model leans to each tool as the next thing that it writes.

        Raises:
            UsageError: no tools, or an engine that cannot see probabilities.
            TooLongError: the prompt does not fit the context.
            OverloadedError: too many requests wait.
            UnavailableError: the engine is gone; it may come back.
        """
        ...

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """A vector of length 1 for each text, all with the same number of dimensions.

        Raises:
            UsageError: an engine that cannot do it.
            TooLongError: a text does not fit.
            UnavailableError: the engine is gone; it may come back.
        """
        ...

    def forget(self, owner: str) -> None:
        """Drop what conversations of this owner left in memory; pinned prefixes are nobody's.

        Args:
            owner: as in `GenerateRequest.owner`.
        """
        ...

    async def close(self) -> None:
        """End everything in flight and free the model."""
        ...
