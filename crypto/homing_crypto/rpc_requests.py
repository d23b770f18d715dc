"""How the one message of a request is read: in time, within its size, and not too many at once.

gRPC calls a handler of one request only when the whole message is there, and nothing before that
sees the call: whoever never sends it, or 4 MiB of it, holds a place and memory for nothing. So our
servers have each method as one that takes a stream, decide on the headers, and read here.

What one account can make a node hold unparsed: `at_once` messages of `MAX_MESSAGE_BYTES`, and of
each other call that it has open what one stream may send unread (64 KiB).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from homing_core.errors import InvalidDataError, OverloadedError, UnavailableError

from homing_crypto.transport import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Generator

SMALL_BYTES: Final = 64 * 1024
"""The most that a request needs unless its method is named as one with large requests."""
_VERSIONS: Final = "Both sides may run different versions of Homing."
_SOON_MS: Final = 1_000


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """What a request may take.

    Attributes:
        seconds: within which a request must be there whole.
        most_bytes: the largest request.
        large: full names of methods whose requests may have `MAX_MESSAGE_BYTES`.
        large_seconds: within which those must be there: 4 MiB at 0.6 Mbit/s by default.
        at_once: messages of one account that are read at the same time; further ones wait.
        unread: calls of one server whose message is not there yet; the oldest gives way.
    """

    seconds: float = 10.0
    most_bytes: int = MAX_MESSAGE_BYTES
    large: frozenset[str] = frozenset()
    large_seconds: float = 60.0
    at_once: int = 8
    unread: int = 1024


@dataclass(slots=True, eq=False)
class _Unread:
    deadline: asyncio.Timeout
    gave_way: bool = False


@dataclass(slots=True)
class _Turns:
    free: asyncio.Semaphore
    users: int = 0


class Requests:
    """Reads the requests of one server. Belongs to one event loop.

    Args:
        limits: what each may take.
    """

    def __init__(self, limits: RequestLimits) -> None:
        """Nobody asks."""
        self._limits = limits
        self._turns: dict[str, _Turns] = {}
        self._unread: OrderedDict[_Unread, None] = OrderedDict()

    async def one(self, messages: AsyncIterator[bytes], method: str, account: str) -> bytes:
        """The one message of a request.

        Args:
            messages: what comes.
            method: the method's full name.
            account: whose turn it takes; empty where callers have none and need not wait.

        Raises:
            InvalidDataError: it is too large, or there is none, or there are several.
            UnavailableError: it did not come in time.
            OverloadedError: it had not come when others needed the place.
        """
        limits = self._limits
        large = method in limits.large
        waiting = _Unread(asyncio.timeout(limits.large_seconds if large else limits.seconds))
        try:
            async with waiting.deadline, self._turn(account):
                with self._counted(waiting):
                    return await _read(messages, MAX_MESSAGE_BYTES if large else limits.most_bytes)
        except TimeoutError:
            if waiting.gave_way:
                msg = "others needed the place of a call whose request did not come"
                raise OverloadedError(msg, "Try again.", _SOON_MS) from None
            msg = "the request did not come in time"
            raise UnavailableError(msg, "Check the connection, then try again.") from None

    @contextlib.contextmanager
    def _counted(self, waiting: _Unread) -> Generator[None]:
        if len(self._unread) >= self._limits.unread:
            oldest, _ = self._unread.popitem(last=False)
            oldest.gave_way = True
            oldest.deadline.reschedule(asyncio.get_running_loop().time())
        self._unread[waiting] = None
        try:
            yield
        finally:
            self._unread.pop(waiting, None)

    @contextlib.asynccontextmanager
    async def _turn(self, account: str) -> AsyncGenerator[None]:
        if not account:
            yield
            return
        turns = self._turns.setdefault(account, _Turns(asyncio.Semaphore(self._limits.at_once)))
        turns.users += 1
        try:
            async with turns.free:
                yield
        finally:
            turns.users -= 1
            if not turns.users:
                del self._turns[account]


async def _read(messages: AsyncIterator[bytes], most: int) -> bytes:
    message = await anext(messages, None)
    if message is None:
        msg = "the request has no message"
        raise InvalidDataError(msg, _VERSIONS)
    if len(message) > most:
        msg = f"the request is larger than {most:,} bytes"
        raise InvalidDataError(msg, "Ask for less at once.")
    if await anext(messages, None) is not None:
        msg = "the request has more than one message"
        raise InvalidDataError(msg, _VERSIONS)
    return message
