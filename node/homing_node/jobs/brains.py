"""The node's models for its own tools, within what the device may use that asked for the job."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from homing_core.errors import HomingError, InternalError, UnavailableError, UsageError
from homing_core.generation import Done, Failed, Priority
from homing_inference.engine import EngineInfo, EngineState

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from homing_core.generation import GenerateRequest, GenerationEvent, Thinking
    from homing_core.messages import Message
    from homing_core.scoring import ScoreRequest, ToolScores
    from homing_core.tools import ToolSpec
    from homing_crypto.devices import PairedDevice
    from homing_inference.engine import Engine, WarmedPrefix

    from homing_node.devices.admission import Admission
    from homing_node.models.pool import ModelPool

_UNKNOWN: Final = EngineInfo("default", "", 4096, "plain", can_think=False)


class PoolBrains:
    """`homing_node.jobs.ports.Brains` over the models that devices use.

    Args:
        models: the node's.
        admission: lets generations in, and counts what they use.
    """

    def __init__(self, models: ModelPool, admission: Admission) -> None:
        """Keep them."""
        self._models = models
        self._admission = admission

    def engine_for(self, device: PairedDevice) -> Engine:
        """See `Brains.engine_for`."""
        return DeviceEngine(self._models, self._admission, device)


class DeviceEngine:
    """An `Engine` whose generations count as a device's, and make way for a person who waits.

    Args:
        models: the node's.
        admission: lets generations in.
        device: whose they are.
    """

    def __init__(self, models: ModelPool, admission: Admission, device: PairedDevice) -> None:
        """Nothing is generated."""
        self._models = models
        self._admission = admission
        self._device = device
        self._closed = False

    @property
    def info(self) -> EngineInfo:
        """Of the default model; what is not known yet, cautiously."""
        return self._models.default.info or _UNKNOWN

    @property
    def state(self) -> EngineState:
        """Of the default model."""
        engine = self._models.default.engine
        return engine.state if engine is not None else EngineState()

    async def generate(self, request: GenerateRequest) -> AsyncGenerator[GenerationEvent, None]:
        """See `Engine.generate`; a limit of the device that is reached comes as a `Failed`."""
        try:
            if self._closed:
                raise _over()
            ticket = self._admission.admit(self._device, replace(request, priority=Priority.JOB))
        except HomingError as error:
            yield Failed.from_error(error)
            return
        outcome = "dropped"
        try:
            async with self._models.lease(ticket.request.model, yields=ticket.yields) as engine:
                await ticket.begin()
                async with contextlib.aclosing(engine.generate(ticket.request)) as events:
                    async for event in events:
                        for told in ticket.count(event):
                            yield told
                            if isinstance(told, Done | Failed):
                                outcome = told.reason.value if isinstance(told, Done) else told.code
                                return
            msg = "the engine ended without an answer"
            yield Failed.from_error(InternalError(msg, "See the node's log."))
        except HomingError as error:
            outcome = error.code.value
            yield Failed.from_error(error)
        finally:
            ticket.close(outcome)

    async def warm(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec], thinking: Thinking
    ) -> WarmedPrefix:
        """Prefixes are for conversations; raises `UsageError`."""
        del messages, tools, thinking
        raise _not_here()

    async def score(self, request: ScoreRequest) -> ToolScores:
        """What cannot be counted is not done; raises `UsageError`."""
        del request
        raise _not_here()

    async def embed(self, texts: Sequence[str]) -> tuple[tuple[float, ...], ...]:
        """What cannot be counted is not done; raises `UsageError`."""
        del texts
        raise _not_here()

    def forget(self, owner: str) -> None:
        """Conversations' states are the pool's to forget."""

    async def close(self) -> None:
        """The attempt is over: a tool that goes on regardless generates nothing more."""
        self._closed = True


def _not_here() -> UsageError:
    msg = "a tool on a node can only have its model write"
    return UsageError(msg)


def _over() -> UnavailableError:
    msg = "the attempt at this job is over"
    return UnavailableError(msg)
