"""Calls that are under way, by account, so that a revocation ends them at once.

A connection outlives the roots bundle, so a revoked device's streams would go on. Cancelling the
handler alone leaves the client hanging; the status has to be sent first, from another task.
Belongs to one event loop; nothing here is safe to call from another thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import grpc
from homing_core.errors import HomingError, UnpairedError

from homing_crypto.rpc_errors import send_abort

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from homing_core.ids import DeviceId

    from homing_crypto.rpc_errors import StreamHeaders

_REVOKED = UnpairedError(
    "this device's pairing was revoked", "Ask the node's owner to pair it again."
)
_SEND_S = 0.5
"""How long a client that reads nothing may keep its status from being sent, in seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    key: DeviceId
    context: grpc.aio.ServicerContext[Any, Any]
    task: asyncio.Task[Any]
    headers: StreamHeaders | None


_current: ContextVar[_Call | None] = ContextVar("homing_live_call", default=None)
"""The call in whose name this runs, also in tasks that its handler has started."""


class LiveCalls:
    """The calls under way on one server."""

    def __init__(self) -> None:
        """No calls yet."""
        self._calls: dict[DeviceId, set[_Call]] = {}

    @contextlib.contextmanager
    def track(
        self,
        account: DeviceId,
        context: grpc.aio.ServicerContext[Any, Any],
        key: DeviceId | None = None,
        headers: StreamHeaders | None = None,
    ) -> Generator[None]:
        """Count the current task as a call of this account while the block runs.

        Args:
            account: whose call it is.
            context: the call.
            key: with which of the account's keys it was made; None if it has only one.
            headers: what a stream of answers begins with; None if there is one answer.
        """
        task = asyncio.current_task()
        if task is None:
            msg = "a call is tracked from within its own task"
            raise RuntimeError(msg)
        call = _Call(key or account, context, task, headers)
        self._calls.setdefault(account, set()).add(call)
        token = _current.set(call)
        try:
            yield
        finally:
            _current.reset(token)
            calls = self._calls[account]
            calls.discard(call)
            if not calls:
                del self._calls[account]

    def count(self, account: DeviceId | None = None) -> int:
        """How many calls are under way, of one account or of all."""
        if account is not None:
            return len(self._calls.get(account, ()))
        return sum(map(len, self._calls.values()))

    def keys(self) -> dict[DeviceId, frozenset[DeviceId]]:
        """The accounts that have calls under way, and with which keys."""
        return {
            account: frozenset(call.key for call in calls) for account, calls in self._calls.items()
        }

    async def end_calls(
        self, account: DeviceId, error: HomingError = _REVOKED, key: DeviceId | None = None
    ) -> int:
        """End every call of an account with PERMISSION_DENIED; revoke it in the store first.

        The call that asks for it is spared, so that whoever shuts itself out is told that it did.

        Args:
            account: whose calls.
            error: what they are told.
            key: only those made with this key.

        Returns:
            How many calls there were.
        """
        calls = [call for call in self._calls.get(account, ()) if key is None or call.key == key]
        return await _end(calls, error, grpc.StatusCode.PERMISSION_DENIED)

    async def end_all(self, error: HomingError) -> int:
        """End every call with this error, such as when the node stops.

        Returns:
            How many calls there were.
        """
        return await _end([call for calls in self._calls.values() for call in calls], error, None)


async def _end(calls: Iterable[_Call], error: HomingError, status: grpc.StatusCode | None) -> int:
    asking = _current.get()
    ending = [
        call for call in calls if call is not asking and call.task is not asyncio.current_task()
    ]
    try:
        # Who reads nothing has its status queued all the same; it arrives if it ever reads on.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SEND_S):
                await asyncio.gather(
                    *(send_abort(call.context, error, status, call.headers) for call in ending)
                )
    finally:  # even if we are cancelled ourselves
        for call in ending:
            call.task.cancel()
    return len(ending)
