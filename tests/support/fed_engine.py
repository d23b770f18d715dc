"""An engine that a test drives by hand, event by event, several generations at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_core.errors import UsageError
from homing_inference.engine import EngineInfo, EngineState, WarmedPrefix

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec

INFO = EngineInfo("fed-1b:bf16", "BF16", 4096, "plain", can_think=False, stand_in=True)


class FedEngine:
    """An `Engine` whose events come from whoever holds it, one at a time.

    Attributes:
        started: every request, as it begins.
        closed: ids of generations whose generator was closed.
        state: how busy it claims to be.
    """

    def __init__(self, info: EngineInfo = INFO) -> None:
        """Nothing runs."""
        self._info = info
        self._events: dict[str, asyncio.Queue[GenerationEvent | Exception]] = {}
        self.started: asyncio.Queue[GenerateRequest] = asyncio.Queue()
        self.closed: asyncio.Queue[str] = asyncio.Queue()
        self.is_closed = False
        self.forgotten: list[str] = []
        self.state = EngineState()

    @property
    def info(self) -> EngineInfo:
        """What it serves."""
        return self._info

    def feed(self, id: str, *events: GenerationEvent | Exception) -> None:  # noqa: A002  # its name everywhere
        """Let a generation go on with these events; an exception is raised."""
        for event in events:
            self._events.setdefault(id, asyncio.Queue()).put_nowait(event)

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """Whatever is fed, until it is closed."""
        queue = self._events.setdefault(request.id, asyncio.Queue())
        self.started.put_nowait(request)
        try:
            while True:
                event = await queue.get()
                if isinstance(event, Exception):
                    raise event
                yield event
        finally:
            self.closed.put_nowait(request.id)

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """Nothing is computed."""
        del messages, tools, thinking
        return WarmedPrefix(0, "")

    async def score(self, request: ScoreRequest) -> ToolScores:
        """It cannot."""
        del request
        msg = "this engine cannot score tools"
        raise UsageError(msg)

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """It cannot."""
        del texts
        msg = "this engine cannot turn texts into vectors"
        raise UsageError(msg)

    def forget(self, owner: str) -> None:
        """Remember whom."""
        self.forgotten.append(owner)

    async def close(self) -> None:
        """Remember that it was closed."""
        self.is_closed = True
