"""The phone's own engine, usable from the start: requests wait while the model is brought up."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.model_host import Phase
from homing_core.errors import HomingError
from homing_core.generation import Failed
from homing_inference.engine import EngineInfo, EngineState, WarmedPrefix

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from homing_agent.runtime.model_host import ModelHost
    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec
    from homing_inference.engine import Engine


class LocalEngine:
    """`Engine` over a `ModelHost`.

    Args:
        host: brings the model up.
        context_tokens: what the phone's model will hold.
    """

    def __init__(self, host: ModelHost, context_tokens: int) -> None:
        """Nothing is loaded yet."""
        self._host = host
        self._context_tokens = context_tokens

    @property
    def info(self) -> EngineInfo:
        """What it serves; until it is there, what is expected."""
        engine = self._host.engine
        if engine is not None:
            return engine.info
        status = self._host.status
        return EngineInfo(
            model=status.name,
            quantization=status.quantization,
            context_tokens=self._context_tokens,
            chat_format="",
            can_think=False,
            stand_in=status.stand_in,
        )

    @property
    def state(self) -> EngineState:
        """How busy it is; idle until it is there."""
        engine = self._host.engine
        return EngineState() if engine is None else engine.state

    @property
    def ready(self) -> bool:
        """Whether the model is in memory."""
        return self._host.status.phase is Phase.READY

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """See `Engine.generate`; waits for the model."""
        try:
            engine = await self._engine()
        except HomingError as error:
            yield Failed.from_error(error)
            return
        async with contextlib.aclosing(engine.generate(request)) as events:
            async for event in events:
                yield event

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """See `Engine.warm`; waits for the model."""
        return await (await self._engine()).warm(messages, tools, thinking)

    async def score(self, request: ScoreRequest) -> ToolScores:
        """See `Engine.score`; waits for the model."""
        return await (await self._engine()).score(request)

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """See `Engine.embed`; waits for the model."""
        return await (await self._engine()).embed(texts)

    def forget(self, owner: str) -> None:
        """See `Engine.forget`."""
        if self._host.engine is not None:
            self._host.engine.forget(owner)

    async def close(self) -> None:
        """Stop loading and free the model."""
        await self._host.close()

    async def _engine(self) -> Engine:
        await self._host.settled()
        return self._host.engine_for("")
