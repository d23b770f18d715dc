"""Calls that are under way, by device, so that a revocation ends them at once.

A connection outlives the roots bundle, so a revoked device's streams would go on. Cancelling the
handler alone leaves the client hanging; the status has to be sent first, from another task.
Belongs to one event loop; nothing here is safe to call from another thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
from homing_core.errors import HomingError, UnpairedError

from homing_crypto.rpc_errors import send_abort

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from homing_core.ids import DeviceId

_REVOKED = UnpairedError(
    "this device's pairing was revoked", "Ask the node's owner to pair it again."
)


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    context: grpc.aio.ServicerContext[Any, Any]
    task: asyncio.Task[Any]


class LiveCalls:
    """The calls under way on one server."""

    def __init__(self) -> None:
        """No calls yet."""
        self._calls: dict[DeviceId, set[_Call]] = {}

    @contextlib.contextmanager
    def track(
        self, device_id: DeviceId, context: grpc.aio.ServicerContext[Any, Any]
    ) -> Generator[None]:
        """Count the current task as a call of this device while the block runs."""
        task = asyncio.current_task()
        if task is None:
            msg = "a call is tracked from within its own task"
            raise RuntimeError(msg)
        call = _Call(context, task)
        self._calls.setdefault(device_id, set()).add(call)
        try:
            yield
        finally:
            calls = self._calls[device_id]
            calls.discard(call)
            if not calls:
                del self._calls[device_id]

    def count(self, device_id: DeviceId | None = None) -> int:
        """How many calls are under way, of one device or of all."""
        if device_id is not None:
            return len(self._calls.get(device_id, ()))
        return sum(map(len, self._calls.values()))

    async def end_calls(self, device_id: DeviceId, error: HomingError = _REVOKED) -> int:
        """End every call of a device with PERMISSION_DENIED; revoke it in the store first.

        Returns:
            How many calls there were.
        """
        return await _end(self._calls.get(device_id, ()), error, grpc.StatusCode.PERMISSION_DENIED)

    async def end_all(self, error: HomingError) -> int:
        """End every call with this error, such as when the node stops.

        Returns:
            How many calls there were.
        """
        return await _end([call for calls in self._calls.values() for call in calls], error, None)


async def _end(calls: Iterable[_Call], error: HomingError, status: grpc.StatusCode | None) -> int:
    ending = [call for call in calls if call.task is not asyncio.current_task()]
    try:
        await asyncio.gather(*(send_abort(call.context, error, status) for call in ending))
    finally:  # even if we are cancelled ourselves
        for call in ending:
            call.task.cancel()
    return len(ending)
