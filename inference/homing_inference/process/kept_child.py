"""A child that is started again when it dies."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from homing_inference.process.child import STEP_SILENCE_S, EngineChild
from homing_inference.process.endings import closed

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_proto.codec.engine import LoadModel, ModelReady

    from homing_inference.process.restarts import CrashLog

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

LOAD_SILENCE_S = 60.0
"""Seconds without progress after which loading counts as hung."""


def ignore_progress(_share: float) -> None:
    """Nobody watches."""


class KeptChild:
    """Keeps one child running. Belongs to one event loop.

    When it dies, the next one is started at once, until it has died too often.

    Args:
        load: what each child loads.
        crashes: counts and gives up.
        on_ready: called with each new child once its model is loaded.
        load_silence_s: seconds without progress after which loading counts as hung.
        step_silence_s: see `EngineChild.start`.
    """

    def __init__(
        self,
        load: LoadModel,
        crashes: CrashLog,
        on_ready: Callable[[EngineChild, ModelReady], None],
        *,
        load_silence_s: float = LOAD_SILENCE_S,
        step_silence_s: float = STEP_SILENCE_S,
    ) -> None:
        """Nothing runs yet."""
        self._load = load
        self._crashes = crashes
        self._on_ready = on_ready
        self._load_silence_s = load_silence_s
        self._step_silence_s = step_silence_s
        self._child: EngineChild | None = None
        self._reviving: asyncio.Task[EngineChild] | None = None
        self._burying: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def child(self) -> EngineChild | None:
        """The child, if one runs now."""
        return self._child

    async def start(self, on_progress: Callable[[float], None] = ignore_progress) -> EngineChild:
        """Start a child.

        Raises:
            HomingError: see `EngineChild.start`.
        """
        child, ready = await EngineChild.start(
            self._load,
            self._bury,
            silence_s=self._load_silence_s,
            on_progress=on_progress,
            step_silence_s=self._step_silence_s,
        )
        self._child = child
        self._on_ready(child, ready)
        return child

    async def living(self) -> EngineChild:
        """The child; starts one, or waits for one that is being started, if there is none.

        Raises:
            HomingError: there is none and none can be started.
        """
        if self._closed:
            raise closed()
        if self._child is not None:
            return self._child
        reviving = self._reviving
        if reviving is None or reviving.done():
            self._crashes.check()
            reviving = self._revive()
        try:
            # Shielded: one impatient caller must not end the start that others wait for.
            return await asyncio.shield(reviving)
        except asyncio.CancelledError:
            if reviving.cancelled() and self._closed:
                raise closed() from None
            raise

    async def restart(self) -> None:
        """Start one although it was given up; does nothing while one runs.

        Raises:
            HomingError: see `EngineChild.start`.
        """
        self._crashes.clear()
        await self.living()

    async def close(self) -> None:
        """End it for good; harmless when repeated."""
        self._closed = True
        if self._reviving is not None:
            self._reviving.cancel()
            await asyncio.gather(self._reviving, return_exceptions=True)
        child, self._child = self._child, None
        if child is not None:
            await child.stop()
        await asyncio.gather(*self._burying, return_exceptions=True)

    def _revive(self) -> asyncio.Task[EngineChild]:
        self._reviving = asyncio.create_task(self.start())
        self._reviving.add_done_callback(_log_failure)
        return self._reviving

    def _bury(self, child: EngineChild) -> None:
        """A child died by itself."""
        _log.warning("engine.died", pid=child.pid, model=self._load.name)
        self._crashes.record()
        burial = asyncio.create_task(child.stop())
        self._burying.add(burial)
        burial.add_done_callback(self._burying.discard)
        if self._child is not child:
            return  # it died while loading; whoever started it gets the error
        self._child = None
        if not self._closed and not self._crashes.given_up:
            self._revive()


def _log_failure(task: asyncio.Task[EngineChild]) -> None:
    """Whoever waited got the error too; if nobody did, it must not be lost."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("engine.not_started", what=str(error))
