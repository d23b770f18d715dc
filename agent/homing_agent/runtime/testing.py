"""Fakes for the boundaries of resident processes. They ship with the package."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from homing_agent.runtime.model_host import ModelStatus, Phase, at_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_core.errors import HomingError
    from homing_inference.engine import Engine

    from homing_agent.runtime.model_host import Admission


class HeldSource:
    """A `ModelSource` that waits until it is told what comes of it.

    Args:
        engine: what is loaded in the end.
        ready: whether that is at once.
        need_bytes: of memory that it claims to take.

    Attributes:
        report: told by the source how far it is.
        asked: set once it was asked to load.
        loads: how often it was asked to.
    """

    def __init__(self, engine: Engine, *, ready: bool = True, need_bytes: int = 0) -> None:
        """Hold the engine."""
        self._engine = engine
        self._need_bytes = need_bytes
        self._go = asyncio.Event()
        self._error: HomingError | None = None
        self.report: Callable[[ModelStatus], None] | None = None
        self.asked = asyncio.Event()
        self.loads = 0
        if ready:
            self._go.set()

    def finish(self, error: HomingError | None = None) -> None:
        """Load now, or fail."""
        self._error = error
        self._go.set()

    async def load(
        self, report: Callable[[ModelStatus], None], admit: Admission = at_once
    ) -> Engine:
        """Wait for `finish`."""
        self.report = report
        self.loads += 1
        async with admit(self._need_bytes):
            report(ModelStatus(self._engine.info.model, Phase.LOADING, stand_in=True))
            self.asked.set()
            await self._go.wait()
            if self._error is not None:
                raise self._error
            return self._engine
