"""A fake for this package's boundary. It ships with it."""

from __future__ import annotations

import asyncio
import hashlib
import os
from typing import TYPE_CHECKING

from homing_agent.documents.chunks import Chunker, Unit
from homing_agent.documents.messages import Extract, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from homing_agent.documents.kinds import Kind

_MOST = 1 << 20


class FakeReader:
    """A `Reader` that takes every file for UTF-8 text, in this process.

    Attributes:
        read_kinds: what was asked, in order.
        bad: what a file's text must hold to count as damaged.
        hold: waited for before answering, if set.
        on_read: called with every file's text.
        closed: whether `close` was called.
    """

    def __init__(self, bad: str = "DAMAGED") -> None:
        """Nothing was read yet."""
        self.read_kinds: list[Kind] = []
        self.bad = bad
        self.hold: asyncio.Event | None = None
        self.started = asyncio.Event()
        self.on_read: Callable[[str], None] | None = None
        self.closed = False

    async def read(self, descriptor: int, kind: Kind, known: str = "") -> Extract:
        """See `Reader.read`."""
        self.read_kinds.append(kind)
        self.started.set()
        if self.hold is not None:
            await self.hold.wait()
        data = os.pread(descriptor, _MOST, 0)
        digest = hashlib.sha256(data).hexdigest()
        if digest == known:
            return Extract(0, Status.SAME, sha256=digest)
        text = data.decode("utf-8", "replace")
        if self.on_read is not None:
            self.on_read(text)
        if self.bad in text:
            return Extract(0, Status.FAILED, "it is damaged", digest)
        chunker = Chunker(_MOST, 1, lambda: 0)
        chunker.add(text, Unit.LINE, 1)
        chunks = chunker.finish()
        return Extract(0, Status.READ if chunks else Status.EMPTY, "", digest, 0, chunks)

    async def close(self) -> None:
        """See `Reader.close`."""
        self.closed = True
