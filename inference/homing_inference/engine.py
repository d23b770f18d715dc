"""The boundary to whatever runs a model: llama.cpp in a child process, a server, or a script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
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
    """

    model: str
    quantization: str
    context_tokens: int
    chat_format: str
    can_think: bool
    architecture: str = ""
    stand_in: bool = False


@dataclass(frozen=True, slots=True)
class WarmedPrefix:
    """A pinned system-and-tools prefix.

    Attributes:
        tokens: its length.
        sha256: of the rendered text, hex.
    """

    tokens: int
    sha256: str


class Engine(Protocol):
    """Runs one model. All methods belong to one event loop.

    Errors reach the reader of `generate` as a `Failed` event, never as an exception; the other
    methods raise `HomingError`.
    """

    @property
    def info(self) -> EngineInfo:
        """What it serves."""
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

    async def close(self) -> None:
        """End everything in flight and free the model."""
        ...
