"""An engine in a child process: it comes back by itself when native code aborts.

Importing this loads no model runtime. Daemons use it like this:

    engine = await ChildEngine.start(ModelFile(path, "botpsy-0.8b-q4"))
    async for event in engine.generate(request): ...
    await engine.close()
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import structlog
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, UnavailableError
from homing_core.generation import Failed
from homing_proto.codec.engine import LoadModel

from homing_inference.child import EngineChild
from homing_inference.engine import EngineInfo
from homing_inference.restarts import CrashLog

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.tools import ToolSpec
    from homing_proto.codec.engine import ModelReady

    from homing_inference.engine import WarmedPrefix

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

LOAD_SILENCE_S: Final = 60.0
"""Seconds without progress after which loading counts as hung."""
_REMEMBERED_PREFIXES: Final = 3


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model to run.

    Attributes:
        path: the GGUF file.
        name: under which it is served.
        stand_in: whether it stands in for the product's own.
    """

    path: Path
    name: str
    stand_in: bool = False


@dataclass(frozen=True, slots=True)
class _Prefix:
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    thinking: Thinking


def _ignore(_share: float) -> None:
    """Nobody watches."""


class ChildEngine:
    """`Engine` over a child process. Made by `start`; belongs to one event loop.

    If the child dies, every generation in flight ends with a `Failed` that may be retried, a new
    child is started, and the warm prefixes are computed again. Requests that come meanwhile wait.
    After several crashes within a minute requests fail at once for a minute, or until `restart`.
    """

    def __init__(
        self, model: ModelFile, load: LoadModel, silence_s: float, clock: Clock | None
    ) -> None:
        """Nothing runs yet; use `start` instead."""
        self._model = model
        self._load = load
        self._silence_s = silence_s
        self._crashes = CrashLog(model.name, clock or SystemClock())
        self._child: EngineChild | None = None
        self._info: EngineInfo | None = None
        self._reviving: asyncio.Task[EngineChild] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._burying: set[asyncio.Task[None]] = set()
        self._prefixes: OrderedDict[str, _Prefix] = OrderedDict()
        self._closed = False

    @classmethod
    async def start(  # noqa: PLR0913  # each has a default but the first
        cls,
        model: ModelFile,
        *,
        context_tokens: int = 0,
        threads: int = 0,
        gpu_layers: int = 0,
        on_progress: Callable[[float], None] = _ignore,
        load_silence_s: float = LOAD_SILENCE_S,
        clock: Clock | None = None,
    ) -> ChildEngine:
        """Start a child and load the model.

        Args:
            model: what to run.
            context_tokens: prompt and answer together; 0 is 8,192, or what the model knows if less.
            threads: that compute; 0 is what suits the machine.
            gpu_layers: layers on an accelerator; 0 for none, -1 for all.
            on_progress: called while loading with a share in [0, 1].
            load_silence_s: seconds without progress after which loading counts as hung.
            clock: for counting crashes.

        Raises:
            NotFoundError: there is no such file.
            InvalidDataError: it is not a model that can be run here.
            IntegrityError: it is cut off or damaged.
            OverloadedError: it does not fit the memory.
            UnavailableError: the child stopped or hung while loading.
        """
        load = LoadModel(os.fspath(model.path), model.name, context_tokens, threads, gpu_layers)
        engine = cls(model, load, load_silence_s, clock)
        await engine._start_child(on_progress)
        return engine

    @property
    def info(self) -> EngineInfo:
        """What it serves."""
        if self._info is None:
            msg = "the engine was not started"
            raise UnavailableError(msg)
        return self._info

    @property
    def pid(self) -> int | None:
        """Number of the child process; None while there is none."""
        return self._child.pid if self._child is not None else None

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """See `Engine.generate`. One runs at a time; others wait, persons before jobs."""
        try:
            child = await self._living()
        except HomingError as error:
            yield Failed.from_error(error)
            return
        async with contextlib.aclosing(child.generate(request)) as events:
            async for event in events:
                yield event

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """See `Engine.warm`. The last few prefixes are warmed again after a crash."""
        child = await self._living()
        warmed = await child.warm(messages, tools, thinking)
        self._prefixes[warmed.sha256] = _Prefix(tuple(messages), tuple(tools), thinking)
        self._prefixes.move_to_end(warmed.sha256)
        while len(self._prefixes) > _REMEMBERED_PREFIXES:
            self._prefixes.popitem(last=False)
        return warmed

    async def restart(self) -> None:
        """Start it again although it was given up; does nothing while it runs.

        Raises:
            HomingError: as `start`.
        """
        self._crashes.clear()
        await self._living()

    async def close(self) -> None:
        """See `Engine.close`."""
        self._closed = True
        tasks: list[asyncio.Future[Any]] = [
            task for task in (self._reviving, self._warming) if task is not None
        ]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        child, self._child = self._child, None
        if child is not None:
            await child.stop()
        await asyncio.gather(*self._burying, return_exceptions=True)

    async def _living(self) -> EngineChild:
        """The child; starts one if there is none.

        Raises:
            HomingError: there is none and none can be started.
        """
        if self._closed:
            raise _closed()
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
                raise _closed() from None
            raise

    def _revive(self) -> asyncio.Task[EngineChild]:
        self._reviving = asyncio.create_task(self._start_child(_ignore))
        self._reviving.add_done_callback(_log_failure)
        return self._reviving

    async def _start_child(self, on_progress: Callable[[float], None]) -> EngineChild:
        child, ready = await EngineChild.start(
            self._load, self._bury, silence_s=self._silence_s, on_progress=on_progress
        )
        self._info = self._describe(ready)
        self._child = child
        if self._prefixes:
            self._warming = asyncio.create_task(self._warm_again(child))
        return child

    def _describe(self, ready: ModelReady) -> EngineInfo:
        return EngineInfo(
            model=self._model.name,
            quantization=ready.quantization,
            context_tokens=ready.context_tokens,
            chat_format=ready.chat_format,
            can_think=ready.can_think,
            architecture=ready.architecture,
            stand_in=self._model.stand_in,
        )

    async def _warm_again(self, child: EngineChild) -> None:
        for prefix in tuple(self._prefixes.values()):
            try:
                await child.warm(prefix.messages, prefix.tools, prefix.thinking)
            except HomingError as error:
                _log.warning("engine.not_warmed", what=error.what)
                return

    def _bury(self, child: EngineChild) -> None:
        """A child died by itself."""
        _log.warning("engine.died", pid=child.pid, model=self._model.name)
        self._crashes.record()
        burial = asyncio.create_task(child.stop())
        self._burying.add(burial)
        burial.add_done_callback(self._burying.discard)
        if self._child is not child:
            return  # it died while loading; whoever started it gets the error
        self._child = None
        if not self._closed and not self._crashes.given_up:
            self._revive()


def _closed() -> UnavailableError:
    return UnavailableError("the engine was closed", "Start it again.")


def _log_failure(task: asyncio.Task[EngineChild]) -> None:
    """Whoever waited got the error too; if nobody did, it must not be lost."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("engine.not_started", what=str(error))
