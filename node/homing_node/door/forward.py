"""Bytes from a caller to gRPC and back, with bounded buffers."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable

BUFFER_BYTES: Final = 1 << 16
"""What is read at once, and what may wait to be written before reading stops; each direction."""
LINGER_S: Final = 5.0
"""Seconds that one side may stay after the other has ended; neither TLS nor HTTP/2 uses more."""

_buffer = memoryview(bytearray(BUFFER_BYTES))
"""One for all: it is emptied before anything else is read."""


class Side(Enum):
    """The ends of a link."""

    CALLER = "caller"
    NODE = "node"


class Link:
    """One caller and gRPC. Belongs to one event loop.

    Args:
        on_answer: called once, when gRPC's first bytes come.
        on_end: called once, when both ends are closed, with the side that ended first.
    """

    def __init__(self, on_answer: Callable[[], None], on_end: Callable[[Side], None]) -> None:
        """Neither end is connected."""
        self.caller = _End(self, Side.CALLER)
        self.node = _End(self, Side.NODE)
        self.caller.other, self.node.other = self.node, self.caller
        self._on_answer: Callable[[], None] | None = on_answer
        self._on_end = on_end
        self._first: Side | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._open = 2

    def begin(self) -> None:
        """Both ends are connected: let bytes pass."""
        for end in (self.caller, self.node):
            if end.transport is None or end.transport.is_closing():
                self.abort()
                return
        for end in (self.caller, self.node):
            if end.transport is not None:
                end.transport.resume_reading()

    def abort(self) -> None:
        """End both at once; what is not sent yet is lost."""
        for end in (self.caller, self.node):
            if end.transport is not None:
                end.transport.abort()

    def answered(self) -> None:
        """Bytes came from gRPC."""
        if self._on_answer is not None:
            tell, self._on_answer = self._on_answer, None
            tell()

    def ending(self, side: Side) -> None:
        """One side sends no more."""
        if self._first is None:
            self._first = side
            self._linger = asyncio.get_running_loop().call_later(LINGER_S, self.abort)

    def closed(self, side: Side) -> None:
        """One side is gone."""
        self.ending(side)
        self._open -= 1
        if not self._open and self._first is not None:
            if self._linger is not None:
                self._linger.cancel()
            self._on_end(self._first)


class _End(asyncio.BufferedProtocol):
    """One end: what it reads, the other writes."""

    other: _End

    def __init__(self, link: Link, side: Side) -> None:
        self._link = link
        self._side = side
        self._ended = False
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(BUFFER_BYTES)
        self.transport.pause_reading()  # until the other end is connected too

    def get_buffer(self, sizehint: int) -> memoryview:
        del sizehint
        return _buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.other.transport is not None:
            self.other.transport.write(bytes(_buffer[:nbytes]))
        if self._side is Side.NODE:
            self._link.answered()

    def pause_writing(self) -> None:
        if self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def eof_received(self) -> bool:
        """Half-closed: what comes the other way still passes."""
        self._ended = True
        self._link.ending(self._side)
        if self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.write_eof()
        if self.other._ended:  # noqa: SLF001  # the same class
            self.other.hang_up()
            return False
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.other.hang_up()
        self._link.closed(self._side)

    def hang_up(self) -> None:
        """Close once everything is written."""
        if self.transport is not None:
            self.transport.close()
