"""Fakes for this package's boundaries. They ship with it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from homing_core.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from homing_core.tools import ToolSpec
    from homing_inference.engine import Engine


class OneEngine:
    """`Engines` with a single one, for requests that name no model, or its own.

    Args:
        engine: what runs everything.

    Attributes:
        leased: how many use it now.
    """

    def __init__(self, engine: Engine) -> None:
        """Hold the engine."""
        self._engine = engine
        self.leased = 0

    def check(self, model: str) -> None:
        """Raises `NotFoundError` for another model."""
        if model not in {"", self._engine.info.model}:
            msg = "that model is not served here"
            raise NotFoundError(msg)

    @contextlib.asynccontextmanager
    async def lease(self, model: str, *, yields: bool = False) -> AsyncGenerator[Engine]:
        """The engine, at once."""
        del yields
        self.check(model)
        self.leased += 1
        try:
            yield self._engine
        finally:
            self.leased -= 1


class FixedTools:
    """`HomeTools` that never change.

    Args:
        specs: what there is.
    """

    def __init__(self, *specs: ToolSpec) -> None:
        """Keep them."""
        self._specs = specs

    def specs(self) -> tuple[ToolSpec, ...]:
        """All of them."""
        return self._specs
