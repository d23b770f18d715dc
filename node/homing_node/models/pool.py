"""Several models on one node: loaded when they are asked for, unloaded when room is needed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from homing_agent.runtime.logs import get_logger
from homing_agent.runtime.model_host import ModelHost, Phase
from homing_core.errors import (
    ConfigError,
    HomingError,
    NotFoundError,
    OverloadedError,
    UnavailableError,
)

from homing_node.models.room import NoRoomError, make_room
from homing_node.models.slots import Slot

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

    from homing_agent.runtime.model_host import ModelStatus
    from homing_core.clock import Clock
    from homing_inference.engine import Engine

    from homing_node.models.slots import ConfiguredModel

RETRY_S = 30.0
"""How long a model that could not be loaded only says why, before another attempt is made."""

_log = get_logger(__name__)


class ModelPool:
    """Loads one model at a time, and shares out the engines. Belongs to one event loop.

    Args:
        models: what may be served; the first is the default.
        budget_bytes: of memory for all loaded models together.
        clock: for ageing.

    Raises:
        ConfigError: two models have one name.
    """

    def __init__(
        self, models: Sequence[ConfiguredModel], *, budget_bytes: int, clock: Clock
    ) -> None:
        """Nothing is loaded yet."""
        self._budget = budget_bytes
        self._clock = clock
        self._loading = asyncio.Lock()
        self._closing: set[asyncio.Task[None]] = set()
        self._tending: list[asyncio.Task[None]] = []
        self.slots = tuple(self._slot(model) for model in models)
        names = [slot.name for slot in self.slots]
        for name in names:
            if names.count(name) > 1:
                msg = f"two models would be served as {name}"
                raise ConfigError(msg, "Rename one of the files, or leave one out.")

    @property
    def default(self) -> ModelHost:
        """The model for requests that name none."""
        return self.slots[0].host

    def start(self) -> None:
        """Begin to load the default, and whatever is always kept."""
        self.slots[0].household_at = self._clock.monotonic()
        for slot in self.slots:
            if slot is self.slots[0] or slot.resident:
                slot.host.again()
            if slot.resident:
                self._tending.append(asyncio.create_task(self._tend(slot)))

    def forget(self, owner: str) -> None:
        """Drop what conversations of this owner left in the models that are loaded."""
        for slot in self.slots:
            if slot.host.engine is not None:
                slot.host.engine.forget(owner)

    def names(self, model: str) -> tuple[str, ...]:
        """Names by which this model may be asked for; empty is the default.

        Raises:
            NotFoundError: there is no such model.
        """
        return self._find(model).names

    def all_names(self) -> tuple[tuple[str, ...], ...]:
        """The same of every model, the default first."""
        return tuple(slot.names for slot in self.slots)

    def context_tokens(self, model: str) -> int:
        """Prompt and answer together; 0 until it is known. Raises `NotFoundError`."""
        info = self._find(model).host.info
        return info.context_tokens if info is not None else 0

    async def settled(self) -> None:
        """Wait until the default is ready; raises the error if it will not be."""
        await self.default.settled()

    @property
    def offered(self) -> tuple[Slot, ...]:
        """What may be asked for: all but what could not be loaded a moment ago."""
        return tuple(slot for slot in self.slots if self._fresh_failure(slot) is None)

    def check(self, model: str) -> None:
        """Say at once what no waiting would change.

        Raises:
            NotFoundError: there is no such model.
            UnavailableError: the default is still brought up for the first time.
            HomingError: it could not be loaded a moment ago.
        """
        slot = self._find(model)
        failure = self._fresh_failure(slot)
        if failure is not None:
            raise failure
        # At the start a phone does better to answer by itself than to wait for a download.
        status = slot.host.status
        first = slot is self.slots[0] and slot.host.info is None and slot.host.error is None
        if first and status.phase in {Phase.FETCHING, Phase.LOADING}:
            msg = f"the model is {status.words}"
            raise UnavailableError(msg, "Try again shortly.")

    @contextlib.asynccontextmanager
    async def lease(self, model: str, *, yields: bool = False) -> AsyncGenerator[Engine]:
        """A model's engine for the length of a block, in which it is not unloaded.

        Loads the model if it is not there; whoever asks for it meanwhile waits for the same load.

        Args:
            model: served name, or as configured; empty takes the default.
            yields: whether it makes way for the household: then the engine is closed within the
                block if a model is wanted for which there is no room otherwise.

        Raises:
            NotFoundError: there is no such model.
            OverloadedError: models that are in use leave no room for it.
            HomingError: it cannot be loaded.
        """
        slot = self._find(model)
        slot.leases += 1
        slot.household += not yields
        try:
            yield await self._engine(slot)
        finally:
            slot.leases -= 1
            slot.household -= not yields
            slot.used_at = self._clock.monotonic()
            if not yields:
                slot.household_at = slot.used_at

    async def close(self) -> None:
        """Stop loading and free every engine."""
        for task in self._tending:
            task.cancel()
        await asyncio.gather(*self._tending, return_exceptions=True)
        await asyncio.gather(*(slot.host.close() for slot in self.slots))
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _slot(self, model: ConfiguredModel) -> Slot:
        def admit(need_bytes: int) -> contextlib.AbstractAsyncContextManager[None]:
            return self._admit(slot, need_bytes)

        async def load(report: Callable[[ModelStatus], None]) -> Engine:
            slot.displaced = ()
            try:
                try:
                    return await model.source.load(report, admit)
                except OverloadedError as error:
                    # Other programs may leave less than the budget: then what is idle makes room.
                    if isinstance(error, NoRoomError) or not self._unload_idle(slot):
                        raise
                    return await model.source.load(report, admit)
            except Exception:
                slot.need_bytes = 0
                slot.failed_at = self._clock.monotonic()
                displaced: tuple[Slot, ...] = slot.displaced
                for other in displaced:
                    other.host.again()  # it made room for nothing
                raise

        host = ModelHost(model.status.name, _Watched(load), model.status)
        slot = Slot(host, model.called or model.status.name, model.resident)
        return slot

    def _find(self, model: str) -> Slot:
        if not model:
            return self.slots[0]
        for slot in self.slots:
            if model in {slot.name, slot.called}:
                return slot
        msg = "that model is not served here"
        served = ", ".join(slot.name for slot in self.slots)
        raise NotFoundError(msg, f"Served: {served}; leave the name out to take the first.")

    def _fresh_failure(self, slot: Slot) -> HomingError | None:
        """Why it could not be loaded, while that is not tried again; never for lack of room."""
        error = slot.host.error
        if error is None or isinstance(error, NoRoomError):
            return None
        return error if self._clock.monotonic() - slot.failed_at < RETRY_S else None

    async def _engine(self, slot: Slot) -> Engine:
        if slot.host.engine is None:
            failure = self._fresh_failure(slot)
            if failure is not None:
                raise failure
            slot.host.again()
            await slot.host.settled()
        engine = slot.host.engine
        if engine is None:
            msg = "the node is stopping"
            raise UnavailableError(msg, "Try again when it is back.")
        return engine

    @contextlib.asynccontextmanager
    async def _admit(self, slot: Slot, need_bytes: int) -> AsyncGenerator[None]:
        """One at a time, and only where there is room, or room can be made."""
        async with self._loading:
            held = [
                one.held_against(slot, self._clock.monotonic())
                for one in self.slots
                if one.host.engine is not None and not one.resident
            ]
            for name in make_room(slot.name, need_bytes, self._budget, held):
                self._displace(self._find(name), slot)
            if self._closing:
                await asyncio.wait(self._closing)
            slot.need_bytes = need_bytes
            slot.used_at = self._clock.monotonic()
            yield

    def _unload_idle(self, wanted: Slot) -> bool:
        """Unload whatever is not in use for another model; whether there was anything."""
        idle = [
            slot
            for slot in self.slots
            if slot.host.engine is not None
            and not (slot.resident or slot.leases)
            and (wanted.household or not slot.kept(self._clock.monotonic()))
        ]
        for slot in idle:
            self._displace(slot, wanted)
        return bool(idle)

    def _displace(self, slot: Slot, wanted: Slot) -> None:
        wanted.displaced += (slot,)
        self._unload(slot)

    def _unload(self, slot: Slot) -> None:
        engine = slot.host.detach()
        slot.need_bytes = 0
        if engine is not None:
            _log.info("model.unloaded", model=slot.name)
            # A task of its own: whoever waits for the room may go away meanwhile.
            task = asyncio.create_task(engine.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _tend(self, slot: Slot) -> None:
        status = slot.host.status
        while True:
            if status.phase is Phase.FAILED:
                await asyncio.sleep(RETRY_S)
                slot.host.again()
            status = await slot.host.after(status)


class _Watched:
    """A `ModelSource` made of a function."""

    def __init__(self, load: Callable[[Callable[[ModelStatus], None]], Awaitable[Engine]]) -> None:
        self._load = load

    async def load(self, report: Callable[[ModelStatus], None]) -> Engine:
        return await self._load(report)
