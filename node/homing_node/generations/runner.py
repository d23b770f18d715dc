"""Drives engines and serves readers. A reader that goes away ends nothing."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from homing_agent.runtime.logs import get_logger
from homing_core.errors import HomingError, InternalError, UnavailableError
from homing_core.generation import Done, Failed, FinishReason, Usage

from homing_node.generations.content import content_digest
from homing_node.generations.gate import OpenTicket

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from homing_core.generation import GenerateRequest, GenerationEvent, Numbered
    from homing_core.ids import DeviceId, GenerationId
    from homing_inference.engine import Engine

    from homing_node.generations.events import EventLog
    from homing_node.generations.gate import Admit, Ticket
    from homing_node.generations.table import GenerationTable

_log = get_logger(__name__)
_MS = 1000.0


class Engines(Protocol):
    """Shares out engines; see `homing_node.models.pool.ModelPool`."""

    def check(self, model: str) -> None:
        """Say at once what no waiting would change; raises `HomingError`."""
        ...

    def lease(self, model: str, *, yields: bool = False) -> AbstractAsyncContextManager[Engine]:
        """A model's engine for the length of a block; waits for it, and raises `HomingError`.

        Where `yields`, the engine may be closed within the block to make way for the household.
        """
        ...


class Generations:
    """Starts, attaches to, reads and ends generations. Belongs to one event loop.

    Args:
        table: where they are kept.
        engines: what runs them.
    """

    def __init__(self, table: GenerationTable, engines: Engines) -> None:
        """Nothing runs yet."""
        self._table = table
        self._engines = engines
        self._tasks: dict[EventLog, asyncio.Task[None]] = {}
        self._stopping = False
        self.last_usage: Usage | None = None

    def start(
        self, device: DeviceId, request: GenerateRequest, admit: Admit = OpenTicket
    ) -> EventLog:
        """Start what is asked, or attach to it if it was asked before.

        Args:
            device: whose it is: an account.
            request: what is asked.
            admit: lets it in, and counts what it uses.

        Raises:
            ConflictError: the id was used for something else.
            OverloadedError: as many run as may.
            UnavailableError: the node is stopping, or its model is not there yet.
            NotFoundError: there is no such model.
            HomingError: the model could not be loaded a moment ago.
            InvalidDataError: the request has no canonical form.
        """
        digest = content_digest(request)
        log = self._table.same(device, request.id, digest)
        if log is not None:
            return log
        if self._stopping:
            raise _stopping()
        # What it leaves in the engine serves this device alone, whatever the request says.
        ticket = admit(replace(request, owner=device))
        try:
            # Only now: of models that it may not use, a device is not told.
            self._engines.check(request.model)
            log = self._table.begin(device, request.id, digest, yields=ticket.yields)
        except HomingError:
            ticket.close("refused")
            raise
        task = self._tasks[log] = asyncio.create_task(self._run(log, ticket))
        # Here and not in the task, which never runs if it is cancelled before its first step.
        task.add_done_callback(lambda _: ticket.close(_outcome(log)))
        return log

    async def read(self, log: EventLog, after: int = 0) -> AsyncGenerator[Numbered, None]:
        """What follows `after`, until the end. Any number of readers may do so.

        Raises:
            InvalidDataError: `after` is beyond the last event.
            ConflictError: some of what follows was acknowledged.
        """
        while True:
            changed = log.changed
            for numbered in log.after(after):
                yield numbered
                after = numbered.seq
                if numbered.final:
                    return
            # Whoever asks after the last event of an ended generation has everything.
            if log.ended and after == log.last_seq:
                return
            await changed.wait()

    def find(self, device: DeviceId, id: GenerationId) -> EventLog:  # noqa: A002  # its name everywhere
        """The generation; raises `NotFoundError`."""
        return self._table.find(device, id)

    def ack(self, device: DeviceId, id: GenerationId, up_to: int) -> None:  # noqa: A002
        """Forget events up to a number.

        Raises:
            NotFoundError: there is no such generation.
            InvalidDataError: the number is beyond the last event.
        """
        self._table.find(device, id).ack(up_to)

    def cancel(self, device: DeviceId, id: GenerationId) -> bool:  # noqa: A002
        """End it; whether it was still running. Raises `NotFoundError`."""
        log = self._table.find(device, id)
        was_running = not log.ended
        self._end(log, Done(FinishReason.CANCELLED))
        return was_running

    def fail(self, device: DeviceId, id: GenerationId, error: HomingError) -> None:  # noqa: A002
        """End it with an error; harmless if it has ended. Raises `NotFoundError`."""
        self._end(self._table.find(device, id), Failed.from_error(error))

    async def drop_device(self, device: DeviceId) -> None:
        """End and forget everything of a device that was revoked; its engines have let go then."""
        unended = self._table.unended(device)
        tasks = [task for log in unended if (task := self._tasks.get(log)) is not None]
        for log in unended:
            self._end(log, Done(FinishReason.CANCELLED))
        self._table.forget(device)
        await asyncio.gather(*tasks, return_exceptions=True)

    def running(self) -> int:
        """How many have not ended."""
        return self._table.running()

    def sweep(self) -> None:
        """Forget what is too old; call it now and then."""
        self._table.sweep()

    async def stop(self, drain_s: float) -> None:
        """Take no more, let what runs go on for `drain_s` seconds, then end it, retryable."""
        self._stopping = True
        if self._tasks:
            await asyncio.wait(tuple(self._tasks.values()), timeout=drain_s)
        for log in self._table.unended():
            self._end(log, Failed.from_error(_stopping()))
        if self._tasks:
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _end(self, log: EventLog, event: GenerationEvent) -> None:
        # The event first: a task that is cancelled before its first step never runs at all.
        self._table.append(log, event)
        task = self._tasks.get(log)
        if task is not None:
            task.cancel()

    async def _run(self, log: EventLog, ticket: Ticket) -> None:
        request = ticket.request
        limit = asyncio.timeout(request.deadline_ms / _MS or None)
        try:
            async with limit, self._engines.lease(request.model, yields=ticket.yields) as engine:
                await ticket.begin()
                async with contextlib.aclosing(engine.generate(request)) as events:
                    async for event in events:
                        if isinstance(event, Usage):
                            self.last_usage = event
                        for told in ticket.count(event):
                            self._table.append(log, told)
                        if log.ended:
                            return
            self._table.append(log, Failed.from_error(_fault()))
        except HomingError as error:
            self._table.append(log, Failed.from_error(error))
        except Exception as error:  # noqa: BLE001  # one generation's fault must not end the daemon
            if limit.expired():
                self._table.append(log, Failed.from_error(_too_late(request.deadline_ms)))
                return
            _log.error("generation.engine_raised", generation=log.id, exc_info=error)
            self._table.append(log, Failed.from_error(_fault()))
        finally:
            self._tasks.pop(log, None)


def _outcome(log: EventLog) -> str:
    """How it ended, in a word."""
    match log.last:
        case Done(reason):
            return reason.value
        case Failed(code):
            return code
        case _:
            return "dropped"


def _stopping() -> UnavailableError:
    return UnavailableError("the node is stopping", "Try again when it is back.")


def _too_late(deadline_ms: int) -> UnavailableError:
    msg = f"the answer was not finished within {deadline_ms} ms"
    return UnavailableError(msg, "Allow more time, or ask for less.")


def _fault() -> InternalError:
    return InternalError("the engine ended without an answer", "See the node's log.")
