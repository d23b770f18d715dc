"""The model that a process serves: fetched and loaded in the background while it answers."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from homing_core.errors import HomingError, InternalError, NotFoundError, UnavailableError

from homing_agent.runtime.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from homing_inference.engine import Engine, EngineInfo

_log = get_logger(__name__)


class Phase(Enum):
    """How far the model is."""

    UNLOADED = "not loaded"
    FETCHING = "being fetched"
    LOADING = "loading"
    READY = "ready"
    FAILED = "not available"


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """How far the model is, and what is known of it.

    Attributes:
        name: under which it is served; as configured until that is known.
        phase: how far it is.
        step: what is being done, in a few words; empty takes the phase's own.
        done: how much of the step is done; bytes, or another unit.
        total: of the step; 0 if unknown.
        stand_in: whether it stands in for the product's own.
        quantization: weights' format; empty until known.
        sha256: of the file, hex; empty until known.
    """

    name: str
    phase: Phase = Phase.FETCHING
    step: str = ""
    done: int = 0
    total: int = 0
    stand_in: bool = False
    quantization: str = ""
    sha256: str = ""

    @property
    def words(self) -> str:
        """Such as `being fetched, 40%`."""
        known = self.total > 0 and self.phase in {Phase.FETCHING, Phase.LOADING}
        return f"{self.phase.value}, {self.percent}%" if known else self.phase.value

    @property
    def percent(self) -> int:
        """How much of the step is done; 0 if unknown."""
        if self.phase is Phase.READY:
            return 100
        return min(100 * self.done // self.total, 100) if self.total > 0 else 0


class ModelSource(Protocol):
    """Where the model comes from."""

    async def load(self, report: Callable[[ModelStatus], None]) -> Engine:
        """Fetch and load it, saying how far it is; raises `HomingError`."""
        ...


class Admission(Protocol):
    """Lets a model in whose need of memory is known; see `at_once`."""

    def __call__(self, need_bytes: int) -> AbstractAsyncContextManager[None]:
        """Hold the block's room while the model is loaded; raises `HomingError` if there is none.

        Args:
            need_bytes: of main memory that the model will take, about.
        """
        ...


def at_once(need_bytes: int) -> AbstractAsyncContextManager[None]:
    """Let every model in: whoever runs a single one has nothing to make room with."""
    del need_bytes
    return nullcontext()


class ModelHost:
    """Holds the engine once it is there. Belongs to one event loop.

    Args:
        name: as configured; what to call the model until its own name is known.
        source: where it comes from.
        status: what is known of it before it is fetched; None if that is its name alone.

    Attributes:
        error: why it is not available, where its phase says so.
        info: of the engine that is there, or of the last one that was; None before the first.
    """

    def __init__(self, name: str, source: ModelSource, status: ModelStatus | None = None) -> None:
        """Nothing is loaded yet."""
        self._source = source
        self._status = status or ModelStatus(name)
        self._changed = asyncio.Event()
        self._engine: Engine | None = None
        self._task: asyncio.Task[None] | None = None
        self.error: HomingError | None = None
        self.info: EngineInfo | None = None

    @property
    def status(self) -> ModelStatus:
        """How far it is."""
        return self._status

    @property
    def engine(self) -> Engine | None:
        """The engine; None until it is there."""
        return self._engine

    def start(self) -> None:
        """Begin to fetch and load."""
        self._task = asyncio.create_task(self._load())

    def again(self) -> None:
        """Begin anew after a failure that may have passed, or after `detach`; else do nothing."""
        if self._status.phase not in {Phase.FAILED, Phase.UNLOADED}:
            return
        self.error = None
        self._set(replace(self._status, phase=Phase.FETCHING))
        self.start()

    def detach(self) -> Engine | None:
        """Give the engine away, to be closed by the caller; None if it is not there."""
        engine, self._engine = self._engine, None
        if engine is not None:
            self._set(replace(self._status, phase=Phase.UNLOADED))
        return engine

    async def after(self, seen: ModelStatus) -> ModelStatus:
        """The newest status, as soon as it is another one than `seen`."""
        while self._status == seen:
            await self._changed.wait()
        return self._status

    async def settled(self) -> None:
        """Wait until it is ready; raises the error if it will not be."""
        status = self._status
        while status.phase not in {Phase.READY, Phase.FAILED}:
            status = await self.after(status)
        if self.error is not None:
            raise self.error

    def engine_for(self, model: str) -> Engine:
        """The engine for a request; an empty name takes whatever is served.

        Raises:
            UnavailableError: it is not there yet.
            NotFoundError: another model is served.
        """
        if self._engine is None:
            msg = f"the model is {self._status.words}"
            raise UnavailableError(msg, "Try again shortly.")
        served = self._engine.info.model
        if model not in {"", served}:
            msg = "that model is not served here"
            raise NotFoundError(msg, f"{served} is; leave the name out to take it.")
        return self._engine

    async def close(self) -> None:
        """Stop loading and free the engine."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._engine is not None:
            engine, self._engine = self._engine, None
            await engine.close()

    def _set(self, status: ModelStatus) -> None:
        self._status = status
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _load(self) -> None:
        last = self._status

        def report(status: ModelStatus) -> None:
            nonlocal last
            last = status
            self._set(status)

        try:
            self._engine = await self._source.load(report)
        except HomingError as error:
            self._fail(last, error)
        except Exception as error:  # noqa: BLE001  # said neutrally
            _log.error("model.load_raised", exc_info=error)
            self._fail(last, InternalError("the model could not be loaded", "See the log."))
        else:
            info = self.info = self._engine.info
            ready = ModelStatus(
                info.model,
                Phase.READY,
                stand_in=info.stand_in,
                quantization=info.quantization,
                sha256=last.sha256,
            )
            _log.info("model.ready", model=info.model, stand_in=info.stand_in)
            self._set(ready)

    def _fail(self, last: ModelStatus, error: HomingError) -> None:
        self.error = error
        # A want of room, or a server that is away, passes; the others want somebody's attention.
        entry = _log.info if error.retryable else _log.error
        entry("model.failed", model=last.name, code=error.code.value, what=error.what)
        self._set(replace(last, phase=Phase.FAILED, step="", done=0, total=0))
