"""Bringing the phone's model up: fetched, loaded, its prefix warm; and again if that may help."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from homing_agent.runtime.logs import get_logger
from homing_agent.runtime.model_host import Phase
from homing_core.errors import HomingError, InternalError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from homing_agent.runtime.model_host import ModelHost

RETRY_S = 60.0
"""How long after a failure that may pass, such as a network that is down, it is tried again."""

_log = get_logger(__name__)


class Happening(Enum):
    """What whoever watches the process is told."""

    LISTENING = "listening"
    ACTIVITY = "activity"
    READY = "ready"
    PROBLEM = "problem"
    ALARM = "alarm"
    STOPPED = "stopped"


class Tell(Protocol):
    """Shows what happens to whoever watches."""

    def __call__(self, happening: Happening, text: str) -> None:
        """One line."""
        ...


@dataclass(slots=True)
class Readiness:
    """How far the phone's model is.

    Attributes:
        ready: loaded, and its prefix warm.
        activity: what is being done meanwhile, for a person.
        error: what keeps it from getting ready.
    """

    ready: bool = False
    activity: str = "starting"
    error: HomingError | None = None

    @property
    def busy(self) -> bool:
        """Whether something is being done to get it ready."""
        return not self.ready and self.error is None


class BringUp:
    """Brings a model up and says how far it is.

    Args:
        host: fetches and loads it.
        warm: computes the prefix that every request begins with.
        readiness: kept up to date.
        tell: shows what happens.
    """

    def __init__(
        self,
        host: ModelHost,
        warm: Callable[[], Awaitable[object]],
        readiness: Readiness,
        tell: Tell,
    ) -> None:
        """Nothing is done yet."""
        self._host = host
        self._warm = warm
        self._readiness = readiness
        self._tell = tell
        self._nudge = asyncio.Event()

    def nudge(self) -> None:
        """Something changed, such as the network: what failed may work now."""
        self._nudge.set()

    async def run(self) -> None:
        """Until it is ready, or will not be; the host has been started."""
        while not await self._once():
            self._nudge.clear()
            try:
                async with asyncio.timeout(RETRY_S):
                    await self._nudge.wait()
            except TimeoutError:
                pass
            self._host.again()

    async def _once(self) -> bool:
        """One attempt; whether there is no use in another."""
        try:
            await self._watch()
            await self._host.settled()
            self._say("reading its tools")
            await self._warm()
        except HomingError as error:
            return self._failed(error)
        except Exception as error:  # noqa: BLE001  # logged; the person gets a neutral line
            _log.error("model.warm_raised", exc_info=error)
            return self._failed(
                InternalError("the model could not be made ready", "The details are in the log.")
            )
        self._readiness.error = None
        self._readiness.ready = True
        self._readiness.activity = "ready"
        self._tell(Happening.READY, f"{self._host.status.name} is ready.")
        return True

    async def _watch(self) -> None:
        status = self._host.status
        while status.phase not in {Phase.READY, Phase.FAILED}:
            text = status.step or status.phase.value
            if status.total:  # the error of an earlier attempt stands until this one gets somewhere
                self._readiness.error = None
                text = f"{text}, {status.percent}%"
            self._say(text)
            status = await self._host.after(status)

    def _say(self, activity: str) -> None:
        if activity != self._readiness.activity:
            self._readiness.activity = activity
            self._tell(Happening.ACTIVITY, activity)

    def _failed(self, error: HomingError) -> bool:
        self._readiness.error = error
        self._readiness.activity = error.what
        self._tell(Happening.PROBLEM, str(error))
        return not error.retryable
