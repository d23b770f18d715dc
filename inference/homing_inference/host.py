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
from typing import TYPE_CHECKING, TypeAlias

import structlog
from homing_core.clock import SystemClock
from homing_core.errors import HomingError, UnavailableError
from homing_core.generation import Failed
from homing_proto.codec.engine import LoadModel

from homing_inference.engine import EngineInfo, EngineState
from homing_inference.machine.sizes import PINNED_PREFIXES
from homing_inference.process.child import STEP_SILENCE_S
from homing_inference.process.kept_child import LOAD_SILENCE_S, KeptChild, ignore_progress
from homing_inference.process.restarts import CrashLog

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from homing_core.clock import Clock
    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec
    from homing_proto.codec.engine import ModelReady

    from homing_inference.engine import WarmedPrefix
    from homing_inference.process.child import EngineChild

_log: structlog.stdlib.BoundLogger = structlog.stdlib.get_logger(__name__)

_Prefix: TypeAlias = "tuple[tuple[Message, ...], tuple[ToolSpec, ...], Thinking]"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model to run.

    Attributes:
        path: the GGUF file.
        name: under which it is served.
        stand_in: whether it stands in for the product's own.
        sha256: of the file, hex; without it no state is written to disk.
    """

    path: Path
    name: str
    stand_in: bool = False
    sha256: str = ""


class ChildEngine:
    """`Engine` over a child process. Made by `start`; belongs to one event loop.

    If the child dies, every generation in flight ends with a `Failed` that may be retried, a new
    child is started, and the warm prefixes are computed again. Requests that come meanwhile wait.
    After several crashes within a minute requests fail at once for a minute, or until `restart`.
    """

    def __init__(
        self, model: ModelFile, load: LoadModel, clock: Clock, silences_s: tuple[float, float]
    ) -> None:
        """Nothing runs yet; use `start` instead."""
        self._model = model
        self._adapters = tuple(name for name, _ in load.adapters)
        self._kept = KeptChild(
            load,
            CrashLog(model.name, clock),
            self._take_over,
            load_silence_s=silences_s[0],
            step_silence_s=silences_s[1],
        )
        self._info: EngineInfo | None = None
        self._warming: asyncio.Task[None] | None = None
        self._prefixes: OrderedDict[str, _Prefix] = OrderedDict()

    @classmethod
    async def start(  # noqa: PLR0913  # each has a default but the first
        cls,
        model: ModelFile,
        *,
        context_tokens: int = 0,
        threads: int = 0,
        gpu_layers: int = 0,
        max_sequences: int = 0,
        cache_tokens: int = 0,
        state_folder: Path | None = None,
        state_bytes: int = 0,
        checkpoint_bytes: int = 0,
        max_waiting: int = 0,
        adapters: Sequence[tuple[str, Path]] = (),
        cores: int = 0,
        on_progress: Callable[[float], None] = ignore_progress,
        load_silence_s: float = LOAD_SILENCE_S,
        step_silence_s: float = STEP_SILENCE_S,
        clock: Clock | None = None,
    ) -> ChildEngine:
        """Start a child and load the model.

        Args:
            model: what to run.
            context_tokens: prompt and answer together; 0 is 8,192, or what the model knows if less.
            threads: that compute; 0 is what suits the machine and the other engines on it.
            gpu_layers: layers on an accelerator; 0 for none, -1 for all.
            max_sequences: answers that are written at once; 0 is 8.
            cache_tokens: that all requests and pinned prefixes hold together; 0 lets the engine
                choose.
            state_folder: where states of pinned prefixes are kept; None keeps them in memory only.
            state_bytes: that they may take there.
            checkpoint_bytes: of main memory that states of conversations may take.
            max_waiting: requests that may wait; more are refused. 0 is 64.
            adapters: names of LoRA adapters and their files.
            cores: to share with the other engines of the machine; 0 is what suits it.
            on_progress: called while loading with a share in [0, 1].
            load_silence_s: seconds without progress after which loading counts as hung.
            step_silence_s: seconds without a word, while something is in flight, after which the
                child counts as hung and is ended.
            clock: for counting crashes.

        Raises:
            NotFoundError: there is no such file.
            InvalidDataError: it is not a model that can be run here.
            IntegrityError: it is cut off or damaged.
            OverloadedError: it does not fit the memory.
            UnavailableError: the child stopped or hung while loading.
        """
        load = LoadModel(
            path=os.fspath(model.path),
            name=model.name,
            context_tokens=context_tokens,
            threads=threads,
            gpu_layers=gpu_layers,
            max_sequences=max_sequences,
            cache_tokens=cache_tokens,
            file_sha256=model.sha256,
            state_folder=os.fspath(state_folder or ""),
            state_bytes=state_bytes,
            checkpoint_bytes=checkpoint_bytes,
            max_waiting=max_waiting,
            adapters=tuple((name, os.fspath(path)) for name, path in adapters),
            cores=cores,
        )
        engine = cls(model, load, clock or SystemClock(), (load_silence_s, step_silence_s))
        await engine._kept.start(on_progress)
        return engine

    @property
    def info(self) -> EngineInfo:
        """What it serves."""
        if self._info is None:
            msg = "the engine was not started"
            raise UnavailableError(msg)
        return self._info

    @property
    def state(self) -> EngineState:
        """How busy it is, as last heard; idle and empty while there is no child."""
        child = self._kept.child
        return EngineState() if child is None else child.state

    @property
    def pid(self) -> int | None:
        """Number of the child process; None while there is none."""
        child = self._kept.child
        return None if child is None else child.pid

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """See `Engine.generate`. Several run at once; others wait, persons before jobs."""
        try:
            child = await self._kept.living()
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
        child = await self._kept.living()
        warmed = await child.warm(messages, tools, thinking)
        self._prefixes[warmed.sha256] = tuple(messages), tuple(tools), thinking
        self._prefixes.move_to_end(warmed.sha256)
        while len(self._prefixes) > PINNED_PREFIXES:
            self._prefixes.popitem(last=False)
        return warmed

    async def score(self, request: ScoreRequest) -> ToolScores:
        """See `Engine.score`."""
        return await (await self._kept.living()).score(request)

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """See `Engine.embed`."""
        return await (await self._kept.living()).embed(texts)

    def forget(self, owner: str) -> None:
        """See `Engine.forget`."""
        if self._kept.child is not None:
            self._kept.child.forget(owner)

    async def restart(self) -> None:
        """Start it again although it was given up; does nothing while it runs.

        Raises:
            HomingError: as `start`.
        """
        await self._kept.restart()

    async def close(self) -> None:
        """See `Engine.close`."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
        await self._kept.close()

    def _take_over(self, child: EngineChild, ready: ModelReady) -> None:
        """A new child has its model loaded."""
        self._info = EngineInfo(
            model=self._model.name,
            quantization=ready.quantization,
            context_tokens=ready.context_tokens,
            chat_format=ready.chat_format,
            can_think=ready.can_think,
            architecture=ready.architecture,
            stand_in=self._model.stand_in,
            max_sequences=ready.max_sequences,
            adapters=self._adapters,
            sha256=self._model.sha256,
        )
        if self._prefixes:
            self._warming = asyncio.create_task(self._warm_again(child))

    async def _warm_again(self, child: EngineChild) -> None:
        for prefix in tuple(self._prefixes.values()):
            try:
                await child.warm(*prefix)
            except HomingError as error:
                _log.warning("engine.not_warmed", what=error.what)
                return
