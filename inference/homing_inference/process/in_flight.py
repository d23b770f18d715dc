"""What an engine's child was asked and has not finished: generations by id, the rest by ticket."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING

from homing_core.errors import ConflictError, HomingError
from homing_core.generation import Done, Failed

if TYPE_CHECKING:
    from homing_core.generation import GenerationEvent
    from homing_core.ids import GenerationId

    from homing_inference.process.outcomes import Outcome


class InFlight:
    """Those who wait, and how they are told. Belongs to one event loop."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._streams: dict[GenerationId, asyncio.Queue[GenerationEvent]] = {}
        self._ending: dict[GenerationId, asyncio.Event] = {}
        """Generations that nobody reads any more but whose last event has not come."""
        self._numbers = itertools.count(1)
        self._tickets: dict[int, asyncio.Future[Outcome]] = {}

    def __bool__(self) -> bool:
        """Whether anything is in flight."""
        return bool(self._streams or self._ending or self._tickets)

    async def ended(self, identity: GenerationId) -> None:
        """Return once no cancelled generation of this id is left."""
        while identity in self._ending:
            await self._ending[identity].wait()

    def check_free(self, identity: GenerationId) -> None:
        """Refuse an id that is in use.

        Raises:
            ConflictError: somebody reads a generation with this id.
        """
        if identity in self._streams:
            msg = "a generation with this id is already running"
            raise ConflictError(msg, "Use a fresh id.")

    def stream(self, identity: GenerationId) -> asyncio.Queue[GenerationEvent]:
        """Where the events of a new generation arrive."""
        self._streams[identity] = asyncio.Queue()
        return self._streams[identity]

    def leave(self, identity: GenerationId) -> bool:
        """Nobody reads this generation any more; whether it is still to be ended."""
        if self._streams.pop(identity, None) is None:
            return False
        self._ending[identity] = asyncio.Event()
        return True

    def event(self, identity: GenerationId, event: GenerationEvent) -> None:
        """An event came."""
        last = isinstance(event, Done | Failed)
        events = self._streams.get(identity)
        if events is not None:
            events.put_nowait(event)
            if last:
                del self._streams[identity]
        elif last and identity in self._ending:
            self._ending.pop(identity).set()

    def number(self) -> int:
        """A fresh ticket."""
        return next(self._numbers)

    async def outcome(self, ticket: int) -> Outcome:
        """What comes of a ticket.

        Raises:
            HomingError: with which it ended.
        """
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._tickets[ticket] = future
        try:
            return await future
        finally:
            self._tickets.pop(ticket, None)

    def answer(self, ticket: int, outcome: Outcome | HomingError) -> None:
        """An answer to a ticket came; it is dropped if nobody waits for it."""
        future = self._tickets.pop(ticket, None)
        if future is None or future.done():
            return
        if isinstance(outcome, HomingError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def fail(self, error: HomingError) -> None:
        """Nothing will come any more: end all with this."""
        for identity in tuple(self._streams):
            self.event(identity, Failed.from_error(error))
        for ending in self._ending.values():
            ending.set()
        self._ending.clear()
        for ticket in tuple(self._tickets):
            self.answer(ticket, error)
